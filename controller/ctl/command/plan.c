#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "ctl/backtest/course.h"
#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "ctl/lint/lint.h"
#include "ctl/output.h"
#include "ctl/simulate/simulate.h"
#include "router/router.h"

static struct {
    const char *mesh_provider, *namespace_, *selector_labels;
    int64_t floor_ms;
    double per_second, bad;
    struct inputs inputs;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "mesh-provider", &opt.mesh_provider, .value = SETTINGS_MESH_PROVIDER,
           .arg = "NAME", .help = "the controller's --mesh-provider: of a Canary that names none"),
    OPTION(DURATION, "min-analysis-interval", &opt.floor_ms, .value = SETTINGS_MIN_INTERVAL,
           .arg = "DURATION", .help = "the controller's --min-analysis-interval"),
    OPTION(STRING, "selector-labels", &opt.selector_labels, .value = SETTINGS_SELECTOR_LABELS,
           .arg = "LABELS", .help = "the controller's --selector-labels"),
    OPTION(NUMBER, "traffic", &opt.per_second, .arg = "NUMBER",
           .help = "requests a second of all users, for what a judge would find; 0: as in the last "
                   "release of a history in the files"),
    OPTION(NUMBER, "bad", &opt.bad, .value = "1", .arg = "PERCENT",
           .help = "with --traffic: the part of them that fails, or is slow, at the primary"),
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME",
           .help = "(-n) of objects in the files that name none"),
    INPUTS_ROWS(&opt.inputs),
    {0}};

static const double MOST_PER_SECOND = 1e7;

/* --- text */

static const char *duration(const struct ctl *ctl, int64_t ms)
{
    char text[DURATION_TEXT];

    return arena_strdup(ctl->arena, duration_format(ms * 1000000, text));
}

static const char *percent(const struct ctl *ctl, int weight)
{
    return arena_printf(ctl->arena, "%s%%", weight_text(ctl->arena, weight));
}

/* The canary's part of the traffic: a share of all or of matched requests, or a copy. */
static const char *canary_share(const struct ctl *ctl, const struct simulation_step *step)
{
    if (step->mirrored)
        return "a copy";
    if (step->matched && step->canary > 0)
        return arena_printf(ctl->arena, "%s%% of matches", weight_text(ctl->arena, step->canary));
    return percent(ctl, step->canary);
}

static void print_steps(const struct ctl *ctl, const struct simulation_step *first)
{
    const struct columns_head heads[] = {{"AT", 0},     {"PHASE", 0},    {"PRIMARY", 2},
                                         {"CANARY", 0}, {"WEBHOOKS", 1}, {"METRICS", 3},
                                         {NULL, 0}};
    struct columns *columns = columns_new(ctl, heads);

    for (const struct simulation_step *step = first; step; step = step->next) {
        columns_put(columns, PRINT_PLAIN, duration(ctl, step->at_ms));
        columns_put(columns, step->phase == PHASE_Succeeded ? PRINT_GREEN : PRINT_PLAIN,
                    phase_name(step->phase));
        columns_put(columns, PRINT_PLAIN, percent(ctl, step->primary));
        columns_put(columns, PRINT_PLAIN, canary_share(ctl, step));
        columns_put(columns, PRINT_PLAIN, step->hooks);
        columns_put(columns, PRINT_PLAIN, step->metrics);
    }
    columns_print(columns, NULL);
}

static void print_list(const struct ctl *ctl, const char *head, struct json_object *list)
{
    const char *text = "";

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_elem(list, i);
        const char *name = json_object_is_type(one, json_type_string)
                               ? json_object_get_string(one)
                               : arena_printf(ctl->arena, "%s %s", json_str_at(one, "kind", NULL),
                                              json_str_at(one, "metadata", "name", NULL));
        text = arena_printf(ctl->arena, "%s%s%s", text, *text ? ", " : "", name);
    }
    if (*text)
        print_wrapped(ctl, head, text);
}

static const char *first_line(const struct ctl *ctl, const char *text)
{
    return print_clean(ctl->arena, arena_strndup(ctl->arena, text, strcspn(text, "\n")));
}

static void print_end(const struct ctl *ctl, const struct simulation *plan)
{
    const struct simulation_step *last = plan->steps;

    while (last && last->next)
        last = last->next;
    if (plan->unfinished)
        fprintf(ctl->out, "and so on: only the first %d runs are shown\n", (int)SIMULATE_MAX_RUNS);
    else if (last && last->phase == PHASE_Succeeded)
        fprintf(ctl->out,
                "Promoted after %s, when pods are ready at once, metrics are in their ranges and "
                "webhooks pass.\n",
                duration(ctl, last->at_ms));
    else if (last && last->phase == PHASE_Failed)
        fprintf(ctl->out, "Rolled back after %s, even when all is well: %s\n",
                duration(ctl, last->at_ms), first_line(ctl, last->said));
}

/* Duration of a step of a rollback. */
static const char *lasts(const struct ctl *ctl, const struct canary_return_step *step,
                         const struct simulation *plan)
{
    return duration(ctl, step->for_ms > 0 ? step->for_ms : plan->interval_ms);
}

/* Prints each share of the primary, if a rollback is not immediate. */
static void print_way_back(const struct ctl *ctl, const struct canary *canary,
                           const struct simulation *plan)
{
    const struct canary_return *way = &canary->analysis.rollback;
    const char *text = "";

    for (int i = 0; i < way->n_steps; i++)
        text = arena_printf(ctl->arena, "%s%s for %s, ", text, percent(ctl, way->steps[i].weight),
                            lasts(ctl, &way->steps[i], plan));
    if (canary->strategy == STRATEGY_CANARY && *text)
        fprintf(ctl->out, "A rollback gives the primary %sthen all.\n", text);
}

/* Prints each number that is compared with the primary's. */
static void print_compared(const struct ctl *ctl, const struct canary_analysis *analysis)
{
    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        const struct canary_tolerance *tolerate = &metric->judge.tolerate;
        if (!metric->compares)
            continue;
        if (canary_metric_is_latency(metric)) {
            fprintf(ctl->out,
                    "request-duration is compared with the primary's every %s, at all bounds of "
                    "the histogram: rolled back when longer by more than %g %%.\n",
                    duration(ctl, analysis->judge.every_ms), tolerate->ratio * 100);
            continue;
        }
        const char *by = !metric->judge.has_tolerance ? "10 %"
                         : tolerate->points > 0
                             ? arena_printf(ctl->arena, "%.15g", tolerate->points)
                             : arena_printf(ctl->arena, "%g %%", tolerate->ratio * 100);
        fprintf(ctl->out,
                "%s is compared with the primary's%s every %s: rolled back when %s by more than "
                "%s, and than %s.\n",
                print_clean(ctl->arena, metric->name),
                metric->past ? " at the same time of the last 7 days" : "",
                duration(ctl, analysis->judge.every_ms), metric->judge.lower ? "lower" : "higher",
                by, metric->past ? "days differ by" : "it varies by itself");
    }
}

static void print_promises(const struct ctl *ctl, const struct promise *promises)
{
    for (const struct promise *promise = promises; promise; promise = promise->next)
        print_wrapped(ctl,
                      "Found:   ", print_clean(ctl->arena, promise_sentence(ctl->arena, promise)));
}

static void print_plan(const struct ctl *ctl, const struct canary *canary,
                       const struct simulation *plan, const struct promise *promises)
{
    fprintf(ctl->out, "Canary %s/%s: %s with %s, every %s\n\n",
            print_clean(ctl->arena, canary->namespace_), print_clean(ctl->arena, canary->name),
            plan->strategy, print_clean(ctl->arena, plan->provider),
            duration(ctl, plan->interval_ms));
    print_steps(ctl, plan->steps);
    print_end(ctl, plan);
    print_way_back(ctl, canary, plan);
    print_compared(ctl, &canary->analysis);
    fputc('\n', ctl->out);
    print_promises(ctl, promises);
    print_list(ctl, "Made:    ", plan->made);
    print_list(ctl, "Changed: ", plan->changed);
    print_list(ctl, "Assumed: ", plan->assumed);
}

/* --- data */

static struct json_object *steps_as_data(const struct ctl *ctl, const struct simulation_step *first)
{
    struct json_object *list = json_own(ctl->arena, json_object_new_array());

    for (const struct simulation_step *step = first; step; step = step->next) {
        struct json_object *row = json_object_new_object();
        json_set_str(row, "at", duration(ctl, step->at_ms));
        json_set_str(row, "phase", phase_name(step->phase));
        weight_put(ctl->arena, row, "primary", step->primary);
        weight_put(ctl->arena, row, "canary", step->canary);
        json_set_bool(row, "mirrored", step->mirrored);
        json_set_bool(row, "matched", step->matched);
        json_set_str(row, "webhooks", step->hooks);
        json_set_str(row, "metrics", step->metrics);
        json_set_str(row, "events", step->said);
        json_object_array_add(list, row);
    }
    return list;
}

static struct json_object *way_back_as_data(const struct ctl *ctl, const struct canary *canary,
                                            const struct simulation *plan)
{
    struct json_object *list = json_own(ctl->arena, json_object_new_array());
    const struct canary_return *way = &canary->analysis.rollback;

    for (int i = 0; canary->strategy == STRATEGY_CANARY && i < way->n_steps; i++) {
        struct json_object *row = json_object_new_object();
        weight_put(ctl->arena, row, "primary", way->steps[i].weight);
        json_set_str(row, "for", lasts(ctl, &way->steps[i], plan));
        json_object_array_add(list, row);
    }
    return list;
}

static void set_figure(struct json_object *out, const char *key, double value)
{
    if (isfinite(value))
        json_object_object_add(out, key, json_object_new_double(value));
}

/* Shares in percent, times in seconds. */
static struct json_object *promises_as_data(const struct ctl *ctl, const struct promise *promises)
{
    struct json_object *list = json_own(ctl->arena, json_object_new_array());

    for (const struct promise *at = promises; at; at = at->next) {
        struct json_object *row = json_object_new_object();
        json_object_array_add(list, row);
        json_set_str(row, "metric", at->metric);
        json_set_str(row, "text", promise_sentence(ctl->arena, at));
        if (!(at->traffic.per_second > 0))
            continue;
        set_figure(row, "requestsPerSecond", at->traffic.per_second);
        set_figure(row, "bad", 100 * at->traffic.bad);
        set_figure(row, "canaryBad", 100 * at->least);
        set_figure(row, "found", 100 * at->found.share);
        set_figure(row, "halfRequests", at->found.half_requests);
        set_figure(row, "halfSeconds", at->found.half_seconds);
        set_figure(row, "mostRequests", at->found.most_requests);
        set_figure(row, "mostSeconds", at->found.most_seconds);
    }
    return list;
}

static struct json_object *as_data(const struct ctl *ctl, const struct canary *canary,
                                   const struct simulation *plan, const struct promise *promises)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());

    json_set_str(out, "namespace", canary->namespace_);
    json_set_str(out, "name", canary->name);
    json_set_str(out, "provider", plan->provider);
    json_set_str(out, "strategy", plan->strategy);
    json_set_str(out, "interval", duration(ctl, plan->interval_ms));
    json_set(out, "steps", steps_as_data(ctl, plan->steps));
    json_set(out, "rollback", way_back_as_data(ctl, canary, plan));
    json_set_bool(out, "unfinished", plan->unfinished);
    json_set(out, "promises", promises_as_data(ctl, promises));
    json_set(out, "made", plan->made);
    json_set(out, "changed", plan->changed);
    json_set(out, "assumed", plan->assumed);
    return out;
}

static void add_objects(struct json_object *items, struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++)
        json_object_array_add(items, json_object_get(json_elem(list, i)));
}

/* --- the command */

struct plans {
    const struct settings *settings;
    const struct lint_mistake *mistakes; /* mistakes in the files */
    struct json_object *data;            /* result for each Canary */
    struct json_object *items;           /* the objects of all Canaries */
    int canaries;
};

/* The first error of an object by its label, "Canary shop/web"; NULL if there is none. */
static const struct lint_mistake *error_of(const struct plans *plans, const char *label)
{
    for (const struct lint_mistake *at = plans->mistakes; at; at = at->next)
        if (at->level == LINT_ERROR && strcmp(at->object, label) == 0)
            return at;
    return NULL;
}

static int fail_by_lint(const struct ctl *ctl, const struct lint_mistake *mistake)
{
    return ctl_fail(ctl, CTL_SERVER, "plan: %s: %s%s%s; %s lint tells all mistakes",
                    *mistake->object ? mistake->object : mistake->file, mistake->path,
                    *mistake->path ? ": " : "", mistake->text, ctl->program);
}

/* The label that lint uses. */
static const char *label_of(const struct ctl *ctl, struct json_object *canary)
{
    const char *namespace_ = json_str_at(canary, "metadata", "namespace", NULL);
    const char *name = json_str_at(canary, "metadata", "name", NULL);

    return arena_printf(ctl->arena, "Canary %s%s%s", namespace_ ? namespace_ : "",
                        namespace_ && *namespace_ ? "/" : "", name ? name : "");
}

/* A Canary without a namespace is in its workload's, as for lint. */
static struct json_object *placed(const struct ctl *ctl, const struct manifests *manifests,
                                  struct json_object *canary)
{
    struct json_object *ref = json_at(canary, "spec", "targetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *name = json_str_at(ref, "name", NULL);

    if (!kind || !name || json_at(canary, "metadata", "namespace", NULL))
        return canary;
    for (size_t i = 0; i < json_len(manifests->objects); i++) {
        struct json_object *object = json_elem(manifests->objects, i);
        const char *its_kind = json_str_at(object, "kind", NULL);
        const char *its_name = json_str_at(object, "metadata", "name", NULL);
        const char *namespace_ = json_str_at(object, "metadata", "namespace", NULL);
        if (!namespace_ || !its_kind || !its_name || strcmp(kind, its_kind) != 0 ||
            strcmp(name, its_name) != 0)
            continue;
        struct json_object *copy = json_copy(ctl->arena, canary);
        json_set_str(json_sub(copy, "metadata"), "namespace", namespace_);
        return copy;
    }
    return canary;
}

/* The last release in the Canary's history that counted requests; NULL if there is none. */
static const struct past *last_counted(struct ctl *ctl, struct json_object *canary)
{
    struct pasts pasts;
    struct errinfo ei;
    const struct past *last = NULL;

    pasts_init(&pasts);
    /* A history that cannot be read says nothing about the traffic; backtest reports why. */
    if (pasts_add_canary(ctl->arena, &pasts, canary, &ei) != ERR_OK)
        return NULL;
    for (const struct past *past = pasts.first; past; past = past->next)
        if (past->n_series > 0)
            last = past;
    return last;
}

static const struct promise *promises_for(struct ctl *ctl, struct json_object *object,
                                          const struct canary *canary,
                                          const struct simulation *plan)
{
    const struct traffic given = {.per_second = opt.per_second, .bad = opt.bad / 100, .clump = 1};

    const struct stretches stretches = stretches_of_plan(ctl->arena, &canary->analysis, plan);

    return promises_of(ctl->arena, &canary->analysis, &stretches, &given,
                       last_counted(ctl, object));
}

static int plan_one(struct ctl *ctl, struct manifests *manifests, struct json_object *object,
                    struct plans *plans)
{
    const struct lint_mistake *mistake = error_of(plans, label_of(ctl, object));
    const struct simulation_source source = {
        .find = manifests_find, .list = manifests_list, .arg = manifests};
    struct simulation plan;
    struct canary canary;
    struct errinfo ei;

    object = placed(ctl, manifests, object);
    if (canary_view(ctl->arena, object, &canary, &ei) != ERR_OK ||
        simulate(ctl->arena, plans->settings, object, &source, &plan, &ei) != ERR_OK)
        return ctl_fail(ctl, CTL_SERVER, "plan: %s; %s lint tells all mistakes", ei.text,
                        ctl->program);
    if (plan.refused)
        return ctl_fail(ctl, CTL_SERVER, "plan: Canary %s/%s: %s", canary.namespace_, canary.name,
                        plan.refused);
    if (mistake)
        return fail_by_lint(ctl, mistake);
    const struct promise *promises = promises_for(ctl, object, &canary, &plan);
    if (ctl->output == CTL_TEXT) {
        if (plans->canaries++ > 0)
            fputc('\n', ctl->out);
        print_plan(ctl, &canary, &plan, promises);
    }
    json_object_array_add(plans->data, json_object_get(as_data(ctl, &canary, &plan, promises)));
    add_objects(plans->items, plan.made);
    add_objects(plans->items, plan.changed);
    return CTL_DONE;
}

static bool is_canary(struct json_object *object)
{
    const char *kind = json_str_at(object, "kind", NULL);
    const char *version = json_str_at(object, "apiVersion", NULL);

    return kind && version && strcmp(kind, "Canary") == 0 &&
           strncmp(version, "flagger.app/", strlen("flagger.app/")) == 0;
}

/* The first error in anything other than the planned Canaries; NULL if there is none. */
static const struct lint_mistake *error_beside(const struct ctl *ctl, const struct plans *plans,
                                               struct json_object *objects)
{
    for (const struct lint_mistake *at = plans->mistakes; at; at = at->next) {
        bool planned = at->level != LINT_ERROR;
        for (size_t i = 0; !planned && i < json_len(objects); i++)
            planned = is_canary(json_elem(objects, i)) &&
                      strcmp(label_of(ctl, json_elem(objects, i)), at->object) == 0;
        if (!planned)
            return at;
    }
    return NULL;
}

static void print_data(struct ctl *ctl, const struct plans *plans)
{
    struct json_object *list = json_own(ctl->arena, json_object_new_object());

    if (ctl->output == CTL_JSON) {
        print_object(ctl, plans->data);
        return;
    }
    json_set_str(list, "apiVersion", "v1");
    json_set_str(list, "kind", "List");
    json_set(list, "items", plans->items);
    print_object(ctl, list);
}

/* Lint knows what the API server rejects and what other Canaries claim. */
static const struct lint_mistake *lint_all(struct ctl *ctl, const struct settings *settings,
                                           const struct input *input)
{
    struct lint *lint = lint_new(ctl->arena, settings);

    lint_namespace(lint, opt.namespace_);
    for (; input; input = input->next)
        lint_add(lint, input->name, input->text, input->len, input->found);
    return lint_run(lint);
}

static int run(struct ctl *ctl)
{
    struct settings settings = settings_default;
    const struct input *first;
    struct manifests manifests = {.arena = ctl->arena, .namespace_ = opt.namespace_};
    struct plans plans = {.settings = &settings,
                          .data = json_own(ctl->arena, json_object_new_array()),
                          .items = json_own(ctl->arena, json_object_new_array())};
    struct errinfo ei;
    int code = CTL_DONE, n = 0;

    if (!router_find(opt.mesh_provider))
        return ctl_fail(ctl, CTL_USAGE, "plan: --mesh-provider: expected one of %s, found \"%s\"",
                        router_names(ctl->arena), opt.mesh_provider);
    if (!(opt.per_second >= 0 && opt.per_second <= MOST_PER_SECOND))
        return ctl_fail(ctl, CTL_USAGE,
                        "plan: --traffic: expected 0 to %.0f requests a second, "
                        "found %g",
                        MOST_PER_SECOND, opt.per_second);
    if (!(opt.bad >= 0 && opt.bad < 100))
        return ctl_fail(ctl, CTL_USAGE, "plan: --bad: expected a percentage below 100, found %g",
                        opt.bad);
    settings.mesh_provider = opt.mesh_provider;
    settings.selector_labels = option_split(ctl->arena, opt.selector_labels);
    settings.min_analysis_interval_ms = opt.floor_ms;
    if (inputs_read(ctl->arena, &opt.inputs, ctl->args, ctl->n_args, &first, &ei) != ERR_OK)
        return ctl_fail(ctl, CTL_USAGE, "plan: %s", ei.text);
    for (const struct input *input = first; input; input = input->next)
        if (manifests_add(&manifests, input, &ei) != ERR_OK)
            return ctl_fail(ctl, CTL_USAGE, "plan: %s", ei.text);
    plans.mistakes = lint_all(ctl, &settings, first);
    if (error_beside(ctl, &plans, manifests.objects))
        return fail_by_lint(ctl, error_beside(ctl, &plans, manifests.objects));
    for (size_t i = 0; code == CTL_DONE && i < json_len(manifests.objects); i++) {
        struct json_object *object = json_elem(manifests.objects, i);
        if (!is_canary(object))
            continue;
        n++;
        code = plan_one(ctl, &manifests, object, &plans);
    }
    if (n == 0)
        return ctl_fail(ctl, CTL_SERVER, "plan: there is no Canary in these files");
    if (code == CTL_DONE && ctl->output != CTL_TEXT)
        print_data(ctl, &plans);
    return code;
}

const struct ctl_command ctl_plan = {
    .name = "plan",
    .summary = "Shows how a release would go, step by step, and which objects would be made.",
    .usage = "[FILE...] [-f FILE] [-k FOLDER]",
    .help =
        "The rules of the controller play a release of each Canary in the files in a cluster that "
        "is only pretended: pods are ready at once, metrics are in their ranges, webhooks pass, "
        "and people resume what waits for them. "
        "What else is in the files is there before, such as the Deployment; what is missing is "
        "assumed. \"-\" is the standard input, and a folder stands for the files .yaml, .yml and "
        ".json in it. What the API server or the controller refuses has no plan, and one sentence "
        "says why. No cluster is asked.\n\n"
        "Where a judge compares the canary with the primary, the plan says how small a regression "
        "is "
        "found in nine of ten releases, and after how many requests and minutes: releases are "
        "played "
        "with the traffic of --traffic and --bad, or of the last release in the history of the "
        "Canary.\n\n"
        "-o yaml prints only the objects, -o json everything.\n\n"
        "Exit code: 0, 1 where a Canary is refused, 2 for a wrong command line or a file that "
        "cannot be read.\n\n"
        "Examples:\n"
        "    {ctl} plan canary.yaml\n"
        "    helm template shop | {ctl} plan - -o yaml\n"
        "    {ctl} plan canary.yaml --traffic 50 --bad 0.5\n"
        "    kubectl get canary podinfo -o yaml | {ctl} plan -\n",
    .rows = rows,
    .accepts = CTL_OFFLINE | CTL_OUT_DATA,
    .max_args = -1,
    .completes = "file",
    .run = run,
};
