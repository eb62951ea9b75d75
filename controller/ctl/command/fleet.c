/* fleet: Applications with the clusters that they are on, and what their Canaries do there. */
#include <string.h>

#include "base/clock.h"
#include "ctl/clusters.h"
#include "ctl/glance.h"
#include "ctl/read.h"
#include "ctl/tree.h"
#include "kube/status.h"

enum { MAX_COUNTS = 16 };

/* What a cluster comes to in one word: a phase, or that nothing is known or there. */
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

/* "2 Succeeded, 1 Unknown", in the order in which the words come first. */
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
    const char *text = arena_printf(ctl->arena, "%s %d%%", *at.phase ? at.phase : "New", at.weight);
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
    json_set_int(out, "weight", at.weight);
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

static int no_applications(struct ctl *ctl)
{
    return ctl_fail(ctl, CTL_SERVER,
                    "the cluster has no Applications of Kurator: their CRD is not installed");
}

/* An array of what was asked for, or the exit code with a sentence printed. */
static int read_applications(struct ctl *ctl, struct json_object **out)
{
    const struct read_what what = {
        .resource = &fleet_applications, .namespace_ = ctl->namespace_, .selector = ctl->selector};
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = &fleet_applications,
                                         .namespace_ = ctl->namespace_,
                                         .name = ctl->args[0]};
    struct read_answer one;
    struct errinfo ei = {0};

    if (ctl->n_args == 0) {
        enum err err = read_list(ctl, &what, out, &ei);
        if (err == ERR_NOT_FOUND)
            return no_applications(ctl);
        return err == ERR_OK ? CTL_DONE : read_fail(ctl, err, &ei);
    }
    read_calls(ctl, &request, &one, 1);
    if (one.err == ERR_NOT_FOUND && kube_status_unserved(one.status, one.body))
        return no_applications(ctl);
    if (one.err == ERR_NOT_FOUND)
        return ctl_fail(ctl, CTL_SERVER,
                        "there is no Application \"%s\" in namespace \"%s\"; %s fleet -A lists all",
                        ctl->args[0], ctl->namespace_, ctl->program);
    if (one.err != ERR_OK)
        return read_fail(ctl, one.err, &one.info);
    *out = json_own(ctl->arena, json_object_new_array());
    json_object_array_add(*out, json_object_get(one.body));
    return CTL_DONE;
}

static int print_all(struct ctl *ctl, const struct clusters_app *apps, size_t count)
{
    struct json_object *data = json_own(ctl->arena, json_object_new_object());
    struct json_object *items = json_own(ctl->arena, json_object_new_array());
    bool known = true;

    json_set(data, "applications", items);
    for (size_t i = 0; i < count; i++) {
        known = is_known(&apps[i]) && known;
        if (ctl->output == CTL_TEXT)
            print_app(ctl, &apps[i]);
        else
            json_object_array_add(items, json_object_get(app_data(ctl, &apps[i])));
    }
    if (ctl->output != CTL_TEXT)
        print_object(ctl, data);
    else if (count == 0)
        fprintf(ctl->err, "There are no Applications%s%s%s.\n",
                ctl->namespace_ ? " in namespace \"" : "", ctl->namespace_ ? ctl->namespace_ : "",
                ctl->namespace_ ? "\"" : "");
    return known ? CTL_DONE : CTL_SERVER;
}

static int run(struct ctl *ctl)
{
    struct json_object *applications = NULL;
    struct clusters_app *apps = NULL;
    struct errinfo ei = {0};

    if (ctl->n_args > 0 && !ctl->namespace_)
        return ctl_fail(ctl, CTL_USAGE,
                        "fleet: an Application is named within a namespace: -n NAMESPACE instead "
                        "of -A");
    int code = read_applications(ctl, &applications);
    if (code != CTL_DONE)
        return code;
    enum err err = clusters_read(ctl, applications, &apps, &ei);
    if (err != ERR_OK)
        return read_fail(ctl, err, &ei);
    return print_all(ctl, apps, json_len(applications));
}

const struct ctl_command ctl_fleet = {
    .name = "fleet",
    .summary = "Shows Applications with their clusters, and what their Canaries do on each.",
    .usage = "[NAME]",
    .help =
        "Reads Applications of Kurator (apps.kurator.dev), finds the clusters that they name "
        "(Fleets, "
        "AttachedClusters, Clusters, and Secrets with the label flagger.app/cluster), and asks all "
        "of them at once for the Canaries of their workloads, with the kubeconfigs that the "
        "Secrets hold. A cluster that does not answer within --request-timeout, 10 s if not given, "
        "is told and holds up no other. A kubeconfig that would run a plugin, or read a file here, "
        "is refused. Nothing is written.\n\n"
        "Exit code: 0 when all is known, 1 when a cluster does not answer or something cannot be "
        "read, which is told where it belongs, 2 for a wrong command line.\n\n"
        "Examples:\n"
        "    {ctl} fleet -A\n"
        "    {ctl} fleet shop -o json\n",
    .accepts = CTL_ALL | CTL_SELECTOR | CTL_OUT_DATA,
    .max_args = 1,
    .run = run,
};
