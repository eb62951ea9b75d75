#include "fleet/daemon/claim.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "fleet/daemon/context.h"

/* How long a check is valid: concurrent writes share one. */
enum { FRESH_MS = 10000 };

enum claim_state { CLAIM_UNKNOWN, CLAIM_LOOKING, CLAIM_TAKING, CLAIM_OURS, CLAIM_THEIRS };

struct claim {
    struct members_context *context;
    struct kube_client *kube;
    char *name;
    enum claim_state state;
    int64_t looked_ms; /* monotonic */
    struct tracked_request *ask;
    unsigned round; /* waiters for the check under way */
    TAILQ_HEAD(, claim_wait) waits;
};

static const struct machine_state states[] = {
    [CLAIM_UNKNOWN] = {.name = "unknown", .next = 1u << CLAIM_LOOKING},
    [CLAIM_LOOKING] = {.name = "looking",
                       .next = 1u << CLAIM_UNKNOWN | 1u << CLAIM_TAKING | 1u << CLAIM_OURS |
                               1u << CLAIM_THEIRS},
    [CLAIM_TAKING] = {.name = "taking",
                      .next = 1u << CLAIM_UNKNOWN | 1u << CLAIM_LOOKING | 1u << CLAIM_OURS},
    [CLAIM_OURS] = {.name = "ours", .next = 1u << CLAIM_LOOKING},
    [CLAIM_THEIRS] = {.name = "theirs", .next = 1u << CLAIM_LOOKING},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "fleet_claim"};

static void claim_set_state(struct claim *claim, enum claim_state state)
{
    machine_step(&machine, claim->state, state, NULL, "the claim of a cluster",
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
    if (result->err == ERR_CONFLICT) { /* another one was faster */
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

/* version: of a Lease without holder; NULL if there is no Lease. */
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
