#include "fleet/daemon/member.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "fleet/daemon/context.h"
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

/* A list may take a minute to time out; a probe finds a cluster that does not answer sooner. */
static void connect_cache(struct member *member)
{
    open_cache(member);
    member_set_state(member, MEMBER_CONNECTING, NULL, true);
    member->timer = timer_start(member->context->loop, PROBE_MS, 0, probe, member);
}

/* config lives in the member's arena. */
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
    /* Any answer will do: the watches find out the rest. */
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
