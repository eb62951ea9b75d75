#include "page/show.h"
#include "page/show_judge.h"

#include <string.h>

#include "base/clock.h"
#include "engine/job.h"
#include "engine/told.h"
#include "engine/watchset.h"
#include "net/client.h"
#include "proto/canary.h"

/* LIST_MS: a page of the list ends early rather than keep the loop from its work. A status with a full
 * history takes a while to read. */
enum { TREND = 20, MAX_CONDITIONS = 40, LIST_MS = 20 };

/* The Canary as the watch has it; NULL: it is not known, for the moment. */
static struct json_object *find(const struct engine *engine, struct arena *arena,
                                const char *namespace_, const char *name)
{
    const struct seen *seen;
    struct json_object *tree = NULL;
    struct engine_look look;

    engine_look(engine, &look);
    const struct watchset *watches = look.context->watches;
    if (watchset_look(watches, &tick_canaries, namespace_, name, &seen) && seen)
        (void)watchset_unpack(watches, &tick_canaries, seen, arena, &tree);
    return tree;
}

static void copy(struct json_object *out, const char *key, struct json_object *value)
{
    if (value)
        json_set(out, key, value);
}

static struct json_object *status_of(struct json_object *tree, const char *key)
{
    return json_at(tree, "status", key, NULL);
}

static struct json_object *analysis_of(struct json_object *tree)
{
    struct json_object *analysis = json_at(tree, "spec", "analysis", NULL);

    return analysis ? analysis : json_at(tree, "spec", "canaryAnalysis", NULL);
}

/* --- why it does not go on */

static bool is_trouble(struct json_object *condition)
{
    static const char *const quiet[] = {"Promoted", "PrimaryWhole", "PrimaryScaled", "CanaryScaled",
                                        "Drained"};
    const char *type = json_str_at(condition, "type", NULL);
    const char *status = json_str_at(condition, "status", NULL);

    if (!type || !status)
        return false;
    for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
        if (strcmp(type, quiet[i]) == 0)
            return false;
    return strcmp(status, strcmp(type, "Suspended") == 0 ? "True" : "False") == 0;
}

static struct json_object *show_condition(struct json_object *condition)
{
    static const char *const shown[][2] = {{"type", "type"},
                                           {"status", "status"},
                                           {"reason", "reason"},
                                           {"message", "message"},
                                           {"lastTransitionTime", "since"}};
    struct json_object *out = json_object_new_object();

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        json_set_str(out, shown[i][1], json_str_at(condition, shown[i][0], NULL));
    return out;
}

static void add_condition(struct json_object *out, const char *key, struct json_object *condition)
{
    json_object_object_add(out, key, show_condition(condition));
}

/* Of several the one that has lasted longest: the others often follow from it. */
static void set_trouble(struct json_object *out, struct json_object *tree)
{
    struct json_object *list = status_of(tree, "conditions"), *first = NULL;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_elem(list, i);
        const char *since = json_str_at(one, "lastTransitionTime", NULL);
        const char *known = json_str_at(first, "lastTransitionTime", NULL);
        if (is_trouble(one) && (!known || (since && strcmp(since, known) < 0)))
            first = one;
    }
    if (first)
        add_condition(out, "trouble", first);
}

/* --- in short */

/* Weights, or where there are none iterations, of the release that runs or else of the last one. */
static void set_trend(struct json_object *out, struct json_object *tree)
{
    struct json_object *steps = json_at(status_of(tree, "release"), "steps", NULL);
    struct json_object *trend = json_object_new_array();

    if (!steps)
        steps = json_at(json_elem(status_of(tree, "history"), 0), "steps", NULL);
    json_object_object_add(out, "trend", trend);
    for (size_t i = 0; i < json_len(steps) && i < TREND; i++) {
        struct json_object *step = json_elem(steps, i);
        int64_t at = json_int_at(step, json_int_at(step, 0, "iteration", NULL), "weight", NULL);
        json_object_array_add(trend, json_object_new_int64(at));
    }
}

static void set_brief(struct json_object *out, struct json_object *tree)
{
    static const char *const texts[] = {"phase", "lastTransitionTime", "lastAppliedSpec"};
    static const char *const numbers[] = {"canaryWeight", "failedChecks", "iterations"};
    struct json_object *last = json_elem(status_of(tree, "history"), 0);
    struct json_object *analysis = analysis_of(tree);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        json_set_str(out, texts[i], json_str_at(tree, "status", texts[i], NULL));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        json_set_int(out, numbers[i], json_int_at(tree, 0, "status", numbers[i], NULL));
    json_set_int(out, "threshold", json_int_at(analysis, 1, "threshold", NULL));
    json_set_int(out, "ofIterations", json_int_at(analysis, 0, "iterations", NULL));
    json_set_bool(out, "suspended", json_bool_at(tree, false, "spec", "suspend", NULL));
    json_set_bool(out, "paused", status_of(tree, "paused") != NULL);
    json_set_str(out, "image", json_str_at(status_of(tree, "release"), "image", NULL));
    if (last) {
        struct json_object *ended = json_sub(out, "last");
        json_set_str(ended, "outcome", json_str_at(last, "outcome", NULL));
        json_set_str(ended, "ended", json_str_at(last, "ended", NULL));
    }
    set_trend(out, tree);
    set_trouble(out, tree);
}

struct listing {
    const struct engine *engine;
    struct arena *arena;
    struct json_object *list;
    const struct job *last;
    int limit;
    int64_t until_ms; /* by the monotonic clock */
    bool more;
};

static bool list_one(void *arg, const struct job *job)
{
    struct listing *listing = arg;

    if ((int)json_len(listing->list) >= listing->limit ||
        (listing->last && clock_monotonic_ms() >= listing->until_ms)) {
        listing->more = true;
        return false;
    }
    listing->last = job;
    struct json_object *one = json_object_new_object();
    json_object_array_add(listing->list, one);
    json_set_str(one, "namespace", job_namespace(job));
    json_set_str(one, "name", job_name(job));
    set_brief(one, find(listing->engine, listing->arena, job_namespace(job), job_name(job)));
    return true;
}

struct json_object *show_list(const struct engine *engine, struct arena *arena, const char *after,
                              int limit)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct listing listing = {.engine = engine,
                              .arena = arena,
                              .list = json_object_new_array(),
                              .limit = limit,
                              .until_ms = clock_monotonic_ms() + LIST_MS};
    struct engine_after place = {.namespace_ = after, .name = ""};
    const char *slash = after ? strchr(after, '/') : NULL;

    json_object_object_add(out, "canaries", listing.list);
    if (slash) {
        place.namespace_ = arena_strndup(arena, after, (size_t)(slash - after));
        place.name = slash + 1;
    }
    if (!engine_each(engine, after ? &place : NULL, list_one, &listing))
        return NULL;
    if (listing.more)
        json_set_str(
            out, "continue",
            arena_printf(arena, "%s/%s", job_namespace(listing.last), job_name(listing.last)));
    return out;
}

/* --- one */

static void set_conditions(struct json_object *out, struct json_object *tree)
{
    struct json_object *from = status_of(tree, "conditions"), *list = json_object_new_array();

    json_object_object_add(out, "conditions", list);
    for (size_t i = 0; i < json_len(from) && i < MAX_CONDITIONS; i++)
        json_object_array_add(list, show_condition(json_elem(from, i)));
}

/* Those of this process: of one that does not lead there are none. */
static void set_events(struct json_object *out, const struct engine *engine, struct arena *arena,
                       const char *namespace_, const char *name)
{
    struct engine_look look;

    engine_look(engine, &look);
    json_set(out, "events", told_list(look.context->told, arena, namespace_, name));
    json_set_bool(out, "leads", look.leads);
}

/* What the spec wants; of a spec that cannot be read, nothing. */
static void set_plan(struct json_object *out, const struct settings *settings,
                     const struct show_links *links, struct arena *arena,
                     const struct canary *canary)
{
    struct json_object *plan = json_sub(out, "plan"), *hooks = json_object_new_array();
    const struct canary_analysis *analysis = &canary->analysis;

    json_set_str(plan, "strategy", strategy_name(canary->strategy));
    json_set_str(plan, "provider", canary->provider ? canary->provider : settings->mesh_provider);
    json_set_str(plan, "target",
                 arena_printf(arena, "%s/%s", canary->target.kind, canary->target.name));
    json_set_int(plan, "intervalSeconds", analysis->interval_ms / 1000);
    json_set_int(plan, "maxWeight", analysis->max_weight);
    json_set_bool(plan, "skipAnalysis", canary->skip_analysis);
    json_object_object_add(plan, "hooks", hooks);
    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *webhook = &analysis->webhooks[i];
        struct json_object *hook = json_object_new_object();
        json_object_array_add(hooks, hook);
        json_set_str(hook, "name", webhook->name);
        json_set_str(hook, "type", hook_type_name(webhook->type));
        json_set_str(hook, "server", url_origin(arena, webhook->url));
    }
    json_set(plan, "metrics", show_queries(arena, settings, links, canary));
}

struct json_object *show_one(const struct engine *engine, const struct settings *settings,
                             const struct show_links *links, struct arena *arena,
                             const char *namespace_, const char *name)
{
    static const char *const whole[] = {"release", "history", "requests", "paused"};
    struct json_object *tree = find(engine, arena, namespace_, name);
    struct json_object *out = json_own(arena, json_object_new_object());
    struct canary canary;
    struct errinfo ei;
    char now[CLOCK_TEXT];

    if (!tree)
        return NULL;
    json_set_str(out, "namespace", namespace_);
    json_set_str(out, "name", name);
    json_set_str(out, "now", clock_rfc3339(clock_wall_ms(), now));
    set_brief(out, tree);
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        copy(out, whole[i], status_of(tree, whole[i]));
    set_conditions(out, tree);
    set_events(out, engine, arena, namespace_, name);
    if (canary_view(arena, tree, &canary, &ei) == ERR_OK) {
        set_plan(out, settings, links, arena, &canary);
        copy(out, "judged", show_judge(arena, &canary));
    }
    return out;
}
