#include "engine/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/gauges.h"
#include "engine/hook_call.h"
#include "engine/metrics/metric_share.h"
#include "engine/read_one.h"
#include "kube/status.h"

/* One need under way. */
struct lookup {
    struct lookup *next;
    struct gather *gather;
    const struct need *need;
    int64_t since_ms;
    struct read_one *read;
    uint64_t uid;        /* of the object that the watch showed when the read began; 0: none */
    struct timer *watch; /* until the watch shows the object */
    struct metric_wait *metric;
    struct hook_call *hook;
};

struct gather {
    struct engine_context *context;
    struct deps *deps;
    struct tick *tick;
    gather_done_fn done;
    void *arg;
    struct lookup *lookups;
    int under_way;
    bool freed;
    enum err err;
    struct errinfo info;
};

static void destroy(struct gather *gather)
{
    while (gather->lookups) {
        struct lookup *lookup = gather->lookups;
        gather->lookups = lookup->next;
        free(lookup);
    }
    free(gather);
}

static void finish_one(struct gather *gather)
{
    gather->under_way--;
    if (gather->under_way > 0)
        return;
    if (!gather->freed)
        gather->done(gather->arg, gather->err, &gather->info);
    destroy(gather);
}

/* One object was read. */
static void learn(const struct lookup *lookup, struct json_object *tree, bool unserved)
{
    const struct need *need = lookup->need;
    struct watchset *watches = lookup->gather->context->watches;
    struct deps *deps = lookup->gather->deps;
    if (unserved)
        deps_unserved(deps, need->resource, need->namespace_, need->name);
    else
        deps_read(deps, need->resource, need->namespace_, need->name, tree);
    if (tree)
        watchset_learn(watches, need->resource, tree);
    else if (lookup->uid)
        watchset_learn_gone(watches, need->resource, need->namespace_, need->name, lookup->uid);
}

static void on_need_object(void *arg, enum err err, struct json_object *tree,
                           const struct errinfo *info)
{
    struct lookup *lookup = arg;
    struct gather *gather = lookup->gather;
    lookup->read = NULL;
    if (kube_status_forbidden(info)) {
        fact_denied(gather->tick, lookup->need, info->text);
    } else if (err != ERR_OK && err != ERR_NOT_FOUND) {
        gather->err = err;
        gather->info = *info;
    } else {
        if (lookup->need->name)
            learn(lookup, tree, err == ERR_NOT_FOUND);
        const struct need *need = lookup->need;
        /* The tick keeps its own reference: what it read stays what it was, whatever is written
         * meanwhile. */
        if (err == ERR_NOT_FOUND)
            fact_unserved(gather->tick, need);
        else
            fact_object(gather->tick, need,
                        tree ? json_own(gather->tick->arena, json_object_get(tree)) : NULL);
    }
    finish_one(gather);
}

static void on_need_metric(void *arg, const struct metric_answer *answer)
{
    struct lookup *lookup = arg;
    struct gather *gather = lookup->gather;
    lookup->metric = NULL;
    fact_metric(gather->tick, lookup->need, *answer);
    finish_one(gather);
}

static void on_need_hook(void *arg, const struct hook_answer *answer)
{
    struct lookup *lookup = arg;
    struct gather *gather = lookup->gather;
    lookup->hook = NULL;
    gauges_hook_seconds((double)(clock_monotonic_ms() - lookup->since_ms) / 1000, answer->passed);
    fact_hook(gather->tick, lookup->need,
              (struct hook_answer){.passed = answer->passed,
                                   .unasked = answer->unasked,
                                   .text = arena_strdup(gather->tick->arena, answer->text)});
    finish_one(gather);
}

static struct lookup *lookup_new(struct gather *gather, const struct need *need)
{
    struct lookup *lookup = heap_alloc(sizeof(*lookup));
    *lookup = (struct lookup){
        .next = gather->lookups, .gather = gather, .need = need, .since_ms = clock_monotonic_ms()};
    gather->lookups = lookup;
    gather->under_way++;
    return lookup;
}

static void read_object(struct lookup *lookup)
{
    const struct need *need = lookup->need;
    struct gather *gather = lookup->gather;
    const struct seen *seen;
    if (need->name &&
        watchset_look(gather->context->watches, need->resource, need->namespace_, need->name,
                      &seen) &&
        seen)
        lookup->uid = seen->digest.uid;
    lookup->read = read_one_start(gather->context, need->resource, need->namespace_, need->name,
                                  need->query, on_need_object, lookup);
}

static enum deps_known find_object(struct gather *gather, const struct need *need)
{
    struct json_object *tree;
    enum deps_known known = deps_known(gather->deps, gather->context->watches, need->resource,
                                       need->namespace_, need->name, gather->tick->arena, &tree);
    if (known == DEPS_KNOWN && tree)
        fact_object(gather->tick, need, tree);
    else if (known == DEPS_KNOWN)
        fact_unseen(gather->tick, need);
    return known;
}

/* Nothing is shown of the resource: to who only asks for what is shown, the object is not there. */
static bool does_without(struct gather *gather, const struct need *need)
{
    if (!need->watched ||
        watchset_shows(gather->context->watches, need->resource, need->namespace_))
        return false;
    deps_read(gather->deps, need->resource, need->namespace_, need->name, NULL);
    fact_object(gather->tick, need, NULL);
    return true;
}

/* As it was when it was asked for last; the watch tells when that is over. */
static bool is_not_served(struct gather *gather, const struct need *need)
{
    return need->name && !need->surely &&
           deps_is_unserved(gather->deps, gather->context->watches, need->resource,
                            need->namespace_, need->name);
}

struct scalers {
    const struct need *need;
    struct json_object *items;
};

static void add_scaler(void *arg, const char *name)
{
    const struct scalers *scalers = arg;
    const char *scales = scalers->need->scales, *slash = strchr(scales, '/');
    struct json_object *one = json_object_new_object();
    struct json_object *ref = json_sub(json_sub(one, "spec"), "scaleTargetRef");

    json_object_array_add(scalers->items, one);
    json_set_str(json_sub(one, "metadata"), "name", name);
    json_object_object_add(ref, "kind", json_object_new_string_len(scales, (int)(slash - scales)));
    json_set_str(ref, "name", slash + 1);
}

/* What the watch shows; false: it is about to. */
static bool find_scalers(struct gather *gather, const struct need *need, bool patient)
{
    struct watchset *watches = gather->context->watches;
    const struct seen *seen;
    bool shows = watchset_shows(watches, need->resource, need->namespace_);
    struct scalers scalers = {.need = need, .items = json_object_new_array()};

    if (!shows && patient &&
        watchset_find(watches, need->resource, need->namespace_, "", &seen) == WATCHSET_SOON) {
        json_object_put(scalers.items);
        return false;
    }
    struct json_object *list = json_own(gather->tick->arena, json_object_new_object());
    json_object_object_add(list, "items", scalers.items);
    deps_scalers(gather->deps, need->resource, need->namespace_, need->scales, !shows);
    watchset_scalers(watches, need->resource, need->namespace_, need->scales, add_scaler, &scalers);
    fact_object(gather->tick, need, list);
    return true;
}

static int64_t patience_ms(const struct gather *gather, const struct need *need)
{
    const struct seen *seen;
    const char *name = need->name ? need->name : "";
    if (watchset_find(gather->context->watches, need->resource, need->namespace_, name, &seen) ==
        WATCHSET_SOON)
        return gather->context->list_patience_ms;
    return GATHER_PATIENCE_MS;
}

static void look_for_scalers(void *arg)
{
    struct lookup *lookup = arg;
    struct gather *gather = lookup->gather;
    bool patient = clock_monotonic_ms() - lookup->since_ms < patience_ms(gather, lookup->need);
    lookup->watch = NULL;
    if (find_scalers(gather, lookup->need, patient))
        finish_one(gather);
    else
        lookup->watch =
            timer_start(gather->context->loop, GATHER_LOOK_MS, 0, look_for_scalers, lookup);
}

static void fetch_scalers(struct gather *gather, const struct need *need)
{
    watchset_add(gather->context->watches, need->resource);
    if (find_scalers(gather, need, true))
        return;
    struct lookup *lookup = lookup_new(gather, need);
    lookup->watch = timer_start(gather->context->loop, GATHER_LOOK_MS, 0, look_for_scalers, lookup);
}

static void look_again(void *arg)
{
    struct lookup *lookup = arg;
    struct gather *gather = lookup->gather;
    const struct need *need = lookup->need;
    enum deps_known known = find_object(gather, need);
    lookup->watch = NULL;
    if (known == DEPS_KNOWN || (known == DEPS_UNKNOWN && does_without(gather, need)))
        finish_one(gather);
    else if (known == DEPS_SOON &&
             clock_monotonic_ms() - lookup->since_ms < patience_ms(gather, need))
        lookup->watch = timer_start(gather->context->loop, GATHER_LOOK_MS, 0, look_again, lookup);
    else
        read_object(lookup);
}

static void fetch_object(struct gather *gather, const struct need *need)
{
    enum deps_known known = DEPS_UNKNOWN;
    /* A list wakes nobody, and what of it the cluster serves is still to be seen. */
    if (need->name && !need->surely) {
        watchset_add(gather->context->watches, need->resource);
        known = find_object(gather, need);
    }
    if (known == DEPS_KNOWN || (known == DEPS_UNKNOWN && does_without(gather, need)))
        return;
    if (known == DEPS_UNKNOWN && is_not_served(gather, need)) {
        fact_unserved(gather->tick, need);
        return;
    }
    struct lookup *lookup = lookup_new(gather, need);
    if (known == DEPS_SOON)
        lookup->watch = timer_start(gather->context->loop, GATHER_LOOK_MS, 0, look_again, lookup);
    else
        read_object(lookup);
}

static void fetch_metric(struct gather *gather, const struct need *need)
{
    struct lookup *lookup = lookup_new(gather, need);
    struct metric_answer at_once;
    lookup->metric = metric_share_ask(gather->context->metrics, gather->tick->arena, &need->metric,
                                      gather->tick->now_ms, tick_interval_ms(gather->tick),
                                      on_need_metric, lookup, &at_once);
    if (lookup->metric)
        return;
    gather->under_way--; /* nothing to wait for: it stays in the list, and done is not called */
    fact_metric(gather->tick, need, at_once);
}

static void fetch_hook(struct gather *gather, const struct need *need)
{
    const struct canary *canary = gather->tick->canary;
    const struct canary_webhook *webhook = &canary->analysis.webhooks[need->webhook];
    struct lookup *lookup = lookup_new(gather, need);
    const char *body = hook_body(gather->tick->arena, canary, webhook, need->phase, need->checksum);
    lookup->hook =
        hook_call_start(gather->context, canary->namespace_, webhook, body, on_need_hook, lookup);
}

struct gather *gather_start(struct engine_context *context, struct deps *deps, struct tick *tick,
                            gather_done_fn done, void *arg)
{
    struct gather *gather = heap_alloc(sizeof(*gather));
    *gather =
        (struct gather){.context = context, .deps = deps, .tick = tick, .done = done, .arg = arg};
    const struct need *first_hook = NULL;
    bool others = false;
    for (const struct need *need = tick->needs; need; need = need->next) {
        if (need->kind == NEED_HOOK) {
            first_hook = first_hook ? first_hook : need;
            continue;
        }
        others = true;
        if (need->kind == NEED_OBJECT && need->last)
            fact_object(tick, need,
                        watchset_last(context->watches, need->resource, need->namespace_,
                                      need->name, tick->arena));
        else if (need->kind == NEED_OBJECT && need->scales)
            fetch_scalers(gather, need);
        else if (need->kind == NEED_OBJECT)
            fetch_object(gather, need);
        else
            fetch_metric(gather, need);
    }
    if (!others && first_hook)
        fetch_hook(gather, first_hook);
    if (gather->under_way > 0)
        return gather;
    destroy(gather);
    return NULL;
}

bool gather_asks(const struct gather *gather)
{
    for (const struct lookup *lookup = gather->lookups; lookup; lookup = lookup->next)
        if (lookup->hook || lookup->metric || lookup->watch)
            return true;
    return false;
}

void gather_free(struct gather *gather)
{
    if (!gather)
        return;
    gather->freed = true;
    int silent = 1; /* one for this loop, so that nothing frees the list under it */
    gather->under_way++;
    for (struct lookup *lookup = gather->lookups; lookup; lookup = lookup->next) {
        if (lookup->read) {
            read_one_free(lookup->read);
            silent++;
        } else if (lookup->watch) {
            timer_stop(lookup->watch);
            silent++;
        } else if (lookup->hook) {
            hook_call_free(lookup->hook);
            silent++;
        } else if (lookup->metric) {
            metric_wait_free(lookup->metric);
            silent++;
        }
    }
    gather->under_way -= silent;
    if (gather->under_way == 0)
        destroy(gather);
}

static struct gather_ask ask_of(const struct lookup *lookup)
{
    const struct need *need = lookup->need;
    struct gather_ask ask = {.kind = need->kind, .since_ms = lookup->since_ms};

    switch (need->kind) {
    case NEED_OBJECT:
        ask.resource = need->resource;
        ask.namespace_ = need->namespace_;
        ask.name = need->name;
        break;
    case NEED_METRIC:
        ask.name = need->metric.id;
        ask.url = need->metric.address;
        break;
    case NEED_HOOK: {
        const struct canary_webhook *webhook =
            &lookup->gather->tick->canary->analysis.webhooks[need->webhook];
        ask.name = webhook->name;
        ask.url = webhook->url;
        ask.attempts = hook_call_attempts(lookup->hook);
        break;
    }
    }
    return ask;
}

void gather_each(const struct gather *gather, void (*fn)(void *arg, const struct gather_ask *ask),
                 void *arg)
{
    for (const struct lookup *lookup = gather->lookups; lookup; lookup = lookup->next) {
        if (!lookup->read && !lookup->watch && !lookup->metric && !lookup->hook)
            continue;
        struct gather_ask ask = ask_of(lookup);
        fn(arg, &ask);
    }
}
