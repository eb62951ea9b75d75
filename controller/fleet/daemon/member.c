#include "fleet/daemon/member.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/select.h"
#include "kube/rate_limit.h"

enum { TRY_MAX_MS = 60000, PROBE_MS = 5000 };

static const struct machine_state states[] = {
    [MEMBER_NEW] = {.name = "new", .next = 1u << MEMBER_READING | 1u << MEMBER_CONNECTING},
    [MEMBER_READING] = {.name = "reading",
                        .next = 1u << MEMBER_BARRED | 1u << MEMBER_CONNECTING |
                                1u << MEMBER_REACHED | 1u << MEMBER_UNREACHABLE},
    [MEMBER_BARRED] = {.name = "barred", .next = 1u << MEMBER_READING},
    [MEMBER_CONNECTING] = {.name = "connecting",
                           .next = 1u << MEMBER_REACHED | 1u << MEMBER_UNREACHABLE |
                                   1u << MEMBER_READING},
    [MEMBER_REACHED] = {.name = "reached", .next = 1u << MEMBER_UNREACHABLE | 1u << MEMBER_READING},
    [MEMBER_UNREACHABLE] = {.name = "unreachable",
                            .next = 1u << MEMBER_REACHED | 1u << MEMBER_READING},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "fleet_member",
                                       .level = LOG_INFO};

/* The kinds watched on a member, as bits of `needs`. */
static const struct kube_resource *const needed[] = {
    &fleet_namespaces, &kube_services, &kube_deployments, &fleet_templates, &fleet_ingresses};
enum { NEEDED = sizeof(needed) / sizeof(needed[0]) };

const char *member_state_name(enum member_state state)
{
    return machine_name(&machine, (int)state);
}

static bool is_own(const struct member *member)
{
    return !*member->access;
}

static void set_why(struct member *member, const char *why)
{
    char *copy = heap_strdup(why);

    free(member->why);
    member->why = copy;
}

static void member_set_state(struct member *member, enum member_state state, const char *why,
                             bool anew)
{
    machine_step(&machine, member->state, state, NULL, why ? why : "a cluster of the fleet",
                 LOG_STR("namespace", member->namespace_),
                 LOG_STR("secret", is_own(member) ? FLEET_HOST : member->access));
    member->state = state;
    set_why(member, why);
    member->owner->turned(member->owner->arg, member, anew);
}

/* --- the connection */

static void stop_trying(struct member *member)
{
    tracked_free(member->ask);
    member->ask = NULL;
    timer_stop(member->timer);
    member->timer = NULL;
}

/* The owner must have nothing under way there; `turned` is called first to end it. */
static void disconnect(struct member *member)
{
    claim_free(member->claim);
    member_cache_free(member->cache);
    if (!is_own(member))
        kube_client_free(member->kube);
    arena_free(member->arena);
    member->claim = NULL;
    member->cache = NULL;
    member->kube = NULL;
    member->arena = NULL;
    member->doubted_ms = 0;
}

static void on_changed(void *arg, const struct kube_resource *resource,
                       const struct member_object *before, const struct member_object *after)
{
    struct member *member = arg;

    member->owner->changed(member->owner->arg, member, resource, before, after);
}

static bool wants(void *arg, const struct kube_resource *resource, const char *namespace_,
                  const char *name)
{
    struct member *member = arg;

    return member->owner->wants(member->owner->arg, member, resource, namespace_, name);
}

static void on_settled(void *arg)
{
    struct member *member = arg;

    member->owner->settled(member->owner->arg, member);
}

static void open_cache(struct member *member)
{
    const struct member_cache_owner owner = {
        .changed = on_changed, .wants = wants, .settled = on_settled, .arg = member};

    member->cache = member_cache_new(member->context, member->kube, &owner);
    for (size_t i = 0; i < NEEDED; i++)
        if (member->needs & 1u << i)
            member_cache_need(member->cache, needed[i]);
    member->claim =
        claim_new(member->context, member->kube, is_own(member) ? FLEET_HOST : member->access);
}

static void probe(void *arg);

/* A list may take a minute to time out; a probe sooner detects a cluster that does not respond. */
static void connect_cache(struct member *member)
{
    open_cache(member);
    member_set_state(member, MEMBER_CONNECTING, NULL, true);
    member->timer = timer_start(member->context->loop, PROBE_MS, 0, probe, member);
}

/* config is in the member's arena. */
static void connect_to(struct member *member, const struct kube_config *config)
{
    const struct members_settings *settings = member->context->settings;
    const char *owner = arena_printf(member->arena, "%s/%s", member->namespace_, member->access);
    const struct kube_client_options options = {.qps = settings->qps,
                                                .burst = settings->burst,
                                                .user_agent = settings->agent,
                                                .owner = owner,
                                                .one_pool = true};

    member->kube = kube_client_new(member->context->loop, member->context->api, config, &options);
    connect_cache(member);
}

/* --- the Secret */

static void read_secret(void *arg);

static void try_later(struct member *member, timer_fn fn)
{
    timer_stop(member->timer);
    member->timer =
        timer_start(member->context->loop, backoff_next(&member->backoff, 0), 0, fn, member);
}

/* Restores the state: the Secret has not changed. */
static void go_on(struct member *member, const char *why)
{
    member_set_state(member, why ? MEMBER_UNREACHABLE : MEMBER_REACHED, why, false);
}

static void bar(struct member *member, const char *why, bool lost)
{
    member->lost = lost;
    member->text_hash = 0;
    bool was_connected = member->kube != NULL;
    member_set_state(member, MEMBER_BARRED, why, was_connected);
    disconnect(member);
}

static void take_secret(struct member *member, struct json_object *secret)
{
    const char *slash = strchr(member->access, '/');
    struct arena *arena = arena_new();
    struct kube_config *config = ARENA_NEW(arena, struct kube_config);
    struct errinfo ei = {0};
    const char *text;

    if (fleet_kubeconfig(arena, secret, slash ? slash + 1 : NULL, &text, config, &ei) != ERR_OK) {
        arena_free(arena);
        bar(member, ei.text, false);
        return;
    }
    uint64_t hash = name_hash(text, NULL);
    if (member->kube && hash == member->text_hash) {
        arena_free(arena);
        go_on(member,
              member_cache_synced(member->cache) ? NULL : "its Canaries have not been listed yet");
        return;
    }
    if (member->kube) {
        log_info("fleet_kubeconfig_changed", NULL, "another kubeconfig is used from now on",
                 LOG_STR("namespace", member->namespace_), LOG_STR("secret", member->access));
        member->owner->turned(member->owner->arg, member, true);
    }
    disconnect(member);
    member->arena = arena;
    member->text_hash = hash;
    connect_to(member, config);
}

static void on_secret(void *arg, const struct kube_result *result)
{
    struct member *member = arg;

    member->ask = NULL;
    member->lost = false;
    if (result->err == ERR_OK) {
        backoff_reset(&member->backoff);
        take_secret(member, result->body);
    } else if (result->err == ERR_NOT_FOUND) {
        struct errinfo ei = {0};
        err_set(&ei, ERR_NOT_FOUND, "Secret %.63s/%.253s with its kubeconfig does not exist",
                member->namespace_, member->access);
        bar(member, ei.text, true);
    } else {
        set_why(member, result->info->text);
        try_later(member, read_secret);
    }
}

static void read_secret(void *arg)
{
    struct member *member = arg;
    char name[256] = "";
    size_t len = strcspn(member->access, "/");
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = &kube_secrets,
                                   .namespace_ = member->namespace_,
                                   .name = name};

    if (len < sizeof(name))
        memcpy(name, member->access, len);
    stop_trying(member);
    if (member->state != MEMBER_READING)
        member_set_state(member, MEMBER_READING, NULL, false);
    member->ask = tracked_send(member->context, member->context->kube, &request, on_secret, member);
}

void member_look_again(struct member *member)
{
    if (!is_own(member))
        read_secret(member);
}

/* --- reachability */

static void on_probed(void *arg, const struct kube_result *result)
{
    struct member *member = arg;

    member->ask = NULL;
    if (result->err == ERR_RETRY) {
        if (member->state == MEMBER_CONNECTING)
            member_set_state(member, MEMBER_UNREACHABLE, result->info->text, false);
        else
            set_why(member, result->info->text);
        try_later(member, probe);
        return;
    }
    /* Any response is enough: the watches find out the rest. */
    member->doubted_ms = 0;
    backoff_reset(&member->backoff);
    member_check(member);
}

static void probe(void *arg)
{
    struct member *member = arg;
    const struct kube_request request = {
        .verb = KUBE_GET, .raw_path = "/version", .timeout_ms = PROBE_MS};

    member->timer = NULL;
    if (member->state == MEMBER_REACHED)
        return;
    member->ask = tracked_send(member->context, member->kube, &request, on_probed, member);
}

/* Records the wall clock of the last watch event. */
static void note_contact(struct member *member)
{
    int64_t heard = member_cache_heard_ms(member->cache);

    if (heard > 0)
        member->heard_ms = clock_wall_ms() - (clock_monotonic_ms() - heard);
}

void member_doubt(struct member *member, const char *text)
{
    if (member->state != MEMBER_REACHED)
        return;
    member->doubted_ms = clock_monotonic_ms();
    note_contact(member);
    member_set_state(member, MEMBER_UNREACHABLE, text, false);
    if (!member->ask && !member->timer)
        try_later(member, probe);
}

void member_check(struct member *member)
{
    if (!member->cache || member->state < MEMBER_CONNECTING)
        return;
    bool missing;
    const char *trouble = member_cache_trouble(member->cache, &missing);
    if (missing)
        trouble = "serves no Canaries: their CRD is not installed";
    if (!trouble && member->doubted_ms > 0)
        trouble = member->why;
    if (!trouble && member_cache_synced(member->cache)) {
        if (member->state != MEMBER_REACHED)
            member_set_state(member, MEMBER_REACHED, NULL, false);
    } else if (trouble && member->state != MEMBER_UNREACHABLE) {
        note_contact(member);
        member_set_state(member, MEMBER_UNREACHABLE, trouble, false);
    }
}

bool member_is_reached(const struct member *member)
{
    return member->state == MEMBER_REACHED;
}

void member_need(struct member *member, const struct kube_resource *resource)
{
    for (size_t i = 0; i < NEEDED; i++)
        if (needed[i] == resource)
            member->needs |= 1u << i;
    if (member->cache)
        member_cache_need(member->cache, resource);
}

/* --- life */

static void begin(void *arg)
{
    struct member *member = arg;

    member->timer = NULL;
    if (is_own(member)) {
        member->kube = member->context->kube;
        connect_cache(member);
    } else {
        read_secret(member);
    }
}

struct member *member_new(struct members_context *context, const struct member_owner *owner,
                          const char *namespace_, const char *access)
{
    struct member *member = heap_alloc(sizeof(*member));

    *member =
        (struct member){.context = context,
                        .owner = owner,
                        .namespace_ = heap_strdup(namespace_),
                        .access = heap_strdup(access),
                        .backoff = {.min_ms = members_retry_ms(context), .max_ms = TRY_MAX_MS}};
    TAILQ_INIT(&member->places);
    TAILQ_INIT(&member->waiting);
    member->timer = timer_start(context->loop, 0, 0, begin, member);
    return member;
}

void member_free(struct member *member)
{
    if (!member)
        return;
    stop_trying(member);
    disconnect(member);
    free(member->why);
    free(member->namespace_);
    free(member->access);
    free(member);
}

/* --- the claim */

/* How long a check is valid: concurrent writes share one check. */
enum { FRESH_MS = 10000 };

enum claim_state { CLAIM_UNKNOWN, CLAIM_LOOKING, CLAIM_TAKING, CLAIM_OURS, CLAIM_THEIRS };

struct claim {
    struct members_context *context;
    struct kube_client *kube;
    char *name;
    enum claim_state state;
    int64_t looked_ms; /* monotonic */
    struct tracked_request *ask;
    unsigned round; /* round of the waiters for the check under way */
    TAILQ_HEAD(, claim_wait) waits;
};

static const struct machine_state claim_states[] = {
    [CLAIM_UNKNOWN] = {.name = "unknown", .next = 1u << CLAIM_LOOKING},
    [CLAIM_LOOKING] = {.name = "looking",
                       .next = 1u << CLAIM_UNKNOWN | 1u << CLAIM_TAKING | 1u << CLAIM_OURS |
                               1u << CLAIM_THEIRS},
    [CLAIM_TAKING] = {.name = "taking",
                      .next = 1u << CLAIM_UNKNOWN | 1u << CLAIM_LOOKING | 1u << CLAIM_OURS},
    [CLAIM_OURS] = {.name = "ours", .next = 1u << CLAIM_LOOKING},
    [CLAIM_THEIRS] = {.name = "theirs", .next = 1u << CLAIM_LOOKING},
};
static const struct machine claim_machine = {MACHINE_STATES(claim_states), .event = "fleet_claim"};

static void claim_set_state(struct claim *claim, enum claim_state state)
{
    machine_step(&claim_machine, claim->state, state, NULL, "the claim of a cluster",
                 LOG_STR("cluster", claim->name));
    claim->state = state;
}

/* Callbacks may add waiters or remove others. */
static void tell(struct claim *claim, enum claim_state state, enum err err,
                 const struct errinfo *info)
{
    struct claim_wait *wait;
    unsigned round = claim->round++;

    claim_set_state(claim, state);
    while ((wait = TAILQ_FIRST(&claim->waits)) && wait->round == round) {
        claim_leave(claim, wait);
        wait->done(wait->arg, err, info);
    }
}

static struct kube_request request_of(const struct claim *claim, enum kube_verb verb)
{
    return (struct kube_request){.verb = verb,
                                 .resource = &kube_leases,
                                 .namespace_ = claim->context->settings->claim_namespace,
                                 .name = CLAIM_NAME};
}

static void look(struct claim *claim);

static void on_taken(void *arg, const struct kube_result *result)
{
    struct claim *claim = arg;

    claim->ask = NULL;
    if (result->err == ERR_CONFLICT) { /* another fleet was faster */
        look(claim);
        return;
    }
    if (result->err != ERR_OK) {
        tell(claim, CLAIM_UNKNOWN, result->err, result->info);
        return;
    }
    claim->looked_ms = clock_monotonic_ms();
    log_info("fleet_claimed", NULL, "the cluster is this fleet's now",
             LOG_STR("cluster", claim->name));
    tell(claim, CLAIM_OURS, ERR_OK, result->info);
}

/* version: that of a Lease without a holder; NULL if there is no Lease. */
static void take(struct claim *claim, const char *version)
{
    struct arena *arena = arena_new();
    struct json_object *body = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_sub(body, "metadata"), *spec = json_sub(body, "spec");
    struct kube_request request = request_of(claim, version ? KUBE_MERGE_PATCH : KUBE_CREATE);
    char now[CLOCK_TEXT];

    if (version) {
        json_set_str(metadata, "resourceVersion", version);
    } else {
        json_set_str(body, "apiVersion", kube_api_version(arena, &kube_leases));
        json_set_str(body, "kind", kube_leases.kind);
        json_set_str(metadata, "namespace", request.namespace_);
        json_set_str(metadata, "name", request.name);
        request.name = NULL;
    }
    json_set_str(json_sub(metadata, "annotations"), CLAIM_NOTE, claim->context->settings->name);
    json_set_str(spec, "holderIdentity", claim->context->identity);
    json_set_str(spec, "acquireTime", clock_rfc3339_micro(clock_wall_ms(), now));
    request.body = body;
    claim_set_state(claim, CLAIM_TAKING);
    claim->ask = tracked_send(claim->context, claim->kube, &request, on_taken, claim);
    arena_free(arena);
}

static void tell_theirs(struct claim *claim, struct json_object *lease, const char *holder)
{
    const char *note = json_str_at(lease, "metadata", "annotations", CLAIM_NOTE, NULL);
    struct errinfo info = {0};

    err_set(
        &info, ERR_DENIED,
        "the cluster belongs to another fleet, of the management cluster %.100s (%.60s): nothing "
        "is written to it; who removes the Lease %.63s/" CLAIM_NAME " there hands it over",
        note ? note : "without a name", holder, claim->context->settings->claim_namespace);
    tell(claim, CLAIM_THEIRS, ERR_DENIED, &info);
}

static void on_looked(void *arg, const struct kube_result *result)
{
    struct claim *claim = arg;
    const char *holder = json_str_at(result->body, "spec", "holderIdentity", NULL);

    claim->ask = NULL;
    if (result->err == ERR_NOT_FOUND) {
        take(claim, NULL);
    } else if (result->err != ERR_OK) {
        tell(claim, CLAIM_UNKNOWN, result->err, result->info);
    } else if (!holder || !*holder) {
        take(claim, json_str_at(result->body, "metadata", "resourceVersion", NULL));
    } else if (strcmp(holder, claim->context->identity) == 0) {
        claim->looked_ms = clock_monotonic_ms();
        tell(claim, CLAIM_OURS, ERR_OK, result->info);
    } else {
        tell_theirs(claim, result->body, holder);
    }
}

static void look(struct claim *claim)
{
    const struct kube_request request = request_of(claim, KUBE_GET);

    claim_set_state(claim, CLAIM_LOOKING);
    claim->ask = tracked_send(claim->context, claim->kube, &request, on_looked, claim);
}

struct claim *claim_new(struct members_context *context, struct kube_client *kube, const char *name)
{
    struct claim *claim = heap_alloc(sizeof(*claim));

    *claim = (struct claim){.context = context, .kube = kube, .name = heap_strdup(name)};
    TAILQ_INIT(&claim->waits);
    return claim;
}

void claim_free(struct claim *claim)
{
    if (!claim)
        return;
    tracked_free(claim->ask);
    free(claim->name);
    free(claim);
}

bool claim_enter(struct claim *claim, struct claim_wait *wait)
{
    if (claim->state == CLAIM_OURS && clock_monotonic_ms() - claim->looked_ms < FRESH_MS)
        return true;
    wait->round = claim->round;
    TAILQ_INSERT_TAIL(&claim->waits, wait, link);
    if (!claim->ask)
        look(claim);
    return false;
}

void claim_leave(struct claim *claim, struct claim_wait *wait)
{
    if (wait->link.tqe_prev)
        TAILQ_REMOVE(&claim->waits, wait, link);
    wait->link.tqe_prev = NULL;
}

/* --- requests that may be abandoned */

struct tracked_request {
    LIST_ENTRY(tracked_request) link;
    struct members_context *context; /* NULL after tracked_end_all() */
    struct kube_call *call;
    kube_done_fn done;
    void *arg;
    bool writes, freed;
};

static void on_answer(void *arg, const struct kube_result *result)
{
    struct tracked_request *tracked = arg;
    struct members_context *context = tracked->context;
    bool writes = tracked->writes;

    if (context)
        LIST_REMOVE(tracked, link);
    if (!tracked->freed)
        tracked->done(tracked->arg, result);
    free(tracked);
    if (context && writes && --context->writes == 0)
        context->wrote(context->may_write_arg);
}

struct tracked_request *tracked_send(struct members_context *context, struct kube_client *kube,
                                     const struct kube_request *request, kube_done_fn done,
                                     void *arg)
{
    struct tracked_request *tracked = heap_alloc(sizeof(*tracked));
    struct kube_request own = *request;

    *tracked =
        (struct tracked_request){.context = context,
                                 .done = done,
                                 .arg = arg,
                                 .writes = request->verb != KUBE_GET && request->verb != KUBE_LIST};
    LIST_INSERT_HEAD(&context->requests, tracked, link);
    if (tracked->writes) {
        context->writes++;
        own.may_send = context->may_write;
        own.may_send_arg = context->may_write_arg;
    }
    tracked->call = kube_send(kube, &own, on_answer, tracked);
    return tracked;
}

void tracked_free(struct tracked_request *tracked)
{
    if (!tracked)
        return;
    tracked->freed = true;
    kube_cancel(tracked->call);
}

void tracked_end_all(struct members_context *context)
{
    struct tracked_request *tracked;

    while ((tracked = LIST_FIRST(&context->requests))) {
        LIST_REMOVE(tracked, link);
        tracked->context = NULL;
        tracked_free(tracked);
    }
}
