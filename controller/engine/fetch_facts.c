#include "engine/fetch_facts.h"
#include "engine/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/controller_metrics.h"
#include "engine/hook_call.h"
#include "engine/metrics/metric_share.h"
#include "engine/traces.h"
#include "kube/reply.h"

/* One need being fetched. */
struct lookup {
    struct lookup *next;
    struct fetch *fetch;
    const struct need *need;
    int64_t since_ms;
    struct object_read *read;
    uint64_t uid;        /* uid of the object as watched when the read began; 0 if none */
    struct timer *watch; /* polls until the watch shows the object */
    struct metric_wait *metric;
    struct hook_call *hook;
};

struct fetch {
    struct engine_context *context;
    struct deps *deps;
    struct tick *tick;
    fetch_done_fn done;
    void *arg;
    struct lookup *lookups;
    int under_way;
    bool freed;
    enum err err;
    struct errinfo info;
};

static void destroy(struct fetch *fetch)
{
    while (fetch->lookups) {
        struct lookup *lookup = fetch->lookups;
        fetch->lookups = lookup->next;
        free(lookup);
    }
    free(fetch);
}

static void finish_one(struct fetch *fetch)
{
    fetch->under_way--;
    if (fetch->under_way > 0)
        return;
    if (!fetch->freed)
        fetch->done(fetch->arg, fetch->err, &fetch->info);
    destroy(fetch);
}

/* An object was read. */
static void learn(const struct lookup *lookup, struct json_object *tree, bool unserved)
{
    const struct need *need = lookup->need;
    struct object_cache *cache = lookup->fetch->context->cache;
    struct deps *deps = lookup->fetch->deps;
    if (unserved)
        deps_unserved(deps, need->resource, need->namespace_, need->name);
    else
        deps_read(deps, need->resource, need->namespace_, need->name, tree);
    if (tree)
        cache_learn(cache, need->resource, tree);
    else if (lookup->uid)
        cache_learn_gone(cache, need->resource, need->namespace_, need->name, lookup->uid);
}

static void on_need_object(void *arg, enum err err, struct json_object *tree,
                           const struct errinfo *info)
{
    struct lookup *lookup = arg;
    struct fetch *fetch = lookup->fetch;
    lookup->read = NULL;
    if (kube_status_forbidden(info)) {
        fact_denied(fetch->tick, lookup->need, info->text);
    } else if (err != ERR_OK && err != ERR_NOT_FOUND) {
        fetch->err = err;
        fetch->info = *info;
    } else {
        if (lookup->need->name)
            learn(lookup, tree, err == ERR_NOT_FOUND);
        const struct need *need = lookup->need;
        /* The tick holds its own reference, so that its facts do not change with later writes. */
        if (err == ERR_NOT_FOUND)
            fact_unserved(fetch->tick, need);
        else
            fact_object(fetch->tick, need,
                        tree ? json_own(fetch->tick->arena, json_object_get(tree)) : NULL);
    }
    finish_one(fetch);
}

static void on_need_metric(void *arg, const struct metric_answer *answer)
{
    struct lookup *lookup = arg;
    struct fetch *fetch = lookup->fetch;
    lookup->metric = NULL;
    release_spans_metric(fetch->context->traces, fetch->tick->canary, &lookup->need->metric, answer,
                         clock_monotonic_ms() - lookup->since_ms);
    fact_metric(fetch->tick, lookup->need, *answer);
    finish_one(fetch);
}

static void on_need_hook(void *arg, const struct hook_answer *answer)
{
    struct lookup *lookup = arg;
    struct fetch *fetch = lookup->fetch;
    lookup->hook = NULL;
    const struct canary *canary = fetch->tick->canary;
    int64_t elapsed_ms = clock_monotonic_ms() - lookup->since_ms;
    controller_metrics_hook_seconds((double)elapsed_ms / 1000, answer->passed);
    release_spans_hook(fetch->context->traces, canary,
                       &canary->analysis.webhooks[lookup->need->webhook], answer, elapsed_ms);
    fact_hook(fetch->tick, lookup->need,
              (struct hook_answer){.passed = answer->passed,
                                   .unasked = answer->unasked,
                                   .text = arena_strdup(fetch->tick->arena, answer->text)});
    finish_one(fetch);
}

static struct lookup *lookup_new(struct fetch *fetch, const struct need *need)
{
    struct lookup *lookup = heap_alloc(sizeof(*lookup));
    *lookup = (struct lookup){
        .next = fetch->lookups, .fetch = fetch, .need = need, .since_ms = clock_monotonic_ms()};
    fetch->lookups = lookup;
    fetch->under_way++;
    return lookup;
}

static void read_object(struct lookup *lookup)
{
    const struct need *need = lookup->need;
    struct fetch *fetch = lookup->fetch;
    const struct cached_object *seen;
    if (need->name &&
        cache_get(fetch->context->cache, need->resource, need->namespace_, need->name, &seen) &&
        seen)
        lookup->uid = seen->digest.uid;
    lookup->read = object_read_start(fetch->context, need->resource, need->namespace_, need->name,
                                     need->query, on_need_object, lookup);
}

static enum deps_known find_object(struct fetch *fetch, const struct need *need)
{
    struct json_object *tree;
    enum deps_known known = deps_known(fetch->deps, fetch->context->cache, need->resource,
                                       need->namespace_, need->name, fetch->tick->arena, &tree);
    if (known == DEPS_KNOWN && tree)
        fact_object(fetch->tick, need, tree);
    else if (known == DEPS_KNOWN)
        fact_unseen(fetch->tick, need);
    return known;
}

/* The resource is not watched here: a need that accepts the watched state gets "absent". */
static bool does_without(struct fetch *fetch, const struct need *need)
{
    if (!need->watched || cache_shows(fetch->context->cache, need->resource, need->namespace_))
        return false;
    deps_read(fetch->deps, need->resource, need->namespace_, need->name, NULL);
    fact_object(fetch->tick, need, NULL);
    return true;
}

/* The resource was not served when last read; the watch reports a change. */
static bool is_not_served(struct fetch *fetch, const struct need *need)
{
    return need->name && !need->surely &&
           deps_is_unserved(fetch->deps, fetch->context->cache, need->resource, need->namespace_,
                            need->name);
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

/* Finds the scalers that the watch shows; false if the first list has not arrived yet. */
static bool find_scalers(struct fetch *fetch, const struct need *need, bool patient)
{
    struct object_cache *cache = fetch->context->cache;
    const struct cached_object *seen;
    bool shows = cache_shows(cache, need->resource, need->namespace_);
    struct scalers scalers = {.need = need, .items = json_object_new_array()};

    if (!shows && patient &&
        cache_find(cache, need->resource, need->namespace_, "", &seen) == CACHE_SOON) {
        json_object_put(scalers.items);
        return false;
    }
    struct json_object *list = json_own(fetch->tick->arena, json_object_new_object());
    json_object_object_add(list, "items", scalers.items);
    deps_scalers(fetch->deps, need->resource, need->namespace_, need->scales, !shows);
    cache_scalers(cache, need->resource, need->namespace_, need->scales, add_scaler, &scalers);
    fact_object(fetch->tick, need, list);
    return true;
}

static int64_t patience_ms(const struct fetch *fetch, const struct need *need)
{
    const struct cached_object *seen;
    const char *name = need->name ? need->name : "";
    if (cache_find(fetch->context->cache, need->resource, need->namespace_, name, &seen) ==
        CACHE_SOON)
        return fetch->context->list_patience_ms;
    return FETCH_PATIENCE_MS;
}

static void poll_scalers(void *arg)
{
    struct lookup *lookup = arg;
    struct fetch *fetch = lookup->fetch;
    bool patient = clock_monotonic_ms() - lookup->since_ms < patience_ms(fetch, lookup->need);
    lookup->watch = NULL;
    if (find_scalers(fetch, lookup->need, patient))
        finish_one(fetch);
    else
        lookup->watch = timer_start(fetch->context->loop, FETCH_POLL_MS, 0, poll_scalers, lookup);
}

static void fetch_scalers(struct fetch *fetch, const struct need *need)
{
    cache_add(fetch->context->cache, need->resource);
    if (find_scalers(fetch, need, true))
        return;
    struct lookup *lookup = lookup_new(fetch, need);
    lookup->watch = timer_start(fetch->context->loop, FETCH_POLL_MS, 0, poll_scalers, lookup);
}

static void poll_again(void *arg)
{
    struct lookup *lookup = arg;
    struct fetch *fetch = lookup->fetch;
    const struct need *need = lookup->need;
    enum deps_known known = find_object(fetch, need);
    lookup->watch = NULL;
    if (known == DEPS_KNOWN || (known == DEPS_UNKNOWN && does_without(fetch, need)))
        finish_one(fetch);
    else if (known == DEPS_SOON &&
             clock_monotonic_ms() - lookup->since_ms < patience_ms(fetch, need))
        lookup->watch = timer_start(fetch->context->loop, FETCH_POLL_MS, 0, poll_again, lookup);
    else
        read_object(lookup);
}

/* Answers from the watched state; false if the caller must wait for the object (DEPS_SOON) or read
 * it. */
static bool find_known(struct fetch *fetch, const struct need *need, enum deps_known *known)
{
    *known = DEPS_UNKNOWN;
    /* A list wakes no Canary, and may contain resources that the cluster does not serve. */
    if (need->name && !need->surely) {
        cache_add(fetch->context->cache, need->resource);
        *known = find_object(fetch, need);
    }
    if (*known == DEPS_KNOWN || (*known == DEPS_UNKNOWN && does_without(fetch, need)))
        return true;
    if (*known != DEPS_UNKNOWN || !is_not_served(fetch, need))
        return false;
    fact_unserved(fetch->tick, need);
    return true;
}

static void fetch_object(struct fetch *fetch, const struct need *need)
{
    enum deps_known known;

    if (need->surely && need->name &&
        deps_is_absent(fetch->deps, fetch->context->cache, need->resource, need->namespace_,
                       need->name)) {
        fact_object(fetch->tick, need, NULL);
        return;
    }
    if (find_known(fetch, need, &known))
        return;
    struct lookup *lookup = lookup_new(fetch, need);
    if (known == DEPS_SOON)
        lookup->watch = timer_start(fetch->context->loop, FETCH_POLL_MS, 0, poll_again, lookup);
    else
        read_object(lookup);
}

void fetch_known(struct engine_context *context, struct deps *deps, struct tick *tick,
                 const struct need *need)
{
    struct fetch fetch = {.context = context, .deps = deps, .tick = tick};
    enum deps_known known;

    if (need->scales) {
        cache_add(context->cache, need->resource);
        (void)find_scalers(&fetch, need, true);
    } else {
        (void)find_known(&fetch, need, &known);
    }
}

static void fetch_metric(struct fetch *fetch, const struct need *need)
{
    struct lookup *lookup = lookup_new(fetch, need);
    struct metric_answer at_once;
    lookup->metric = metric_share_ask(fetch->context->metrics, fetch->tick->arena, &need->metric,
                                      fetch->tick->now_ms, tick_interval_ms(fetch->tick),
                                      on_need_metric, lookup, &at_once);
    if (lookup->metric)
        return;
    fetch->under_way--; /* answered at once: the lookup stays in the list, done is not called */
    fact_metric(fetch->tick, need, at_once);
}

static void fetch_hook(struct fetch *fetch, const struct need *need)
{
    const struct canary *canary = fetch->tick->canary;
    const struct canary_webhook *webhook = &canary->analysis.webhooks[need->webhook];
    struct lookup *lookup = lookup_new(fetch, need);
    const char *body = hook_body(fetch->tick->arena, canary, webhook, need->phase, need->checksum);
    lookup->hook =
        hook_call_start(fetch->context, canary->namespace_, webhook, body, on_need_hook, lookup);
}

struct fetch *fetch_start(struct engine_context *context, struct deps *deps, struct tick *tick,
                          fetch_done_fn done, void *arg)
{
    struct fetch *fetch = heap_alloc(sizeof(*fetch));
    *fetch =
        (struct fetch){.context = context, .deps = deps, .tick = tick, .done = done, .arg = arg};
    const struct need *first_hook = NULL;
    bool peers = false;
    for (const struct need *need = tick->needs; need; need = need->next) {
        if (need->kind == NEED_HOOK) {
            first_hook = first_hook ? first_hook : need;
            continue;
        }
        peers = true;
        if (need->kind == NEED_OBJECT && need->last)
            fact_object(tick, need,
                        cache_last(context->cache, need->resource, need->namespace_, need->name,
                                   tick->arena));
        else if (need->kind == NEED_OBJECT && need->scales)
            fetch_scalers(fetch, need);
        else if (need->kind == NEED_OBJECT)
            fetch_object(fetch, need);
        else
            fetch_metric(fetch, need);
    }
    if (!peers && first_hook)
        fetch_hook(fetch, first_hook);
    if (fetch->under_way > 0)
        return fetch;
    destroy(fetch);
    return NULL;
}

bool fetch_waits_long(const struct fetch *fetch)
{
    for (const struct lookup *lookup = fetch->lookups; lookup; lookup = lookup->next)
        if (lookup->hook || lookup->metric || lookup->watch)
            return true;
    return false;
}

void fetch_free(struct fetch *fetch)
{
    if (!fetch)
        return;
    fetch->freed = true;
    int silent = 1; /* guards the list while this loop runs */
    fetch->under_way++;
    for (struct lookup *lookup = fetch->lookups; lookup; lookup = lookup->next) {
        if (lookup->read) {
            object_read_free(lookup->read);
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
    fetch->under_way -= silent;
    if (fetch->under_way == 0)
        destroy(fetch);
}

static struct fetch_item ask_of(const struct lookup *lookup)
{
    const struct need *need = lookup->need;
    struct fetch_item ask = {.kind = need->kind, .since_ms = lookup->since_ms};

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
            &lookup->fetch->tick->canary->analysis.webhooks[need->webhook];
        ask.name = webhook->name;
        ask.url = webhook->url;
        ask.attempts = hook_call_attempts(lookup->hook);
        break;
    }
    }
    return ask;
}

void fetch_each(const struct fetch *fetch, void (*fn)(void *arg, const struct fetch_item *ask),
                void *arg)
{
    for (const struct lookup *lookup = fetch->lookups; lookup; lookup = lookup->next) {
        if (!lookup->read && !lookup->watch && !lookup->metric && !lookup->hook)
            continue;
        struct fetch_item ask = ask_of(lookup);
        fn(arg, &ask);
    }
}
