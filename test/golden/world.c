#include "world.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cloudevents.h"
#include "decide/alerts.h"
#include "router/router.h"
#include "test/pretend.h"
#include "test/rows.h"
#include "world_kind.h"
#include "world_refuse.h"
#include "world_routes.h"
#include "world_scaler.h"
#include "world_store.h"
#include "world_uses.h"
#include "world_wake.h"

enum { INTERVAL_MS = 60000, MAX_TICKS = 60, STORY_TICKS = 40 };

static const char base_canary[] =
    "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'podinfo',"
    "'namespace':'test','uid':'c-1','resourceVersion':'1','generation':1,'finalizers':["
    "'finalizer.flagger.app']},'spec':{"
    "'provider':'gatewayapi:v1',"
    "'targetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'},"
    "'service':{'port':9898,'gatewayRefs':[{'name':'gateway','namespace':'infra'}]},"
    "'analysis':{'interval':'1m','threshold':2,'stepWeight':20,'maxWeight':50,'metrics':["
    "{'name':'request-success-rate','thresholdRange':{'min':99},'interval':'1m'},"
    "{'name':'request-duration','thresholdRange':{'max':500},'interval':'30s'}]}}}";

static const char *const labels[] = {"app", "name", "app.kubernetes.io/name", NULL};

struct world *world_new(const char *patch)
{
    struct arena *arena = arena_new();
    struct world *world = ARENA_NEW(arena, struct world);

    *world = (struct world){
        .arena = arena,
        .objects = json_own(arena, json_object_new_object()),
        .last = json_own(arena, json_object_new_object()),
        .metrics = json_own(arena, json_object_new_object()),
        .closed = "",
        .open = "",
        .unasked = "",
        .answered = "OK",
        .unserved = "",
        .late = "",
        .queries = "",
        .at_once = "",
        .told = "",
        .let_in = "",
        .denied = "",
        .refuses = "",
        .alerts = json_own(arena, json_object_new_object()),
        .received = "",
        .seen = "",
        .analysed = "podinfo:1",
        .now_ms = 1700000000000,
        .due = true,
        .versions = 1,
        .crash_at = -1,
        .settings = {.mesh_provider = "istio",
                     .metrics_server = "http://prometheus:9090",
                     .selector_labels = labels,
                     .cluster_name = "",
                     .config_tracking = true,
                     .min_analysis_interval_ms = 10000},
    };
    world->canary = world_json(world, base_canary);
    if (patch)
        world_patch_canary(world, patch);
    world_put(world, world_key(world, "podinfo"), world_kind_of(world)->target);
    world_settle(world);
    return world;
}

struct world *world_copy(const struct world *from)
{
    struct arena *arena = arena_new();
    struct world *copy = ARENA_NEW(arena, struct world);

    *copy = *from;
    copy->arena = arena;
    copy->objects = json_copy(arena, from->objects);
    copy->canary = json_copy(arena, from->canary);
    copy->metrics = json_copy(arena, from->metrics);
    copy->asked = json_copy(arena, from->asked);
    copy->alerts = json_copy(arena, from->alerts);
    copy->dropped_spec = json_copy(arena, from->dropped_spec);
    copy->depends = json_copy(arena, from->depends);
    return copy;
}

void world_free(struct world *world)
{
    arena_free(world->arena);
}

void world_push(struct world *world, const char *image)
{
    world_patch(world, world_key(world, "podinfo"), world_kind_of(world)->push(world, image));
}

/* --- the controllers of the cluster */

/* A template may say of which workload no pod gets ready. */
static bool is_stuck(struct world *world, const char *name, const char *image)
{
    struct json_object *object = world_get(world, world_key(world, name));
    const char *stuck =
        json_str_at(object, "spec", "template", "metadata", "annotations", "stuck", NULL);
    bool is_primary = strcmp(name, "podinfo-primary") == 0;

    return (stuck && strcmp(stuck, name) == 0) || strstr(image, "stuck") ||
           (is_primary && strstr(image, "canary-only"));
}

/* The image of its pods, which is not that of its template while it is pinned. */
static const char *image_of_pods(struct world *world, struct json_object *object, const char *name)
{
    if (!json_at(object, "metadata", "annotations", "flagger.app/pinned-template", NULL))
        return world_image(world, name);
    struct json_object *template = json_own(world->arena, pretend_template(object));
    const char *image =
        json_str_at(json_elem(json_at(template, "spec", "containers", NULL), 0), "image", NULL);
    return image ? image : "";
}

void world_settle(struct world *world)
{
    const struct world_kind *kind = world_kind_of(world);
    size_t len = strlen(kind->plural);
    int primary;

    world_scale(world, world_routes_split(world, &primary));
    if (kind->grow)
        kind->grow(world);
    json_object_object_foreach(world->objects, key, object)
    {
        if (strncmp(key, kind->plural, len) != 0 || key[len] != '/')
            continue;
        const char *image = image_of_pods(world, object, key + len + 1);
        bool stuck = is_stuck(world, key + len + 1, image);
        world_merge(world, key, kind->settle(world, object, stuck, strstr(image, "slow")));
    }
    world_limit(world);
}

/* --- facts */

static bool names(const char *list, const char *name)
{
    const char *at = strstr(list, name);
    size_t len = strlen(name);

    for (; at; at = strstr(at + 1, name)) {
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* A number at each of them; or those of a list, again and again, null where there is none. */
static struct metric_answer values_at_times(struct world *world, int times,
                                            struct json_object *value)
{
    bool is_list = json_object_is_type(value, json_type_array);
    double *values = arena_array(world->arena, (size_t)times, sizeof(*values));

    for (int i = 0; i < times; i++) {
        struct json_object *one = is_list ? json_elem(value, (size_t)i % json_len(value)) : value;
        values[i] = one ? json_object_get_double(one) : NAN;
    }
    return (struct metric_answer){.outcome = METRIC_VALUE, .values = values, .n_values = times};
}

/* {'0.1': 500, +Inf: 1000}, at each of them; a list of counts again and again. */
static struct metric_answer histogram_at_times(struct world *world, int times,
                                               struct json_object *value)
{
    int most = json_object_object_length(value), n = 0;
    double *bounds = arena_array(world->arena, (size_t)most, sizeof(*bounds));
    double *values = arena_array(world->arena, (size_t)most * (size_t)times, sizeof(*values));

    json_object_object_foreach(value, bound, count)
    {
        bounds[n] = strtod(bound, NULL);
        bool is_list = json_object_is_type(count, json_type_array);
        for (int i = 0; i < times; i++)
            values[n * times + i] = json_object_get_double(
                is_list ? json_elem(count, (size_t)i % json_len(count)) : count);
        n++;
    }
    return (struct metric_answer){.outcome = METRIC_VALUE,
                                  .values = values,
                                  .n_values = n * times,
                                  .bounds = bounds,
                                  .n_bounds = n};
}

static struct metric_answer answer_metric(struct world *world,
                                          const struct metric_question *question)
{
    struct json_object *value = NULL;

    world->query = question->query ? arena_strdup(world->arena, question->query) : "";
    const char *request =
        question->path || question->body
            ? arena_printf(world->arena, " (of %s: %s)", question->path ? question->path : "",
                           question->body ? question->body : "")
            : "";
    world->queries = arena_printf(world->arena, "%s%s: %s%s\n", world->queries, question->id,
                                  question->query ? question->query : "(probe)", request);
    /* "metrics[0]" answers all of that metric, "metrics[0].query" its inline query alone. */
    const char *metric = arena_strndup(world->arena, question->id, strcspn(question->id, "."));
    if (json_object_object_get_ex(world->metrics, question->id, &value) ||
        json_object_object_get_ex(world->metrics, metric, &value)) {
        if (!value)
            return (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
        if (question->times > 0 && !question->histogram &&
            !json_object_is_type(value, json_type_string))
            return values_at_times(world, question->times, value);
        if (question->histogram && json_object_is_type(value, json_type_object))
            return histogram_at_times(world, question->times > 0 ? question->times : 1, value);
        const char *note = json_str_at(value, "note", NULL);
        if (note) /* a bucket, by its bound */
            return (struct metric_answer){.outcome = METRIC_VALUE,
                                          .value =
                                              json_object_get_double(json_at(value, "value", NULL)),
                                          .note = arena_strdup(world->arena, note)};
        const char *text =
            json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
        if (text && strcmp(text, "+Inf") == 0)
            return (struct metric_answer){.outcome = METRIC_VALUE, .value = INFINITY};
        if (text && strncmp(text, "unreachable: ", 13) == 0)
            return (struct metric_answer){
                .outcome = METRIC_ERROR, .text = text + 13, .unreachable = true};
        if (text)
            return (struct metric_answer){.outcome = METRIC_ERROR, .text = text};
        return (struct metric_answer){.outcome = METRIC_VALUE,
                                      .value = json_object_get_double(value)};
    }
    if (question->histogram && strstr(question->id, ".native"))
        return (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
    if (question->histogram && question->times == 0)
        return histogram_at_times(world, 1, rows_json(world->arena, "{'0.1': 1000, '+Inf': 1000}"));
    bool duration = question->query && strstr(question->query, "histogram_quantile");
    /* Nobody asked the primary for anything before the release, unless a case says so. */
    if (question->times > 0)
        return (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = duration ? 0.05 : 100};
}

static void answer_need(struct world *world, struct tick *tick, const struct need *need)
{
    world_uses_need(tick, need);
    if (need->kind == NEED_METRIC) {
        fact_metric(tick, need, answer_metric(world, &need->metric));
        return;
    }
    if (need->kind == NEED_OBJECT && need->scales)
        world_wake_asked(
            world, arena_printf(world->arena, "%s/?%s", need->resource->plural, need->scales));
    if (need->kind == NEED_OBJECT && !need->name) {
        if (names(world->unserved, need->resource->plural))
            fact_unserved(tick, need);
        else if (names(world->denied, need->resource->plural))
            fact_denied(tick, need, "forbidden");
        else
            fact_object(tick, need,
                        pretend_list(tick->arena, world->objects, need->resource->plural,
                                     need->resource->group));
        return;
    }
    if (need->kind == NEED_OBJECT && need->last) {
        const char *key = arena_printf(world->arena, "%s/%s", need->resource->plural, need->name);
        fact_object(tick, need, json_copy(tick->arena, json_at(world->last, key, NULL)));
        return;
    }
    if (need->kind == NEED_OBJECT) {
        const char *key = arena_printf(world->arena, "%s/%s", need->resource->plural, need->name);
        if (names(world->unserved, need->resource->plural))
            fact_unserved(tick, need);
        else if (names(world->denied, need->resource->plural))
            fact_denied(tick, need, "forbidden");
        else if (names(world->late, need->resource->plural) && !need->surely)
            fact_unseen(tick, need);
        else
            fact_object(tick, need, json_copy(tick->arena, world_get(world, key)));
        world_wake_asked(world, key);
        return;
    }
    const struct canary_webhook *hook = &tick->canary->analysis.webhooks[need->webhook];
    bool passed = hook->type == HOOK_ROLLBACK ? names(world->open, hook->name)
                                              : !names(world->closed, hook->name);
    if (names(world->unasked, hook->name)) {
        fact_hook(tick, need,
                  (struct hook_answer){.unasked = true, .text = "Secret key.test does not exist"});
        return;
    }
    json_object_array_add(world->asked,
                          json_object_new_string(arena_printf(world->arena, "%s %s", hook->name,
                                                              phase_name(need->phase))));
    if (*world->about && strcmp(world->about, need->checksum) != 0)
        fail_msg("hooks of one tick are asked about %s and %s", world->about, need->checksum);
    world->about = arena_strdup(world->arena, need->checksum);
    world->asks_start |= hook->type == HOOK_CONFIRM_ROLLOUT;
    if (hook->type == HOOK_CONFIRM_ROLLOUT && (passed || hook->approve_at_deadline))
        world->let_in = arena_printf(world->arena, "%s %s", world->let_in, need->checksum);
    fact_hook(tick, need,
              (struct hook_answer){.passed = passed, .text = passed ? world->answered : "refused"});
}

/* --- the safety rules */

/*
 * A Canary that is being deleted, or is gone: as long as any pod answers, so does the apex Service
 * that was written, and everything to which the route sends traffic that was written.
 */
static void check_deletion(struct world *world, const struct effect *effect)
{
    const char *written = effect->resource ? effect->resource->plural : "";
    bool apex = world->gone || strcmp(written, "services") == 0;
    bool route = world->gone || strcmp(written, "httproutes") == 0;
    struct json_object *rules =
        json_at(world_get(world, "httproutes/podinfo"), "spec", "rules", NULL);
    const struct world_kind *kind = world_kind_of(world);
    bool any = kind->serves(world_get(world, world_key(world, "podinfo"))) ||
               kind->serves(world_get(world, world_key(world, "podinfo-primary")));

    if (apex && any && world_get(world, "services/podinfo") && !kind->answers(world, "podinfo"))
        fail_msg("nobody answers at the apex Service");
    for (size_t i = 0; route && any && i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        for (size_t j = 0; j < json_len(backends); j++) {
            const char *name = json_str_at(json_elem(backends, j), "name", NULL);
            if (json_int_at(json_elem(backends, j), 1, "weight", NULL) > 0 &&
                !kind->answers(world, name))
                fail_msg("nobody answers at %s, which has traffic", name);
        }
    }
}

static struct json_object *accepted_spec(struct world *world)
{
    return world->dropped_spec ? world->dropped_spec
                               : json_at(world->canary, "status", "acceptedSpec", NULL);
}

/* What is released now: by the spec that is followed, and by the one before until another target
 * has been initialised. */
static const char *released(struct world *world)
{
    struct json_object *accepted = accepted_spec(world);
    const char *name = json_str_at(accepted, "targetRef", "name", NULL);

    return name ? name : "podinfo";
}

static struct json_object *apex_service(struct world *world)
{
    const char *name = json_str_at(accepted_spec(world), "service", "name", NULL);

    return world_get(world,
                     arena_printf(world->arena, "services/%s", name ? name : released(world)));
}

static void check_safety(struct world *world, const struct effect *effect)
{
    const struct world_kind *kind = world_kind_of(world);
    const char *name = released(world);
    const char *stable_name = arena_printf(world->arena, "%s-primary", name);
    struct json_object *target = world_get(world, world_key(world, name));
    struct json_object *apex = apex_service(world);
    struct json_object *stable = world_get(world, world_key(world, stable_name));
    const char *second = arena_printf(world->arena, "%s-renewal", name); /* stands in for it */
    bool is_gone = effect->kind == EFFECT_DELETE && strcmp(effect->resource->kind, kind->kind) == 0;
    const char *selected = json_str_at(apex, "spec", "selector", "app", NULL);
    bool works =
        !json_at(world->canary, "spec", "service", NULL); /* by itself, nothing leads to it */
    bool leads = works || (selected && strcmp(selected, stable_name) == 0) ||
                 world_kind_leads(
                     apex, stable ? stable : world_get(world, world_key(world, second)), target);
    bool at_zero = kind->at_zero(target);
    bool serves = kind->serves(target);
    int primary, was = world->routed;
    int canary = world_routes_split(world, &primary);

    world->routed = canary;
    if (world->safety_off)
        return;
    world_check_scalers(world, was, canary, leads);
    if (json_at(world->canary, "metadata", "deletionTimestamp", NULL)) {
        check_deletion(world, effect);
        return;
    }
    if (is_gone && apex && !kind->answers(world, json_str_at(apex, "metadata", "name", NULL)))
        fail_msg("%s is deleted, and nobody answers at the apex Service", effect->name);
    world_routes_check(world, at_zero);
    world_check_pause(world, name, (canary > 0 || !leads) && !works);
    bool initialising = strcmp(world_phase(world), "Initializing") == 0 || !*world_phase(world);
    if (at_zero && !initialising && !leads)
        fail_msg("the target is at zero while the apex Service does not select the primary");
    bool routes = effect->why && strncmp(effect->why, "weights", 7) == 0;
    if (routes && canary > 0 && !serves)
        fail_msg("traffic goes to a canary that is not ready");
    if (routes && canary < was && serves && stable && !kind->serves(stable))
        fail_msg("traffic goes to a primary that has nobody, and a canary answers");
    const char *image = world_image(world, "podinfo-primary");
    /* nobody is sent to it yet, and everybody to the target that it is a copy of */
    if (initialising && !leads && strcmp(image, world_image(world, name)) == 0)
        world->analysed = arena_printf(world->arena, "%s %s", world->analysed, image);
    if (*image && !names(world->analysed, image))
        fail_msg("%s was promoted without having been analysed", image);
}

const char *world_checksum(struct world *world)
{
    struct canary canary;
    const char *mistake;
    struct errinfo ei;

    if (accept_view(world->arena, world->canary, &canary, &mistake, &ei) != ERR_OK)
        fail_msg("accept_view: %s", ei.text);
    return canary_checksum(world->arena, &canary);
}

/* --- effects */

static bool is_write(const struct effect *effect)
{
    return effect->kind == EFFECT_CREATE || effect->kind == EFFECT_PATCH ||
           effect->kind == EFFECT_DELETE || effect->kind == EFFECT_STATUS;
}

/* As a server prunes what its schema does not know. */
static struct json_object *without_ours(struct world *world, struct json_object *body)
{
    static const char *const ours[] = {
        "acceptedSpec", "provider", "serviceName", "controller",   "release",        "history",
        "requests",     "paused",   "steer",       "refusedWrite", "canaryCapacity", "canaryPods",
        "prepared",     "renewal",  "copiesLeft",  "companions"};
    struct json_object *copy = json_copy(world->arena, body);
    struct json_object *spec = json_at(copy, "status", "acceptedSpec", NULL);

    if (spec)
        world->dropped_spec = json_copy(world->arena, spec);
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        json_object_object_del(json_at(copy, "status", NULL), ours[i]);
    return copy;
}

/*
 * Whoever has a Service's traffic answers: it is not made to select pods that are not there. (A
 * Service of the canary without a share has none.)
 */
static void check_selector(struct world *world, const char *name, struct json_object *before)
{
    struct json_object *now = world_get(world, arena_printf(world->arena, "services/%s", name));
    struct json_object *old = json_at(before, "spec", "selector", NULL);
    const char *end = strrchr(name, '-');
    int primary;

    if (world->safety_off || !old || json_same(old, json_at(now, "spec", "selector", NULL)) ||
        json_at(world->canary, "metadata", "deletionTimestamp", NULL) ||
        (end && strcmp(end, "-canary") == 0 && world_routes_split(world, &primary) == 0))
        return;
    if (!world_kind_of(world)->answers(world, name))
        fail_msg("Service %s is made to select pods that do not answer", name);
    if (world_kind_selected(world, name, false))
        fail_msg("Service %s is made to select the pods of %s", name,
                 world_kind_selected(world, name, false));
}

static void check_service(struct world *world, const char *name, struct json_object *before)
{
    check_selector(world, name, before);
    if (!world->safety_off && !json_at(world->canary, "metadata", "deletionTimestamp", NULL))
        world_routes_check_ports(world, name, before);
}

static void write_object(struct world *world, const struct effect *effect)
{
    const char *key = arena_printf(world->arena, "%s/%s", effect->resource->plural, effect->name);
    struct json_object *live = world_get(world, key);
    const char *expected = json_str_at(effect->body, "metadata", "resourceVersion", NULL);
    const char *version = json_str_at(live, "metadata", "resourceVersion", NULL);

    if (strcmp(effect->resource->plural, "canaries") == 0) {
        world_merge_canary(world, effect->body);
        return;
    }
    if (effect->kind == EFFECT_PATCH && json_bool_at(live, false, "immutable", NULL) &&
        (json_at(effect->body, "data", NULL) || json_at(effect->body, "binaryData", NULL)))
        fail_msg("%s is patched although it is immutable", key);
    if (effect->kind == EFFECT_DELETE) {
        json_object_object_del(world->objects, key);
        return;
    }
    if (effect->kind == EFFECT_CREATE && live)
        fail_msg("%s is created although it exists", key);
    if (effect->kind == EFFECT_PATCH && !live)
        fail_msg("%s is patched although it does not exist", key);
    if (expected && strcmp(expected, version) != 0)
        fail_msg("%s is patched at version %s, it has %s", key, expected, version);
    world_merge(world, key,
                world->drops_percent ? world_routes_pruned(world, effect->body) : effect->body);
    if (strcmp(effect->resource->plural, "services") == 0)
        check_service(world, effect->name, live);
    /* the ports in a route of the user are the user's */
    if (!world->safety_off && strcmp(key, "httproutes/podinfo") == 0 &&
        !json_at(world->canary, "spec", "service", "routeRefs", NULL))
        world_routes_check_backends(world, live);
    if (!world->safety_off)
        world_check_number(world, key, live);
}

static void apply(struct world *world, const struct effect *effect)
{
    if (effect->kind == EFFECT_STATUS) {
        const char *applied = json_str_at(effect->body, "status", "lastAppliedSpec", NULL);
        world_merge_canary(world,
                           world->flaggers_crd ? without_ours(world, effect->body) : effect->body);
        world_check_status(world);
        if (applied && *applied)
            world->analysed =
                arena_printf(world->arena, "%s %s", world->analysed, world_image(world, "podinfo"));
        if (applied && *applied && *world->about &&
            strcmp(world->about, world_checksum(world)) != 0)
            fail_msg("what was asked about is %s, what is released is %s", world->about,
                     world_checksum(world));
    } else if (is_write(effect)) {
        write_object(world, effect);
    } else if (effect->text) {
        world->told = arena_printf(world->arena, "%s%s\n", world->told, effect->text);
    }
    check_safety(world, effect);
}

const struct channel world_receiver;

/* Those of the status are told again, if nobody sends them. */
static bool is_owed(const struct world *world, const char *key)
{
    struct json_object *owed = json_at(world->canary, "status", "pendingAlerts", NULL);

    for (size_t i = 0; i < json_len(owed); i++) {
        if (strcmp(json_str_at(json_elem(owed, i), "key", NULL), key) == 0)
            return true;
    }
    return false;
}

/* An alert in a plan that leaves the status as it is would be told again by the next tick. */
static void check_alerts(const struct world *world, const struct plan *plan)
{
    bool changes = false;

    for (const struct effect *effect = plan->first; effect; effect = effect->next) {
        changes = changes || effect->kind == EFFECT_STATUS;
        if (effect->kind == EFFECT_ALERT && !changes && !is_owed(world, effect->key))
            fail_msg("\"%s\" is alerted without a change of the status", effect->text);
    }
}

/* The states that the engine would report: see engine/alert_deliveries.h. */
static void show_alerts(const struct world *world, struct tick *tick)
{
    const char **delivered = arena_array(tick->arena, 2, sizeof(*delivered));
    struct alert_state *states = arena_array(
        tick->arena, (size_t)json_object_object_length(world->alerts) + 1, sizeof(*states));

    delivered[0] = world->delivered;
    json_object_object_foreach(world->alerts, key, value)
    {
        (void)value;
        states[tick->n_alerts++] = (struct alert_state){
            .key = key,
            .done = !world->undelivered,
            .delivered = delivered,
            .trouble = world->undelivered && *world->undelivered ? world->undelivered : NULL};
    }
    tick->alerts = states;
}

/* Forgets those that the status no longer owes. */
static void forget_alerts(struct world *world)
{
    struct json_object *kept = json_own(world->arena, json_object_new_object());

    json_object_object_foreach(world->alerts, key, value)
    {
        (void)value;
        if (!world->restarted && is_owed(world, key))
            json_set(kept, key, NULL);
    }
    world->restarted = false;
    world->alerts = kept;
}

/* The receiver knows a repeat by its key. */
static void take_alert(struct world *world, struct tick *tick, const struct effect *effect)
{
    if (effect->kind != EFFECT_ALERT || !effect->key)
        return;
    const struct alert alert = alerts_message(tick, effect);
    cloudevents_check(tick->arena, cloudevents_event(tick->arena, &alert));
    if (json_object_object_get_ex(world->alerts, effect->key, NULL))
        fail_msg("alert %s is sent twice", effect->key);
    json_set(world->alerts, effect->key, NULL);
    if (strstr(world->seen, arena_printf(world->arena, "%s;", effect->key)))
        return;
    world->seen = arena_printf(world->arena, "%s %s;", world->seen, effect->key);
    world->received =
        arena_printf(world->arena, "%s%s: %s\n", world->received, effect->severity, effect->text);
}

static void crash(struct world *world)
{
    world->crashed = true;
    world->due = true;
    world->restarted = true;
}

static void apply_plan(struct world *world, struct tick *tick)
{
    const struct plan *plan = tick->plan;
    bool told = false;

    check_alerts(world, plan);

    world->crashed = false;
    world->was_down = world_is_down(world, released(world));
    for (struct effect *effect = plan->first; effect; effect = effect->next) {
        told = told || !is_write(effect);
        if (is_write(effect) && told)
            fail_msg("a plan tells before it has written");
        if (world_refuses(world, effect))
            return;
        bool last = is_write(effect) && world->effects++ == world->crash_at;
        if (last && !world->crash_after) {
            crash(world);
            return;
        }
        apply(world, effect);
        if (is_write(effect))
            effect_done(effect, world_version_after(world, effect));
        if (last) {
            crash(world);
            return;
        }
        take_alert(world, tick, effect);
    }
}

/* What the engine does with a spec that cannot be read, when none was accepted before. */
static const char *refuse_unread(struct world *world, struct arena *arena, const char *sentence)
{
    struct json_object *patch = accept_refusal(arena, world->canary, sentence, world->now_ms);

    if (patch) {
        world_merge_canary(world, json_copy(world->arena, patch));
        world_check_status(world);
        world->told = arena_printf(world->arena, "%s%s\n", world->told, sentence);
    }
    world->requeue = REQUEUE_NEVER;
    arena_free(arena);
    return patch ? "status [Accepted=False]\nagain never\n" : "again never\n";
}

/*
 * Hooks are asked about the revision that is analysed. A revision comes into an analysis only when
 * the gate has let it in, it and its configs, and not while the Canary is paused. (What Flagger's
 * status calls by another hash is the revision that it has begun.)
 */
static void check_consent(const struct world *world, const struct canary *before, const char *known)
{
    const char *now = world_checksum((struct world *)world);
    const char *applied = json_str_at(world->canary, "status", "lastAppliedSpec", NULL);
    enum phase phase = phase_parse(world_phase((struct world *)world));
    bool begins = phase == PHASE_Progressing && applied && *applied && strcmp(now, known) != 0;

    if (*world->about && before->status.phase == PHASE_Progressing && phase == PHASE_Progressing &&
        !world->asks_start)
        assert_string_equal(world->about, known);
    if (!begins || !before->status.service_name || world->safety_off || world->flaggers_crd)
        return;
    if (json_at(before->status.json, "paused", NULL) &&
        !json_bool_at(before->status.json, false, "paused", "gate", NULL))
        fail_msg("a revision begins while the Canary is paused");
    for (int i = 0; i < before->analysis.n_webhooks; i++) {
        if (before->analysis.webhooks[i].type == HOOK_CONFIRM_ROLLOUT && !names(world->let_in, now))
            fail_msg("%s begins, and its gate has let in only %s", now, world->let_in);
    }
}

/* All pods of a Deployment are of its revision and available. */
static bool is_whole(struct json_object *deployment)
{
    int64_t wanted = json_int_at(deployment, 1, "spec", "replicas", NULL);

    return wanted > 0 &&
           json_int_at(deployment, 0, "status", "availableReplicas", NULL) >= wanted &&
           json_int_at(deployment, 0, "status", "updatedReplicas", NULL) >= wanted &&
           json_int_at(deployment, 0, "status", "observedGeneration", NULL) ==
               json_int_at(deployment, 0, "metadata", "generation", NULL);
}

/* No side has a share and no ready pod, while the other one has pods, behind a tick that saw it. Where
 * the status names no revision, what the target's pods have read was let in by nobody. */
static void check_shares(struct world *world, const char *text, enum phase before)
{
    const struct world_kind *kind = world_kind_of(world);
    const char *name = released(world);
    struct json_object *target = world_get(world, world_key(world, name));
    const char *stable_name = arena_printf(world->arena, "%s-primary", name);
    struct json_object *stable = world_get(world, world_key(world, stable_name));
    enum phase phase = phase_parse(world_phase(world));
    int primary, canary = world_routes_split(world, &primary);
    bool runs = phase == PHASE_Progressing || phase == PHASE_WaitingPromotion ||
                phase == PHASE_Promoting || phase == PHASE_Finalising;

    const char *applied = json_str_at(world->canary, "status", "lastAppliedSpec", NULL);

    if (!runs || phase != before || !applied || !*applied || strstr(text, "lastAppliedSpec") ||
        strstr(text, "refusedWrite") || world->safety_off || world->crashed ||
        world->requeue == REQUEUE_NOW || world->plan.held || !target || !stable ||
        !world_get(world, "httproutes/podinfo") || strstr(world->refuses, "httproutes") ||
        strcmp(kind->plural, "deployments") != 0 ||
        json_at(world->canary, "metadata", "deletionTimestamp", NULL) ||
        json_object_get_boolean(json_at(world->canary, "spec", "suspend", NULL)))
        return;
    if (canary > 0 && !kind->serves(target) && kind->serves(stable))
        fail_msg("the canary has a share and no ready pod, the primary has some: %d/%d\n%s",
                 primary, canary, text);
    if (primary > 0 && !kind->serves(stable) && is_whole(target) &&
        *json_str_at(world->canary, "status", "lastAppliedSpec", NULL) &&
        names(world->analysed, world_image(world, name)))
        fail_msg("the primary has a share and no ready pod, the canary is ready: %d/%d\n%s",
                 primary, canary, text);
}

/* A release moves, or says what it waits for. */
static void check_advance(const struct world *world, const char *text)
{
    struct json_object *list = json_at(world->canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(list) && !world->safety_off; i++) {
        const char *type = json_str_at(json_elem(list, i), "type", NULL);
        if (type && strcmp(type, "Advancing") == 0)
            fail_msg(
                "a release stalls: a step was due, and the rules neither made one nor wait:\n%s%s",
                text, json_text(world->arena, list));
    }
}

/* Objects are at hand, as where a watch shows them. */
static void answer_at_once(void *arg, struct tick *tick, const struct need *need)
{
    answer_need(arg, tick, need);
}

const char *world_tick(struct world *world)
{
    struct arena *arena = arena_new();
    struct canary canary;
    const char *mistake;
    struct errinfo ei;

    if (world->gone) {
        arena_free(arena);
        world->requeue = REQUEUE_NEVER;
        return "again never\n";
    }
    if (accept_view(arena, json_copy(arena, world->canary), &canary, &mistake, &ei) != ERR_OK)
        return refuse_unread(world, arena, ei.text);
    struct tick *tick = tick_new(arena, &canary, &world->settings, world->now_ms, world->due);
    tick->stepped_at_ms = world->stepped_at_ms;
    tick->mistake = mistake;
    tick->conflict = world->conflict;
    tick->locked_out = world->locked_out;
    tick->successor = world->successor;
    tick->queued = world->queued;
    world_refusal_show(world, tick);
    tick->claimed = world->claimed;
    tick->peer = (struct peer_controller){.lease = world->other,
                                          .state = world->other_lives  ? PEER_LIVES
                                                   : world->other_gone ? PEER_GONE
                                                                       : PEER_UNKNOWN,
                                          .told = world->other_told};
    world->in_rounds = !world->in_rounds;
    tick->answer = world->in_rounds ? NULL : answer_at_once;
    tick->answer_arg = world;
    forget_alerts(world);
    show_alerts(world, tick);
    const char *known = world_checksum(world);
    world->asked = json_own(world->arena, json_object_new_array());
    world->queries = "";
    world->at_once = "";
    world->about = "";
    world->asks_start = false;
    world_wake_begin(world);
    for (int round = 0;; round++) {
        if (round == 50)
            fail_msg("the rules still miss facts after %d rounds", round);
        tick_reset(tick);
        enum rule_result verdict =
            world->decides ? world->decides(world->decides_arg, tick) : decide(tick);
        if (tick->broken)
            fail_msg("a rule broke: %s", tick->broken);
        if (verdict != RULE_NEEDS_FACTS)
            break;
        if (!tick->needs)
            fail_msg("the rules miss facts and ask for none");
        size_t before = strlen(world->queries);
        for (const struct need *need = tick->needs; need; need = need->next)
            answer_need(world, tick, need);
        if (before == 0)
            world->at_once = world->queries;
    }
    const char *text = arena_strdup(world->arena, plan_print(tick));
    world->requeue = tick->plan->requeue;
    world->claimed |= tick->plan->claims;
    world->other_told = world->other_lives;
    world_wake_planned(world, tick);
    for (const struct effect *effect = tick->plan->first; effect; effect = effect->next)
        world_uses_effect(tick, effect);
    apply_plan(world, tick);
    world_refusal_end(world, tick->plan);
    world_wake_end(world, tick_interval_ms(tick));
    check_shares(world, text, canary.status.phase);
    check_advance(world, text);
    check_consent(world, &canary, known);
    arena_free(arena);
    return text;
}

const char *world_turn(struct world *world)
{
    bool is_time = world->timer_at >= 0 && world->timer_at <= world->now_ms;

    if (!world->woken && !is_time && world->depends)
        return "asleep\n";
    world->due =
        wake_is_due(&world->wake, phase_parse(world_phase(world)), world->now_ms, INTERVAL_MS);
    return world_tick(world);
}

bool world_step(struct world *world)
{
    const char *plan = world_tick(world);

    if (!world->crashed && world->requeue == REQUEUE_NEVER && strcmp(plan, "again never\n") == 0)
        return true;
    world->now_ms += world->requeue == REQUEUE_NOW ? 0 : INTERVAL_MS;
    world_settle(world);
    return false;
}

void world_run(struct world *world)
{
    for (int i = 0; i < MAX_TICKS; i++) {
        if (world_step(world))
            return;
    }
    fail_msg("no end after %d ticks, phase %s, told:\n%s", MAX_TICKS, world_phase(world),
             world->told);
}

void world_initialise(struct world *world)
{
    world_run(world);
    assert_string_equal(world_phase(world), "Initialized");
    world->told = "";
    world->effects = 0;
}

const char *world_story(struct world *world, const char *until)
{
    const char *text = "", *routes = world_routes(world);

    world->told = "";
    for (int i = 0; i < STORY_TICKS && strcmp(world_phase(world), until) != 0; i++) {
        const char *plan = world_tick(world);
        if (world->requeue == REQUEUE_NEVER && strcmp(plan, "again never\n") == 0)
            break;
        text = arena_printf(world->arena, "%s%s", text, world->told);
        world->told = "";
        if (strcmp(world_routes(world), routes) != 0) {
            routes = world_routes(world);
            text = arena_printf(world->arena, "%s%s", text, routes);
        }
        world->now_ms += INTERVAL_MS;
        world_settle(world);
    }
    return text;
}

void expect_tick_at(struct world *world, const char *text, const char *file, int line)
{
    const char *got = world_tick(world);

    if (strcmp(got, text) != 0) {
        fprintf(stderr, "%s:%d: the plan is\n%s\nand not\n%s\n", file, line, got, text);
        _fail(file, line);
    }
    world_settle(world);
}
