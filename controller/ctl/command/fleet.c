/* fleet: Applications with the clusters that they are on, and what their Canaries do there; and
 * where ReleasePlans stand. */
#include <string.h>

#include "base/clock.h"
#include "ctl/clusters.h"
#include "ctl/output.h"
#include "ctl/read.h"
#include "ctl/show.h"
#include "ctl/state.h"
#include "kube/reply.h"

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

/* The arguments. */
struct asked {
    struct json_object *applications, *plans; /* arrays */
    bool served;                              /* the cluster has one of the two kinds */
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
