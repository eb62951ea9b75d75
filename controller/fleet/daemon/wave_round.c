/* The parts of a round of a plan: the clusters in use, the dependencies, the steps, the gate. */
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "base/log.h"
#include "fleet/daemon/wave_parts.h"
#include "fleet/rules/fleet.h"
#include "proto/webhook_message.h"

struct member *wave_use(void *arg, const char *namespace_, const char *access)
{
    struct wave *wave = arg;
    struct member *member = fleet_daemon_member(wave->fleet, namespace_, access);

    for (size_t i = 0; i < wave->n_members; i++)
        if (wave->members[i] == member) {
            fleet_daemon_let_go(wave->fleet, member);
            return member;
        }
    if ((wave->n_members & (wave->n_members - 1)) == 0)
        wave->members = heap_grow(wave->members, (wave->n_members ? wave->n_members * 2 : 1) *
                                                     sizeof(struct member *));
    wave->members[wave->n_members++] = member;
    return member;
}

void wave_let_go(struct wave *wave, struct member **members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fleet_daemon_let_go(wave->fleet, members[i]);
    free(members);
}

void wave_watch(struct wave *wave, const struct wave_facts *facts)
{
    free(wave->watched);
    wave->watched = heap_array(facts->n_names + 1, sizeof(*wave->watched));
    wave->n_watched = facts->n_names;
    wave->by_labels = facts->plan.canaries_namespace != NULL;
    if (facts->n_names > 0)
        memcpy(wave->watched, facts->names, facts->n_names * sizeof(*wave->watched));
}

bool wave_concerns(const struct wave *wave, const char *namespace_, const char *name)
{
    uint64_t hash = wave->by_labels ? name_hash(namespace_, NULL) : name_hash(namespace_, name);

    for (size_t i = 0; i < wave->n_watched; i++)
        if (wave->watched[i] == hash)
            return true;
    return false;
}

/* --- steps */

void wave_add_step(struct wave *wave, struct member *member, const char *namespace_,
                   const char *name, bool hold)
{
    const struct member_canary *canary = member_cache_canary(member->cache, namespace_, name);
    struct round *round = &wave->round;
    struct arena *arena = round->arena;

    if ((round->n_steps & (round->n_steps - 1)) == 0) {
        struct wave_step_spec *more =
            arena_array(arena, round->n_steps ? round->n_steps * 2 : 1, sizeof(*more));
        if (round->n_steps > 0)
            memcpy(more, round->steps, round->n_steps * sizeof(*more));
        round->steps = more;
    }
    round->steps[round->n_steps++] =
        (struct wave_step_spec){.member = member,
                                .namespace_ = arena_strdup(arena, namespace_),
                                .name = arena_strdup(arena, name),
                                .label = wave->label,
                                .version = canary ? canary->seen.digest.version : 0,
                                .hold = hold};
}

/* The cluster among the facts; NULL if it is not one of the plan's. */
static const struct waves_cluster *cluster_of(const struct wave_facts *facts,
                                              const struct member *member)
{
    for (size_t i = 0; i < facts->count; i++)
        if (facts->members[i].member == member)
            return &facts->clusters[i];
    return NULL;
}

/* The facts borrow the names of their Canaries, and are mostly in the same order: *at is the index
 * at which to look first. */
static bool is_fact(const struct waves_cluster *cluster, const struct member_canary *canary,
                    size_t *at)
{
    for (size_t i = 0; cluster && i < cluster->n_canaries; i++) {
        size_t j = (*at + i) % cluster->n_canaries;
        if (cluster->canaries[j].name != canary->seen.digest.name)
            continue;
        *at = j + 1;
        return true;
    }
    return false;
}

/* Lets go of the Canaries on one cluster that the plan holds but no longer selects. If nothing is
 * known about the cluster, it may still select all that it holds. */
static size_t free_strays_of(struct wave *wave, const struct wave_facts *facts,
                             struct member *member)
{
    const struct waves_cluster *cluster = cluster_of(facts, member);
    const struct member_canary *canary;
    size_t count = 0, at = 0;

    if (cluster && !cluster->known && !facts->plan.deleting)
        return 0;
    for (size_t i = 0; member->cache && (canary = member_cache_next(member->cache, &i));) {
        if (strcmp(canary->held_by, wave->label) != 0 ||
            strcmp(canary->manager, wave->fleet->context.identity) != 0 ||
            is_fact(cluster, canary, &at))
            continue;
        count++;
        if (member_is_reached(member))
            wave_add_step(wave, wave_use(wave, member->namespace_, member->access),
                          canary->seen.digest.namespace_, canary->seen.digest.name, false);
    }
    return count;
}

size_t wave_free_strays(struct wave *wave, const struct wave_facts *facts)
{
    struct member *member;
    size_t count = 0;

    for (size_t i = 0; (member = fleet_daemon_next_member(wave->fleet, &i));)
        if (!*member->access || strcmp(member->namespace_, wave->namespace_) == 0)
            count += free_strays_of(wave, facts, member);
    return count;
}

/* --- a step: one Canary is held or let go, by a patch of the version that was seen */

enum { PATIENCE_MS = 5000 }; /* a round waits until all its steps are done */

struct wave_step {
    struct members_context *context;
    struct member *member;
    struct arena *arena;
    const char *namespace_, *name, *label, *version;
    bool hold;
    struct claim_wait wait;
    struct tracked_request *ask;
    struct timer *timer;
    wave_step_fn done;
    void *arg;
};

void wave_step_free(struct wave_step *step)
{
    if (!step)
        return;
    timer_stop(step->timer);
    tracked_free(step->ask);
    if (step->member->claim)
        claim_leave(step->member->claim, &step->wait);
    arena_free(step->arena);
    free(step);
}

const struct member *wave_step_member(const struct wave_step *step)
{
    return step->member;
}

static void tell_failure(const struct wave_step *step, const struct errinfo *info)
{
    log_warn("fleet_hold_failed", NULL, info->text, LOG_STR("plan", step->label),
             LOG_STR("canary", step->name), LOG_STR("namespace", step->namespace_),
             LOG_STR("secret", step->member->access));
}

static void on_written(void *arg, const struct kube_result *result)
{
    struct wave_step *step = arg;

    step->ask = NULL;
    if (result->err == ERR_OK)
        member_cache_learn(step->member->cache, &fleet_canaries, result->body);
    else if (result->err != ERR_CONFLICT && result->err != ERR_NOT_FOUND)
        tell_failure(step, result->info);
    step->done(step->arg, step);
}

/* A Canary that a user has suspended is never held, so letting go restores the previous state. */
static struct json_object *patch_of(const struct wave_step *step)
{
    struct json_object *body = json_own(step->arena, json_object_new_object());
    struct json_object *metadata = json_sub(body, "metadata"), *spec = json_sub(body, "spec");
    struct json_object *notes = json_sub(metadata, "annotations");

    json_set_str(metadata, "resourceVersion", step->version);
    if (step->hold) {
        json_set_bool(spec, "suspend", true);
        json_set_str(notes, WAVES_HELD_BY, step->label);
        json_set_str(notes, WAVES_MANAGER, step->context->identity);
    } else {
        json_set(spec, "suspend", NULL);
        json_set(notes, WAVES_HELD_BY, NULL);
        json_set(notes, WAVES_MANAGER, NULL);
    }
    return body;
}

static void send_patch(void *arg)
{
    struct wave_step *step = arg;
    const struct kube_request request = {.verb = KUBE_MERGE_PATCH,
                                         .resource = &fleet_canaries,
                                         .namespace_ = step->namespace_,
                                         .name = step->name,
                                         .body = patch_of(step),
                                         .timeout_ms = PATIENCE_MS};

    step->timer = NULL;
    log_info(step->hold ? "fleet_held" : "fleet_let_go", NULL,
             step->hold ? "the Canary waits for its turn" : "the turn of the Canary has come",
             LOG_STR("plan", step->label), LOG_STR("secret", step->member->access),
             LOG_STR("namespace", step->namespace_), LOG_STR("name", step->name));
    step->ask = tracked_send(step->context, step->member->kube, &request, on_written, step);
}

static void on_claimed(void *arg, enum err err, const struct errinfo *info)
{
    struct wave_step *step = arg;

    if (err == ERR_OK) {
        send_patch(step);
        return;
    }
    tell_failure(step, info);
    step->done(step->arg, step);
}

/* The resourceVersion of the Canary that the rules have seen; NULL if it has been replaced
 * since. */
static const char *version_of(const struct wave_step_spec *spec, struct arena *arena)
{
    const struct member_cache *cache = spec->member->cache;
    const struct member_canary *seen =
        cache ? member_cache_canary(cache, spec->namespace_, spec->name) : NULL;
    struct arena *reading = arena_new();
    struct json_object *canary = NULL;

    if (seen && seen->seen.digest.version == spec->version)
        (void)member_cache_find(cache, reading, &fleet_canaries, spec->namespace_, spec->name,
                                &canary);
    const char *version =
        arena_strdup(arena, json_str_at(canary, "metadata", "resourceVersion", NULL));
    arena_free(reading);
    return version;
}

struct wave_step *wave_step_start(struct members_context *context,
                                  const struct wave_step_spec *spec, wave_step_fn done, void *arg)
{
    struct arena *arena = arena_new();
    const char *version = version_of(spec, arena);

    if (!version) {
        arena_free(arena);
        return NULL;
    }
    struct wave_step *step = heap_alloc(sizeof(*step));
    *step = (struct wave_step){.context = context,
                               .member = spec->member,
                               .arena = arena,
                               .namespace_ = arena_strdup(arena, spec->namespace_),
                               .name = arena_strdup(arena, spec->name),
                               .label = arena_strdup(arena, spec->label),
                               .version = version,
                               .hold = spec->hold,
                               .wait = {.done = on_claimed},
                               .done = done,
                               .arg = arg};
    step->wait.arg = step;
    if (claim_enter(step->member->claim, &step->wait))
        step->timer = timer_start(context->loop, 0, 0, send_patch, step);
    return step;
}

/* --- the gate after a wave, called like a confirm hook of a Canary */

enum { MAX_ANSWER = 64 * 1024, MAX_SAYS = 400 };

struct wave_gate {
    struct http_call *call;
    wave_gate_fn done;
    void *arg;
    bool freed;
};

static void on_reply(void *arg, const struct http_result *result)
{
    struct wave_gate *gate = arg;
    struct arena *arena = arena_new();
    bool open = result->err == ERR_OK && webhook_passes(result->status);
    const char *says = result->err != ERR_OK ? result->info->text : result->body;

    if (!says || !*says)
        says = arena_printf(arena, "it answered %d", result->status);
    if (strlen(says) > MAX_SAYS)
        says = arena_strndup(arena, says, utf8_cut(says, MAX_SAYS));
    if (!gate->freed)
        gate->done(gate->arg, open, says);
    arena_free(arena);
    free(gate);
}

static const char *message(struct arena *arena, const struct releaseplan *plan,
                           const struct releaseplan_wave *wave, const char *revision)
{
    struct json_object *metadata = json_own(arena, json_object_new_object());

    if (wave->gate->metadata) {
        json_object_object_foreach(wave->gate->metadata, key, value)
        {
            json_set(metadata, key, value);
        }
    }
    json_set_str(metadata, "wave", wave->name);
    const struct webhook_message what = {.name = plan->name,
                                         .namespace_ = plan->namespace_,
                                         .phase = phase_name(PHASE_WaitingPromotion),
                                         .checksum = revision,
                                         .metadata = metadata};
    return webhook_text(arena, &what);
}

struct wave_gate *wave_gate_ask(struct members_context *context, const struct releaseplan *plan,
                                const struct releaseplan_wave *wave, const char *revision,
                                wave_gate_fn done, void *arg)
{
    static const struct http_header headers[] = {{"Content-Type", "application/json"}, {0}};
    struct wave_gate *gate = heap_alloc(sizeof(*gate));
    struct arena *arena = arena_new();
    const char *body = message(arena, plan, wave, revision);
    const struct http_request request = {.method = "POST",
                                         .url = wave->gate->url,
                                         .headers = headers,
                                         .body = body,
                                         .body_len = strlen(body),
                                         .timeout_ms = wave->gate->timeout_ms,
                                         .max_body = MAX_ANSWER,
                                         .owner = plan->namespace_,
                                         .secret_path = true};

    *gate = (struct wave_gate){.done = done, .arg = arg};
    gate->call = http_send(context->outside, &request, on_reply, gate);
    arena_free(arena);
    return gate;
}

void wave_gate_free(struct wave_gate *gate)
{
    if (!gate)
        return;
    gate->freed = true;
    http_cancel(gate->call);
}
