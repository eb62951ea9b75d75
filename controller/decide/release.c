#include "decide/release.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/bake.h"
#include "decide/serving.h"
#include "proto/spechash.h"
#include "tick/edit.h"

enum { DEFAULT_ITERATIONS = 10 };

/* Number of steps up to the maximum; 0 if the spec has none. */
static int count_steps(const struct release *r)
{
    int steps = 0, weight = 0, max = r->canary->analysis.max_weight;

    for (int next; weight < max; weight = next, steps++) {
        next = release_next_weight(r, weight);
        if (next <= weight)
            return 0;
    }
    return steps;
}

/*
 * Weights with `match` on a mesh that gives the canary all matching requests or none: the first
 * step is the last one, and would be the only one checked. The spec then means an A/B test with as
 * many checks as there are steps. (Flagger promotes after the first step.)
 */
static void test_whole(struct release *r)
{
    int steps = count_steps(r);

    if (r->strategy != STRATEGY_CANARY || !r->canary->analysis.match ||
        r->canary->analysis.match_step || steps == 0)
        return;
    r->strategy = STRATEGY_AB_TESTING;
    r->iterations = steps;
}

void release_follow(struct release *r, const struct canary *canary)
{
    tick_follow(r->tick, canary);
    r->canary = canary;
    r->router = router_of(r->tick->provider, canary);
    r->target = target_find(canary->target.api_version, canary->target.kind);
    r->scaler = canary->autoscaler.name ? scaler_find(canary->autoscaler.kind) : NULL;
    r->strategy = canary->strategy;
    r->iterations = canary->analysis.iterations;
    /* A router that cannot split traffic tests the canary beside it. */
    if (r->router && !router_splits(r->router)) {
        r->strategy = STRATEGY_BLUE_GREEN;
        r->iterations = r->iterations > 0 ? r->iterations : DEFAULT_ITERATIONS;
    }
    if (r->router && r->router->matches_whole)
        test_whole(r);
}

static void say(struct release *r, const char *type, const char *fmt, va_list args)
{
    const char *text = arena_vprintf(r->tick->arena, fmt, args);

    plan_event(r->tick, type, r->phase, "%s", text);
}

void event_normal(struct release *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(r, "Normal", fmt, args);
    va_end(args);
}

void event_warning(struct release *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(r, "Warning", fmt, args);
    va_end(args);
}

enum readiness release_ready(struct release *r, enum side side, const char **why)
{
    r->tick->plan->reads_status = true;
    return r->target->ready(r->tick, &r->info, side, why);
}

int release_available(struct release *r, enum side side)
{
    r->tick->plan->reads_status = true;
    return r->target->available(&r->info, side);
}

bool release_serves(struct release *r, enum side side)
{
    r->tick->plan->reads_status = true;
    return r->target->serves(&r->info, side);
}

bool release_stopped(struct release *r)
{
    r->tick->plan->reads_status = true;
    return r->info.stopped;
}

enum rule_result release_routes_settled(struct release *r, const char **why)
{
    r->tick->plan->reads_status = true;
    return r->router->settled(r->tick, why);
}

bool release_has_writes(const struct release *r)
{
    for (const struct effect *effect = r->tick->plan->first; effect; effect = effect->next) {
        if (effect_writes(effect))
            return true;
    }
    return false;
}

struct json_object *release_status(struct release *r)
{
    if (!r->status)
        r->status = edit_object(r->tick->arena);
    return r->status;
}

void release_requeue(struct release *r, enum requeue requeue)
{
    r->requeue = requeue;
    r->requeue_given = true;
}

void release_requeue_within(struct release *r, int64_t ms)
{
    struct plan *plan = r->tick->plan;

    if (plan->wake_ms == 0 || ms < plan->wake_ms)
        plan->wake_ms = ms;
}

bool release_deadline_passed(struct release *r, int64_t since_ms)
{
    if (tick_deadline_passed(r->tick, since_ms))
        return true;
    release_requeue_within(r, since_ms + tick_deadline_ms(r->tick) - r->tick->now_ms);
    return false;
}

enum rule_result release_reread(struct release *r)
{
    if (!release_has_writes(r))
        return RULE_CONTINUE;
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

const char *release_canary(struct release *r)
{
    return arena_printf(r->tick->arena, "%s.%s", r->canary->name, r->canary->namespace_);
}

const char *release_target(struct release *r)
{
    return arena_printf(r->tick->arena, "%s.%s", r->canary->target.name, r->canary->namespace_);
}

static bool is_in(const struct release *r, unsigned phases)
{
    return (phases & 1u << r->phase) != 0;
}

bool release_is_initialising(const struct release *r)
{
    return is_in(r, INITIALISING);
}

bool release_is_idle(const struct release *r)
{
    return is_in(r, IDLE);
}

bool release_is_analysing(const struct release *r)
{
    return is_in(r, ANALYSING);
}

bool release_is_promoting(const struct release *r)
{
    return is_in(r, PROMOTING);
}

bool release_canary_serves_all(const struct release *r)
{
    return r->router->weighted && r->weights.canary == WEIGHT_ALL && !r->weights.matched &&
           !r->weights.uneven;
}

bool release_goes_forward(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;

    return release_canary_serves_all(r) ||
           (!*status->last_promoted_spec &&
            (*status->last_applied_spec || status->phase == PHASE_Waiting));
}

static bool same_text(struct json_object *ref, const char *key, const char *text)
{
    const char *found = json_str_at(ref, key, NULL);

    return found && text && strcmp(found, text) == 0;
}

bool release_scaler_is_accepted(const struct release *r)
{
    const struct canary_ref *now = &r->canary->autoscaler;
    struct json_object *before = json_at(r->canary->status.accepted_spec, "autoscalerRef", NULL);

    return same_text(before, "name", now->name) && same_text(before, "kind", now->kind);
}

struct json_object *release_scaler_to_leave(const struct release *r)
{
    struct json_object *before = json_at(r->canary->status.accepted_spec, "autoscalerRef", NULL);

    return r->scaler_left || !json_str_at(before, "name", NULL) || release_scaler_is_accepted(r)
               ? NULL
               : before;
}

bool release_is_sized(const struct release *r)
{
    return r->canary->analysis.scale.given || (r->router && r->router->by_pods);
}

int release_next_weight(const struct release *r, int weight)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    int max = analysis->max_weight;
    /* a weight set by others may not be a whole percentage */
    int next = weight / WEIGHT_PERCENT * WEIGHT_PERCENT + analysis->step_weight;

    if (analysis->step_weight == 0 && analysis->n_step_weights > 0) {
        /* the next greater weight, so that a list edited during a release still rises */
        next = max;
        for (int i = analysis->n_step_weights - 1; i >= 0; i--) {
            if (analysis->step_weights[i] > weight)
                next = analysis->step_weights[i];
        }
    }
    return next < max ? next : max;
}

bool release_is_at_match(const struct release *r)
{
    return r->canary->analysis.match_step && r->weights.matched && r->weights.canary > 0;
}

int release_step_weight(const struct release *r)
{
    return release_is_at_match(r) ? 0 : r->weights.canary;
}

const struct canary_step *release_step(const struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    if (bake_runs(r))
        return NULL;
    if (release_is_at_match(r))
        return analysis->match_step;
    if (r->weights.mirrored && r->weights.canary == 0)
        return analysis->mirror_step;
    for (int i = 0; i < analysis->n_steps; i++) {
        if (analysis->steps[i].weight > 0 && analysis->steps[i].weight == r->weights.canary)
            return &analysis->steps[i];
    }
    return NULL;
}

const char *release_step_path(const struct release *r, const struct canary_step *step)
{
    return arena_printf(r->tick->arena, "spec.analysis.steps[%d]",
                        (int)(step - r->canary->analysis.steps));
}

bool release_checks(const struct release *r, const char *name)
{
    return bake_runs(r) ? canary_bake_checks(&r->canary->analysis.bake, name)
                        : canary_step_checks(release_step(r), name);
}

bool release_calls(const struct release *r, const char *name)
{
    return canary_step_checks(release_step(r), name);
}

enum rule_result release_read_routes(struct release *r)
{
    return r->router->get(r->tick, &r->weights);
}

bool release_is_first_step(const struct release *r)
{
    return r->weights.canary == 0 && r->canary->status.iterations == 0 && !r->weights.mirrored &&
           r->phase != PHASE_WaitingPromotion;
}

/* Plans the difference to the current routes, and records it. */
static enum rule_result route(struct release *r, struct weights weights)
{
    if (!r->router->weighted || (!r->weights.uneven && r->weights.canary == weights.canary &&
                                 r->weights.mirrored == weights.mirrored &&
                                 (r->weights.matched == weights.matched || weights.canary == 0)))
        return RULE_CONTINUE;
    weights.cookies = affinity_cookies(r, weights.canary);
    enum rule_result verdict = r->router->by_apex && !canary_is_worker(r->canary)
                                   ? serving_selector(r, weights.canary, &weights.selector)
                                   : RULE_CONTINUE;
    if (verdict == RULE_CONTINUE)
        verdict = r->router->set(r->tick, &weights);
    if (verdict != RULE_CONTINUE)
        return verdict;
    r->left = r->weights.canary > 0 && weights.canary == 0;
    r->weights = weights;
    return RULE_CONTINUE;
}

/* With `match` of a step, only that step matches. */
static bool matches_always(const struct release *r)
{
    return r->canary->analysis.match && !r->canary->analysis.match_step;
}

/* A side that serves everything keeps it, matched or not: the primary may be broken. */
enum rule_result release_route(struct release *r, int canary)
{
    bool keeps_all = canary == WEIGHT_ALL && release_canary_serves_all(r);

    return route(r, (struct weights){.primary = WEIGHT_ALL - canary,
                                     .canary = canary,
                                     .matched = matches_always(r) && !keeps_all});
}

enum rule_result release_match(struct release *r)
{
    return route(r, (struct weights){.canary = WEIGHT_ALL, .matched = true});
}

enum rule_result release_route_everything(struct release *r)
{
    return route(r, (struct weights){.canary = WEIGHT_ALL});
}

enum rule_result release_mirror(struct release *r)
{
    return route(
        r, (struct weights){.primary = WEIGHT_ALL, .mirrored = true, .matched = matches_always(r)});
}

const char *release_target_checksum(const struct release *r)
{
    char checksum[SPECHASH_TEXT];

    spechash_checksum(r->tick->arena, r->info.configs, r->info.hash, checksum);
    return arena_strdup(r->tick->arena, checksum);
}

const char *release_checksum(const struct release *r)
{
    return release_is_analysing(r) || release_is_promoting(r)
               ? canary_checksum(r->tick->arena, r->canary)
               : release_target_checksum(r);
}

/*
 * Cookies of session affinity (router/OBJECTS.md): which cookies belong to a share of the traffic,
 * and their record in the status. The routes are authoritative; if they have no cookie, the status
 * decides.
 *
 * A client answered by the canary stays there for the rest of the release. Afterwards the cookie is
 * withdrawn, so that it has no meaning for the next release. Flagger draws the values from a
 * generator seeded with the time; here they are derived from Canary, revision and former cookie, so
 * that a tick repeated after a crash produces the same one.
 */

enum { COOKIE_LETTERS = 10 };

static const char *make_cookie(struct release *r, const char *name, const char *of)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *seed = arena_printf(r->tick->arena, "%s\n%s\n%s", r->canary->uid, name, of);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    char value[COOKIE_LETTERS + 1] = "";

    if (EVP_Digest(seed, strlen(seed), digest, &size, EVP_sha256(), NULL) != 1 ||
        size < COOKIE_LETTERS) {
        fputs("affinity: SHA-256 is not available in this libcrypto\n", stderr);
        abort();
    }
    for (int i = 0; i < COOKIE_LETTERS; i++)
        value[i] = letters[digest[i] % (sizeof(letters) - 1)];
    return arena_printf(r->tick->arena, "%s=%s", name, value);
}

static const char *first(const char *a, const char *b)
{
    return a ? a : b;
}

/* Holds a client on the primary for at most one interval, so that releases may share it. */
static const char *primary_cookie(struct release *r)
{
    const char *name = r->canary->analysis.affinity.primary_cookie_name;
    const char *old = first(r->weights.cookies.primary, r->canary->status.primary_affinity_cookie);

    if (!name)
        return NULL;
    size_t len = strlen(name);
    bool is_same = old && strncmp(old, name, len) == 0 && old[len] == '=';
    return is_same ? old : make_cookie(r, name, "primary");
}

static const char *previous_cookie(const struct release *r)
{
    return first(r->weights.cookies.previous, r->canary->status.previous_affinity_cookie);
}

/* A name changed during a release applies from the next release on. */
static const char *current_cookie(const struct release *r)
{
    return first(r->weights.cookies.canary, r->canary->status.affinity_cookie);
}

struct cookies affinity_cookies(struct release *r, int canary)
{
    const struct canary_affinity *affinity = &r->canary->analysis.affinity;
    const char *current = current_cookie(r), *previous = previous_cookie(r);

    if (!affinity->cookie_name)
        return (struct cookies){.canary = NULL};
    if (canary == 0)
        return (struct cookies){.previous = first(current, previous)};
    if (!current)
        current = make_cookie(
            r, affinity->cookie_name,
            arena_printf(r->tick->arena, "%s\n%s", r->info.hash, previous ? previous : ""));
    /* If the primary has no share, no cookie leads to it either: it may be broken. */
    return (struct cookies){.canary = current,
                            .primary = canary < WEIGHT_ALL ? primary_cookie(r) : NULL};
}
