#include "tick/tick.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "tick/fact.h"
#include "tick/plan.h"

const struct kube_resource tick_canaries = {
    .group = "flagger.app", .version = "v1beta1", .plural = "canaries", .kind = "Canary"};
const struct kube_resource tick_requests = {.group = "flagger.app",
                                            .version = "v1alpha1",
                                            .plural = "releaserequests",
                                            .kind = "ReleaseRequest"};

static const char *const default_labels[] = {"app", "name", "app.kubernetes.io/name", NULL};
static const char *const no_prefixes[] = {NULL};

const struct settings settings_default = {.mesh_provider = SETTINGS_MESH_PROVIDER,
                                          .metrics_server = SETTINGS_METRICS_SERVER,
                                          .selector_labels = default_labels,
                                          .include_label_prefixes = no_prefixes,
                                          .cluster_name = "",
                                          .config_tracking = true,
                                          .min_analysis_interval_ms = 10000};

/* A fact of this tick, by the key of its need. */
struct fact {
    struct fact *next;
    enum need_kind kind;
    const char *key;
    bool used;
    bool unseen; /* it does not exist, according to its watch */
    struct json_object *object;
    const struct kube_resource *unserved; /* NULL: it is served */
    const char *denied;                   /* NULL: it may be read */
    struct metric_answer metric;
    struct hook_answer hook;
    int webhook; /* the webhook that answered */
};

struct tick *tick_new(struct arena *arena, const struct canary *canary,
                      const struct settings *settings, int64_t now_ms, bool due)
{
    struct tick *tick = ARENA_NEW(arena, struct tick);

    *tick = (struct tick){
        .arena = arena,
        .now_ms = now_ms,
        .settings = settings,
        .due = due,
    };
    tick_see(tick, canary);
    tick_reset(tick);
    return tick;
}

void tick_see(struct tick *tick, const struct canary *canary)
{
    tick->live = canary;
    tick_follow(tick, canary);
}

void tick_follow(struct tick *tick, const struct canary *canary)
{
    tick->canary = canary;
    tick->provider = canary->provider ? canary->provider : tick->settings->mesh_provider;
    tick->kind = canary->target.kind;
}

void tick_reset(struct tick *tick)
{
    tick_follow(tick, tick->live);
    tick->needs = NULL;
    tick->budget = NULL;
    tick->route_port = tick->apex_port = 0;
    tick->route_target_port = NULL;
    tick->broken = tick->denied = NULL;
    tick->plan = ARENA_NEW(tick->arena, struct plan);
    tick->plan->last = &tick->plan->first;
}

int tick_route_port(const struct tick *tick)
{
    return tick->route_port > 0 ? tick->route_port : tick->canary->service.port;
}

int64_t tick_route_target_port(const struct tick *tick)
{
    struct json_object *given =
        tick->route_port > 0 ? tick->route_target_port : tick->canary->service.target_port;
    int64_t port;

    return json_to_int(given, &port) && port > 0 ? port : tick_route_port(tick);
}

int tick_apex_port(const struct tick *tick)
{
    return tick->apex_port > 0 ? tick->apex_port : tick->canary->service.port;
}

enum rule_result tick_broken(struct tick *tick, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!tick->broken)
        tick->broken = arena_vprintf(tick->arena, fmt, args);
    va_end(args);
    return RULE_DONE;
}

int64_t tick_canary_interval_ms(const struct canary *canary, const struct settings *settings)
{
    int64_t least = settings->min_analysis_interval_ms;

    return canary->deleting || canary->analysis.interval_ms < least ? least
                                                                    : canary->analysis.interval_ms;
}

int64_t tick_interval_ms(const struct tick *tick)
{
    return tick_canary_interval_ms(tick->canary, tick->settings);
}

enum { CLOCK_SLACK_MS = 60 * 1000 };

bool tick_is_ahead(const struct tick *tick, int64_t ms)
{
    return ms > tick->now_ms + CLOCK_SLACK_MS;
}

int64_t tick_since(const struct tick *tick, int64_t since_ms)
{
    if (tick_is_ahead(tick, since_ms))
        return tick->stepped_at_ms > 0 ? tick->stepped_at_ms : tick->now_ms;
    return since_ms < tick->stepped_at_ms ? tick->stepped_at_ms : since_ms;
}

int64_t tick_deadline_ms(const struct tick *tick)
{
    return tick->canary->progress_deadline_s * (int64_t)1000;
}

bool tick_deadline_passed(const struct tick *tick, int64_t since_ms)
{
    return since_ms + tick_deadline_ms(tick) <= tick->now_ms;
}

bool tick_is_overdue(const struct tick *tick, int64_t since_ms)
{
    return tick_since(tick, since_ms) + tick_deadline_ms(tick) < tick->now_ms;
}

bool tick_was_stepped(const struct tick *tick)
{
    return tick->stepped_at_ms > 0 && !tick_is_overdue(tick, tick->stepped_at_ms);
}

static struct fact *find_fact(const struct tick *tick, const char *key)
{
    for (struct fact *fact = tick->facts; fact; fact = fact->next) {
        if (strcmp(fact->key, key) == 0)
            return fact;
    }
    return NULL;
}

bool fact_is_used(const struct tick *tick, const char *key)
{
    const struct fact *fact = find_fact(tick, key);

    return fact && fact->used;
}

/* Appends a need; a need repeated before it is fetched is recorded once. */
static struct need *record_need(struct tick *tick, enum need_kind kind, const char *key)
{
    struct need **last = &tick->needs;

    for (; *last; last = &(*last)->next) {
        if (strcmp((*last)->key, key) == 0)
            return *last;
    }
    *last = ARENA_NEW(tick->arena, struct need);
    (*last)->kind = kind;
    (*last)->key = key;
    return *last;
}

/* name NULL: the key of the list of all objects. */
static const char *object_key(const struct tick *tick, const struct kube_resource *resource,
                              const char *scope, const char *name)
{
    return arena_printf(tick->arena, "object%s %s/%s/%s %s/%s", name ? "" : "s", resource->group,
                        resource->version, resource->plural, scope, name ? name : "");
}

static const char *scope_of(const struct kube_resource *resource, const char *namespace_)
{
    return resource->cluster_scoped ? "" : namespace_;
}

static struct need *record_object(struct tick *tick, const char *key,
                                  const struct kube_resource *resource, const char *scope,
                                  const char *name)
{
    struct need *need = record_need(tick, NEED_OBJECT, key);

    need->resource = resource;
    need->namespace_ = scope;
    need->name = name;
    return need;
}

/* The fact, if it is known or can be obtained at once; otherwise NULL. */
static struct fact *obtain_fact(struct tick *tick, const struct need *need)
{
    struct fact *fact = find_fact(tick, need->key);

    if (fact || !tick->answer)
        return fact;
    tick->answer(tick->answer_arg, tick, need);
    return find_fact(tick, need->key);
}

static bool take_object(struct tick *tick, struct fact *fact, struct json_object **out,
                        const char **denied)
{
    fact->used = true;
    *out = fact->object;
    if (denied)
        *denied = fact->denied;
    else if (fact->denied)
        tick->denied = fact->denied;
    return denied || !fact->denied;
}

/*
 * name NULL: a list, as the object with the items. denied: receives the reason why it may not be
 * read, for a tick that can do without it; NULL if it must be readable.
 */
static bool need_from_api(struct tick *tick, const struct kube_resource *resource,
                          const char *namespace_, const char *name, bool watched,
                          struct json_object **out, const char **denied)
{
    const struct need need = {.kind = NEED_OBJECT,
                              .key =
                                  object_key(tick, resource, scope_of(resource, namespace_), name),
                              .resource = resource,
                              .namespace_ = scope_of(resource, namespace_),
                              .name = name,
                              .watched = watched};
    struct fact *fact = name ? obtain_fact(tick, &need) : find_fact(tick, need.key);

    *out = NULL;
    if (fact)
        return take_object(tick, fact, out, denied);
    record_object(tick, need.key, resource, need.namespace_, name)->watched = watched;
    return false;
}

bool need_object(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                 const char *name, struct json_object **out)
{
    return need_from_api(tick, resource, namespace_, name, false, out, NULL);
}

bool need_object_surely(struct tick *tick, const struct kube_resource *resource,
                        const char *namespace_, const char *name, struct json_object **out)
{
    if (!need_object(tick, resource, namespace_, name, out))
        return false;
    const char *scope = scope_of(resource, namespace_);
    const char *key = object_key(tick, resource, scope, name);
    if (!find_fact(tick, key)->unseen)
        return true;
    record_object(tick, key, resource, scope, name)->surely = true;
    return false;
}

bool need_last_seen(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                    const char *name, struct json_object **out)
{
    const char *key =
        arena_printf(tick->arena, "last %s", object_key(tick, resource, namespace_, name));
    const struct fact *fact = find_fact(tick, key);

    *out = fact ? fact->object : NULL;
    if (!fact)
        record_object(tick, key, resource, namespace_, name)->last = true;
    return fact != NULL;
}

bool need_object_if_allowed(struct tick *tick, const struct kube_resource *resource,
                            const char *namespace_, const char *name, struct json_object **out,
                            const char **denied)
{
    return need_from_api(tick, resource, namespace_, name, false, out, denied);
}

bool need_object_once(struct tick *tick, const struct kube_resource *resource,
                      const char *namespace_, const char *name, struct json_object **out,
                      const char **denied)
{
    const char *scope = scope_of(resource, namespace_);
    const char *key = object_key(tick, resource, scope, name);
    struct fact *fact = find_fact(tick, key);

    *out = NULL;
    if (fact)
        return take_object(tick, fact, out, denied);
    record_object(tick, key, resource, scope, name)->surely = true;
    return false;
}

bool need_object_if_watched(struct tick *tick, const struct kube_resource *resource,
                            const char *namespace_, const char *name, struct json_object **out)
{
    const char *denied;

    return need_from_api(tick, resource, namespace_, name, true, out, &denied);
}

static bool need_list(struct tick *tick, const struct kube_resource *resource,
                      const char *namespace_, struct json_object **out, const char **denied)
{
    bool known = need_from_api(tick, resource, namespace_, NULL, false, out, denied);

    *out = json_at(*out, "items", NULL);
    return known;
}

bool need_objects(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  struct json_object **out)
{
    return need_list(tick, resource, namespace_, out, NULL);
}

bool need_objects_if_allowed(struct tick *tick, const struct kube_resource *resource,
                             const char *namespace_, struct json_object **out, const char **denied)
{
    return need_list(tick, resource, namespace_, out, denied);
}

bool need_selected(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                   struct json_object *labels, struct json_object **out)
{
    const char *query = "";
    const struct fact *fact;

    json_object_object_foreach(labels, key, value)
    {
        query = arena_printf(tick->arena, "%s%s%s%%3D%s", query,
                             *query ? "," : "labelSelector=", key, json_object_get_string(value));
    }
    const char *name = arena_printf(tick->arena, "%s with %s",
                                    object_key(tick, resource, namespace_, NULL), query);
    fact = find_fact(tick, name);
    *out = fact ? json_at(fact->object, "items", NULL) : NULL;
    if (!fact)
        record_object(tick, name, resource, namespace_, NULL)->query = query;
    return fact != NULL;
}

bool need_scalers(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  const char *kind, const char *name, struct json_object **out)
{
    const char *scales = arena_printf(tick->arena, "%s/%s", kind, name);
    const char *key = arena_printf(tick->arena, "%s scales %s",
                                   object_key(tick, resource, namespace_, NULL), scales);
    const struct need need = {.kind = NEED_OBJECT,
                              .key = key,
                              .resource = resource,
                              .namespace_ = namespace_,
                              .scales = scales,
                              .watched = true};
    const struct fact *fact = obtain_fact(tick, &need);

    *out = fact ? json_at(fact->object, "items", NULL) : NULL;
    if (fact)
        return true;
    struct need *recorded = record_object(tick, key, resource, namespace_, NULL);
    recorded->scales = scales;
    recorded->watched = true;
    return false;
}

bool need_copies(struct tick *tick, const struct kube_resource *resource, struct json_object **out)
{
    return need_scalers(tick, resource, tick->canary->namespace_, tick_canaries.kind,
                        tick->canary->name, out);
}

bool need_labelled(struct tick *tick, const struct kube_resource *resource, const char *key,
                   const char *value, struct json_object **out)
{
    return need_scalers(tick, resource, tick->canary->namespace_, TICK_LABELLED,
                        arena_printf(tick->arena, "%s=%s", key, value), out);
}

/* Many metrics may have one provider, whose text may be long. */
static const char *provider_text(struct tick *tick, struct json_object *provider)
{
    if (!provider)
        return "";
    if (provider != tick->asked_provider)
        tick->asked_text = json_text_sorted(tick->arena, provider);
    tick->asked_provider = provider;
    return tick->asked_text;
}

/* Contains every part of the request, so that two different queries never share an answer. */
static const char *metric_key(struct tick *tick, const struct metric_question *question)
{
    struct arena *arena = tick->arena;
    const char *spec = provider_text(tick, question->spec);
    const char *secret = json_str_at(question->secret, "metadata", "name", NULL);

    return arena_printf(
        arena, "metric %s %s %s %lld %lld %d %lld %g %d %s %s %s %s\n%s\n%s", question->id,
        question->backend ? question->backend : "", question->address ? question->address : "",
        (long long)question->interval_ms, (long long)question->at_s, question->times,
        (long long)question->every_s, question->bucket, question->histogram, secret ? secret : "",
        spec, question->only_namespace ? question->only_namespace : "",
        question->query ? question->query : "(probe)", question->path ? question->path : "",
        question->body ? question->body : "");
}

bool need_metric(struct tick *tick, const struct metric_question *question,
                 const struct metric_answer **out)
{
    *out = NULL;
    if (arena_used(tick->arena) > TICK_MOST)
        return false;
    const char *key = metric_key(tick, question);
    const struct fact *fact = find_fact(tick, key);

    if (fact) {
        *out = &fact->metric;
        return true;
    }
    struct need *need = record_need(tick, NEED_METRIC, key);
    need->metric = *question;
    need->metric.owner = tick->canary->namespace_;
    return false;
}

bool need_hook(struct tick *tick, int webhook_index, enum phase phase, const char *checksum,
               const struct hook_answer **out)
{
    *out = NULL;
    if (webhook_index < 0 || webhook_index >= tick->canary->analysis.n_webhooks) {
        tick_broken(tick, "webhook %d of %d is asked", webhook_index,
                    tick->canary->analysis.n_webhooks);
        return false;
    }
    const char *key = arena_printf(tick->arena, "hook %d about %s", webhook_index, checksum);
    const struct fact *fact = find_fact(tick, key);

    if (fact) {
        *out = &fact->hook;
        return true;
    }
    struct need *need = record_need(tick, NEED_HOOK, key);
    need->webhook = webhook_index;
    need->phase = phase;
    need->checksum = checksum;
    return false;
}

static struct fact *fact_of(struct tick *tick, const char *key, enum need_kind kind)
{
    struct fact *fact = find_fact(tick, key);

    if (!fact) {
        fact = ARENA_NEW(tick->arena, struct fact);
        *fact = (struct fact){.next = tick->facts, .kind = kind, .key = key};
        tick->facts = fact;
    }
    return fact;
}

static struct fact *learn(struct tick *tick, const struct need *need, enum need_kind kind)
{
    assert(need->kind == kind);
    return fact_of(tick, need->key, kind);
}

void fact_object(struct tick *tick, const struct need *need, struct json_object *object)
{
    struct fact *fact = learn(tick, need, NEED_OBJECT);

    fact->object = object;
    fact->unseen = false;
    fact->unserved = NULL;
    fact->denied = NULL;
}

void fact_unseen(struct tick *tick, const struct need *need)
{
    fact_object(tick, need, NULL);
    learn(tick, need, NEED_OBJECT)->unseen = true;
}

void fact_replace(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  const char *name, struct json_object *object)
{
    struct fact *fact = fact_of(
        tick, object_key(tick, resource, scope_of(resource, namespace_), name), NEED_OBJECT);
    fact->object = object;
    fact->unseen = false;
}

void fact_unserved(struct tick *tick, const struct need *need)
{
    fact_object(tick, need, NULL);
    learn(tick, need, NEED_OBJECT)->unserved = need->resource;
}

void fact_denied(struct tick *tick, const struct need *need, const char *sentence)
{
    fact_object(tick, need, NULL);
    learn(tick, need, NEED_OBJECT)->denied = arena_strdup(tick->arena, sentence);
}

bool tick_is_unserved(const struct tick *tick, const struct kube_resource *resource)
{
    for (const struct fact *fact = tick->facts; fact; fact = fact->next) {
        if (fact->unserved && kube_resource_same(fact->unserved, resource))
            return true;
    }
    return false;
}

void fact_metric(struct tick *tick, const struct need *need, struct metric_answer answer)
{
    learn(tick, need, NEED_METRIC)->metric = answer;
}

void fact_hook(struct tick *tick, const struct need *need, struct hook_answer answer)
{
    struct fact *fact = learn(tick, need, NEED_HOOK);

    fact->hook = answer;
    fact->webhook = need->webhook;
}

const struct hook_answer *tick_hook_answer(const struct tick *tick, int webhook_index)
{
    for (const struct fact *fact = tick->facts; fact; fact = fact->next) {
        if (fact->kind == NEED_HOOK && fact->webhook == webhook_index)
            return &fact->hook;
    }
    return NULL;
}

void facts_forget(struct tick *tick, enum need_kind kind)
{
    struct fact **at = &tick->facts;

    while (*at) {
        if ((*at)->kind == kind)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
}

static bool answer_all(struct tick *tick, tick_answer_fn answer, void *arg)
{
    const struct fact *last = tick->facts;

    for (const struct need *need = tick->needs; need; need = need->next)
        answer(arg, tick, need);
    return tick->facts != last;
}

enum rule_result tick_solve(struct tick *tick, tick_rule_fn rule, tick_answer_fn answer, void *arg)
{
    for (int round = 0; round < TICK_MAX_ROUNDS; round++) {
        tick_reset(tick);
        enum rule_result verdict = rule(arg, tick);
        if (verdict != RULE_NEEDS_FACTS || tick->broken || !answer_all(tick, answer, arg))
            return verdict;
    }
    return RULE_NEEDS_FACTS;
}
