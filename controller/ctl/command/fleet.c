/* fleet: Applications with their clusters, and what their Canaries do there; and the state of
 * ReleasePlans. */
#include <string.h>

#include "base/clock.h"
#include "ctl/facts.h"
#include "ctl/output.h"
#include "ctl/read.h"
#include "ctl/state.h"
#include "fleet/rules/select.h"
#include "kube/reply.h"

enum { PATIENCE_MS = 10000 };

/*
 * --- the clusters of Applications and the Canaries on them, read with the user's own rights: those
 * in the management cluster for Applications and Secrets with kubeconfigs, and those of the
 * kubeconfigs on members. Everything lives in ctl->arena.
 */

/* A rollout on one cluster. */
struct clusters_place {
    const char *cluster;
    const char *trouble;        /* why nothing is known, one sentence; NULL if it is known */
    struct json_object *canary; /* NULL if it does not exist */
};

struct clusters_rollout {
    const struct application_policy *policy;
    const char *mistake; /* mistake in its fleet; NULL if none */
    struct clusters_place *places;
    size_t count;
};

struct clusters_app {
    struct application app; /* only the names if it is invalid */
    const char *mistake;    /* why it cannot be read; NULL if it can */
    struct clusters_rollout *rollouts;
    size_t count;
};

/* The objects of a namespace with Applications. */
struct place_of_fleets {
    struct place_of_fleets *next;
    const char *namespace_;
    struct fleet_known known;
};

/* A cluster with a usable kubeconfig. */
struct connection {
    struct connection *next;
    const char *namespace_, *secret, *key; /* secret NULL: the cluster of the Applications */
    struct kube_client *kube;              /* NULL: see trouble */
    const char *trouble;
    struct kube_config config;
};

struct reading {
    struct ctl *ctl;
    struct place_of_fleets *namespaces;
    struct connection *connections;
    int left; /* number of pending replies */
};

/* --- the cluster of the Applications */

/* A kind that is not served has no objects. */
static enum err list(struct ctl *ctl, const struct kube_resource *resource, const char *namespace_,
                     const char *selector, struct json_object **out, struct errinfo *ei)
{
    const struct read_what what = {
        .resource = resource, .namespace_ = namespace_, .selector = selector};
    enum err err = read_list(ctl, &what, out, ei);

    if (err != ERR_NOT_FOUND)
        return err;
    *out = NULL;
    return ERR_OK;
}

static enum err know(struct reading *r, const char *namespace_, const struct fleet_known **out,
                     struct errinfo *ei)
{
    struct ctl *ctl = r->ctl;

    for (const struct place_of_fleets *at = r->namespaces; at; at = at->next)
        if (strcmp(at->namespace_, namespace_) == 0) {
            *out = &at->known;
            return ERR_OK;
        }
    struct place_of_fleets *new = ARENA_NEW(ctl->arena, struct place_of_fleets);
    *new = (struct place_of_fleets){.next = r->namespaces, .namespace_ = namespace_};
    struct fleet_known *known = &new->known;
    enum err err = list(ctl, &fleet_fleets, namespace_, NULL, &known->fleets, ei);
    if (err == ERR_OK)
        err = list(ctl, &fleet_attached, namespace_, NULL, &known->attached, ei);
    if (err == ERR_OK)
        err = list(ctl, &fleet_clusters, namespace_, NULL, &known->clusters, ei);
    if (err == ERR_OK)
        err = list(ctl, &kube_secrets, namespace_, FLEET_CLUSTER_LABEL, &known->secrets, ei);
    r->namespaces = new;
    *out = known;
    return err;
}

/* --- connections */

static void connect_to(struct reading *r, struct connection *to)
{
    struct ctl *ctl = r->ctl;
    struct json_object *secret;
    struct errinfo ei = {0};
    const char *text;

    if (read_get(ctl, &kube_secrets, to->namespace_, to->secret, &secret, &ei) != ERR_OK ||
        fleet_kubeconfig(ctl->arena, secret, to->key, &text, &to->config, &ei) != ERR_OK) {
        to->trouble = arena_strdup(ctl->arena, ei.text);
        return;
    }
    to->kube = kube_client_new(
        ctl->loop, ctl->http, &to->config,
        &(struct kube_client_options){.user_agent = "kubectl-canary", .reads_only = true});
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static struct connection *connection_of(struct reading *r, const char *namespace_,
                                        const struct fleet_member *member)
{
    const char *secret = member ? member->secret : NULL, *key = member ? member->key : NULL;

    for (struct connection *at = r->connections; at; at = at->next)
        if (same(at->secret, secret) && same(at->key, key) &&
            (!secret || strcmp(at->namespace_, namespace_) == 0))
            return at;
    struct connection *new = ARENA_NEW(r->ctl->arena, struct connection);
    *new = (struct connection){
        .next = r->connections, .namespace_ = namespace_, .secret = secret, .key = key};
    r->connections = new;
    if (secret)
        connect_to(r, new);
    else
        new->kube = r->ctl->kube;
    return new;
}

/* --- Canaries */

struct question {
    struct reading *reading;
    struct clusters_place *place;
};

static void on_canary(void *arg, const struct kube_result *result)
{
    struct question *question = arg;
    struct arena *arena = question->reading->ctl->arena;

    question->reading->left--;
    if (result->err == ERR_OK)
        question->place->canary = json_own(arena, json_object_get(result->body));
    else if (result->err != ERR_NOT_FOUND)
        question->place->trouble = arena_strdup(arena, result->info->text);
    else if (kube_status_unserved(result->status, result->body))
        question->place->trouble = "serves no Canaries: their CRD is not installed";
}

static void ask(struct reading *r, struct kube_client *kube, const struct rollout *rollout,
                struct clusters_place *place)
{
    struct question *question = ARENA_NEW(r->ctl->arena, struct question);
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = &read_canaries,
                                         .namespace_ = rollout->workload.namespace_,
                                         .name = rollout->workload.name,
                                         .timeout_ms = r->ctl->timeout_ms > 0 ? r->ctl->timeout_ms
                                                                              : PATIENCE_MS};

    *question = (struct question){.reading = r, .place = place};
    r->left++;
    (void)kube_send(kube, &request, on_canary, question);
}

static void visit(struct reading *r, const struct application *app,
                  const struct clusters_rollout *rollout, const struct fleet_member *member,
                  struct clusters_place *place)
{
    *place = (struct clusters_place){.cluster = member ? member->name : FLEET_HOST,
                                     .trouble = member ? member->mistake : NULL};
    if (place->trouble)
        return;
    const struct connection *to = connection_of(r, app->namespace_, member);
    place->trouble = to->trouble;
    if (to->kube)
        ask(r, to->kube, rollout->policy->rollout, place);
}

static enum err visit_rollout(struct reading *r, const struct application *app,
                              struct clusters_rollout *out, struct errinfo *ei)
{
    const struct fleet_known none = {0}, *known = &none;
    struct fleet_choice choice;
    enum err err = out->policy->destination.fleet ? know(r, app->namespace_, &known, ei) : ERR_OK;

    if (err != ERR_OK)
        return err;
    fleet_select(r->ctl->arena, &out->policy->destination, known, &choice);
    out->mistake = choice.mistake;
    out->count = choice.host ? 1 : choice.count;
    out->places = arena_array(r->ctl->arena, out->count, sizeof(*out->places));
    for (size_t i = 0; i < out->count; i++)
        visit(r, app, out, choice.host ? NULL : &choice.members[i], &out->places[i]);
    return ERR_OK;
}

static enum err visit_application(struct reading *r, struct json_object *object,
                                  struct clusters_app *out, struct errinfo *ei)
{
    struct arena *arena = r->ctl->arena;
    struct errinfo mistake;
    enum err err = ERR_OK;

    if (application_view(arena, object, &out->app, &mistake) != ERR_OK) {
        out->mistake = arena_strdup(arena, mistake.text);
        out->app =
            (struct application){.name = json_str_at(object, "metadata", "name", NULL),
                                 .namespace_ = json_str_at(object, "metadata", "namespace", NULL)};
        return ERR_OK;
    }
    out->rollouts = arena_array(arena, (size_t)out->app.n_policies, sizeof(*out->rollouts));
    for (int i = 0; err == ERR_OK && i < out->app.n_policies; i++) {
        if (!out->app.policies[i].rollout)
            continue;
        struct clusters_rollout *rollout = &out->rollouts[out->count++];
        rollout->policy = &out->app.policies[i];
        err = visit_rollout(r, &out->app, rollout, ei);
    }
    return err;
}

/* Reads the state of an array of Applications, from all their clusters at once. */
static enum err clusters_read(struct ctl *ctl, struct json_object *applications,
                              struct clusters_app **out, struct errinfo *ei)
{
    struct reading r = {.ctl = ctl};
    size_t count = json_len(applications);
    enum err err = ERR_OK;

    *out = arena_array(ctl->arena, count, sizeof(**out));
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = visit_application(&r, json_elem(applications, i), &(*out)[i], ei);
    while (r.left > 0)
        uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
    for (struct connection *at = r.connections; at; at = at->next)
        if (at->kube != ctl->kube)
            kube_client_free(at->kube);
    return err;
}

/* --- Applications and plans, for users and programs */

enum { MAX_COUNTS = 16 };

/* The state of a cluster in one word: a phase, or that it is unknown or absent. */
static const char *word_of(struct ctl *ctl, const struct clusters_place *place)
{
    struct glance at;

    if (place->trouble)
        return "Unknown";
    if (!place->canary)
        return "Missing";
    glance_at(ctl->arena, place->canary, &at);
    return *at.phase ? at.phase : "New";
}

/* "2 Succeeded, 1 Unknown", in order of first appearance. */
static const char *counts_of(struct ctl *ctl, const struct clusters_rollout *rollout)
{
    const char *words[MAX_COUNTS], *text = "";
    int counts[MAX_COUNTS], n = 0;

    for (size_t i = 0; i < rollout->count; i++) {
        const char *word = word_of(ctl, &rollout->places[i]);
        int at = 0;
        while (at < n && strcmp(words[at], word) != 0)
            at++;
        if (at == n && n < MAX_COUNTS) {
            words[n] = word;
            counts[n++] = 0;
        }
        if (at < n)
            counts[at]++;
    }
    for (int i = 0; i < n; i++)
        text = arena_printf(ctl->arena, "%s%s%d %s", text, i > 0 ? ", " : "", counts[i], words[i]);
    return text;
}

static const char *place_text(struct ctl *ctl, const struct clusters_place *place)
{
    struct glance at;

    if (place->trouble)
        return place->trouble;
    if (!place->canary)
        return "there is no such Canary";
    glance_at(ctl->arena, place->canary, &at);
    const char *text = arena_printf(ctl->arena, "%s %s%%", *at.phase ? at.phase : "New",
                                    weight_text(ctl->arena, at.weight));
    if (*at.revision)
        text = arena_printf(ctl->arena, "%s, revision %s", text, at.revision);
    if (at.since)
        text = arena_printf(ctl->arena, "%s, since %s", text,
                            print_age(ctl->arena, at.since, clock_wall_ms()));
    return *at.reason ? arena_printf(ctl->arena, "%s, %s", text, at.reason) : text;
}

static enum print_color place_color(struct ctl *ctl, const struct clusters_place *place)
{
    struct glance at;

    if (place->trouble || !place->canary)
        return place->trouble ? PRINT_RED : PRINT_YELLOW;
    glance_at(ctl->arena, place->canary, &at);
    return glance_color(at.phase);
}

static void print_rollout(struct ctl *ctl, struct tree *tree,
                          const struct clusters_rollout *rollout)
{
    const struct canary_ref *workload = &rollout->policy->rollout->workload;
    const char *fleet = rollout->policy->destination.fleet;
    struct tree *line = tree_add(
        tree, NULL, PRINT_BOLD,
        arena_printf(ctl->arena, "%s %s/%s, %s%s: %s", workload->kind, workload->namespace_,
                     workload->name, fleet ? "fleet " : "this cluster", fleet ? fleet : "",
                     rollout->count > 0 ? counts_of(ctl, rollout) : "on no cluster"));

    if (rollout->mistake)
        (void)tree_add(line, NULL, PRINT_RED, rollout->mistake);
    for (size_t i = 0; i < rollout->count; i++)
        (void)tree_add(line, rollout->places[i].cluster, place_color(ctl, &rollout->places[i]),
                       place_text(ctl, &rollout->places[i]));
}

static void print_app(struct ctl *ctl, const struct clusters_app *app)
{
    struct tree *tree = tree_new(
        ctl, arena_printf(ctl->arena, "Application %s/%s", app->app.namespace_, app->app.name));

    if (app->mistake)
        (void)tree_add(tree, NULL, PRINT_RED, app->mistake);
    else if (app->count == 0)
        (void)tree_add(tree, NULL, PRINT_DIM, "has no rollout");
    for (size_t i = 0; i < app->count; i++)
        print_rollout(ctl, tree, &app->rollouts[i]);
    tree_print(tree);
}

/* --- for programs */

static struct json_object *place_data(struct ctl *ctl, const struct clusters_place *place)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct glance at;

    json_set_str(out, "cluster", place->cluster);
    json_set_str(out, "state", word_of(ctl, place));
    json_set_str(out, "trouble", place->trouble);
    if (!place->canary)
        return out;
    glance_at(ctl->arena, place->canary, &at);
    weight_put(ctl->arena, out, "weight", at.weight);
    json_set_str(out, "revision", at.revision);
    json_set_str(out, "promoted", json_str_at(place->canary, "status", "lastPromotedSpec", NULL));
    json_set_str(out, "reason", *at.reason ? at.reason : NULL);
    json_set_str(out, "since", at.since);
    return out;
}

static struct json_object *rollout_data(struct ctl *ctl, const struct clusters_rollout *rollout)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct json_object *places = json_own(ctl->arena, json_object_new_array());

    json_set_str(out, "policy", rollout->policy->name);
    json_set_str(out, "namespace", rollout->policy->rollout->workload.namespace_);
    json_set_str(out, "canary", rollout->policy->rollout->workload.name);
    json_set_str(out, "fleet", rollout->policy->destination.fleet);
    json_set_str(out, "trouble", rollout->mistake);
    for (size_t i = 0; i < rollout->count; i++)
        json_object_array_add(places, json_object_get(place_data(ctl, &rollout->places[i])));
    json_set(out, "clusters", places);
    return out;
}

static struct json_object *app_data(struct ctl *ctl, const struct clusters_app *app)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct json_object *rollouts = json_own(ctl->arena, json_object_new_array());

    json_set_str(out, "namespace", app->app.namespace_);
    json_set_str(out, "name", app->app.name);
    json_set_str(out, "trouble", app->mistake);
    for (size_t i = 0; i < app->count; i++)
        json_object_array_add(rollouts, json_object_get(rollout_data(ctl, &app->rollouts[i])));
    json_set(out, "rollouts", rollouts);
    return out;
}

/* --- */

static bool is_known(const struct clusters_app *app)
{
    bool known = !app->mistake;

    for (size_t i = 0; i < app->count; i++) {
        known = known && !app->rollouts[i].mistake;
        for (size_t k = 0; k < app->rollouts[i].count; k++)
            known = known && !app->rollouts[i].places[k].trouble;
    }
    return known;
}

/* The request that the arguments make. */
struct asked {
    struct json_object *applications, *plans; /* arrays */
    bool served;                              /* the cluster serves one of the two kinds */
};

/* The Applications of the namespace, or the named one. */
static enum err read_applications(struct ctl *ctl, struct asked *out, struct errinfo *ei)
{
    const struct read_what what = {
        .resource = &fleet_applications, .namespace_ = ctl->namespace_, .selector = ctl->selector};
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = &fleet_applications,
                                         .namespace_ = ctl->namespace_,
                                         .name = ctl->args[0]};
    struct read_answer one;

    out->applications = json_own(ctl->arena, json_object_new_array());
    if (ctl->n_args == 0) {
        enum err err = read_list(ctl, &what, &out->applications, ei);
        out->served = out->served || err == ERR_OK;
        return err == ERR_NOT_FOUND ? ERR_OK : err;
    }
    read_calls(ctl, &request, &one, 1);
    *ei = one.info;
    out->served = out->served || one.err == ERR_OK || !kube_status_unserved(one.status, one.body);
    if (one.err == ERR_OK)
        json_object_array_add(out->applications, json_object_get(one.body));
    return one.err == ERR_NOT_FOUND ? ERR_OK : one.err;
}

/* The plans of the namespace, or those about the named Application. */
static enum err read_plans(struct ctl *ctl, struct asked *out, struct errinfo *ei)
{
    const struct read_what what = {
        .resource = &fleet_release_plans,
        .namespace_ = ctl->namespace_,
        .selector = ctl->selector,
    };
    struct json_object *all = NULL;
    enum err err = read_list(ctl, &what, &all, ei);

    out->plans = json_own(ctl->arena, json_object_new_array());
    if (err == ERR_NOT_FOUND)
        return ERR_OK;
    out->served = err == ERR_OK || out->served;
    for (size_t i = 0; err == ERR_OK && i < json_len(all); i++)
        if (ctl->n_args == 0 || release_plan_means(json_elem(all, i), ctl->args[0]))
            json_object_array_add(out->plans, json_object_get(json_elem(all, i)));
    return err;
}

/* If there is nothing to show: prints a sentence and returns the exit code. */
static int check_asked(struct ctl *ctl, const struct asked *asked)
{
    if (!asked->served)
        return ctl_fail(ctl, CTL_SERVER,
                        "the cluster has neither Applications of Kurator nor ReleasePlans: their "
                        "CRDs are not installed");
    if (ctl->n_args > 0 && json_len(asked->applications) + json_len(asked->plans) == 0)
        return ctl_fail(ctl, CTL_SERVER,
                        "there is neither an Application nor a ReleasePlan \"%s\" in namespace "
                        "\"%s\"; %s fleet -A lists all",
                        ctl->args[0], ctl->namespace_, ctl->program);
    return CTL_DONE;
}

static bool print_apps(struct ctl *ctl, const struct clusters_app *apps, size_t count,
                       struct json_object *items)
{
    bool known = true;

    for (size_t i = 0; i < count; i++) {
        known = is_known(&apps[i]) && known;
        if (ctl->output == CTL_TEXT)
            print_app(ctl, &apps[i]);
        else
            json_object_array_add(items, json_object_get(app_data(ctl, &apps[i])));
    }
    return known;
}

static bool print_plans(struct ctl *ctl, struct json_object *plans, struct json_object *items)
{
    bool known = true;

    for (size_t i = 0; i < json_len(plans); i++) {
        struct json_object *plan = json_elem(plans, i);
        known = release_plan_is_known(plan) && known;
        if (ctl->output == CTL_TEXT)
            release_plan_print(ctl, plan);
        else
            json_object_array_add(items, json_object_get(release_plan_data(ctl, plan)));
    }
    return known;
}

static int print_all(struct ctl *ctl, const struct clusters_app *apps, const struct asked *asked)
{
    struct json_object *data = json_own(ctl->arena, json_object_new_object());
    struct json_object *applications = json_own(ctl->arena, json_object_new_array());
    struct json_object *plans = json_own(ctl->arena, json_object_new_array());
    size_t count = json_len(asked->applications);

    json_set(data, "applications", applications);
    json_set(data, "plans", plans);
    bool known = print_apps(ctl, apps, count, applications);
    known = print_plans(ctl, asked->plans, plans) && known;
    if (ctl->output != CTL_TEXT)
        print_object(ctl, data);
    else if (count + json_len(asked->plans) == 0)
        fprintf(ctl->err, "There are no Applications and no ReleasePlans%s%s%s.\n",
                ctl->namespace_ ? " in namespace \"" : "", ctl->namespace_ ? ctl->namespace_ : "",
                ctl->namespace_ ? "\"" : "");
    return known ? CTL_DONE : CTL_SERVER;
}

static int run(struct ctl *ctl)
{
    struct asked asked = {0};
    struct clusters_app *apps = NULL;
    struct errinfo ei = {0};

    if (ctl->n_args > 0 && !ctl->namespace_)
        return ctl_fail(ctl, CTL_USAGE,
                        "fleet: an Application is named within a namespace: -n NAMESPACE instead "
                        "of -A");
    enum err err = read_applications(ctl, &asked, &ei);
    if (err == ERR_OK)
        err = read_plans(ctl, &asked, &ei);
    if (err != ERR_OK)
        return read_fail(ctl, err, &ei);
    int code = check_asked(ctl, &asked);
    if (code != CTL_DONE)
        return code;
    err = clusters_read(ctl, asked.applications, &apps, &ei);
    if (err != ERR_OK)
        return read_fail(ctl, err, &ei);
    return print_all(ctl, apps, &asked);
}

const struct ctl_command ctl_fleet = {
    .name = "fleet",
    .summary = "Shows Applications on their clusters, and where ReleasePlans stand.",
    .usage = "[NAME]",
    .help =
        "Reads Applications of Kurator (apps.kurator.dev), finds the clusters that they name "
        "(Fleets, "
        "AttachedClusters, Clusters, and Secrets with the label flagger.app/cluster), and asks all "
        "of them at once for the Canaries of their workloads, with the kubeconfigs that the "
        "Secrets hold. A cluster that does not answer within --request-timeout, 10 s if not given, "
        "is told and holds up no other. A kubeconfig that would run a plugin, or read a file here, "
        "is refused. Nothing is written.\n\n"
        "Then come the ReleasePlans, as the status says that flagger-controller fleet writes: "
        "counts "
        "and conditions, then each wave with its clusters, and what each waits for. With NAME "
        "these "
        "are the plan of that name and those of the Application. {ctl} why plan/NAME says what "
        "would let a plan go on.\n\n"
        "Exit code: 0 when all is known, 1 when a cluster does not answer or something cannot be "
        "read, which is told where it belongs, 2 for a wrong command line.\n\n"
        "Examples:\n"
        "    {ctl} fleet -A\n"
        "    {ctl} fleet shop -o json\n",
    .accepts = CTL_ALL | CTL_SELECTOR | CTL_OUT_DATA,
    .max_args = 1,
    .run = run,
};
