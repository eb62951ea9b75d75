/*
 * The analysis: checks before each step, then the step by strategy. The failure of a check is
 * reported where it is found; this file counts it.
 */
#include <string.h>

#include "base/clock.h"
#include "decide/bake.h"
#include "decide/checks.h"
#include "decide/condition.h"
#include "decide/gates.h"
#include "decide/metrics.h"
#include "decide/promote.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/share.h"
#include "decide/status.h"
#include "decide/steering.h"
#include "tick/edit.h"

static enum rule_result fail(struct release *r)
{
    status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
    return RULE_DONE;
}

/*
 * Pre-rollout hooks prepare a revision once, however long a gate or its pods delay the first step:
 * the preparation remains valid, and a failing repeat would roll back a release that waits for
 * approval. (Flagger calls them at every interval.)
 */
static enum rule_result prepare(struct release *r)
{
    const char *prepared = json_str_at(r->canary->status.json, "prepared", NULL);
    const char *revision = release_checksum(r);
    const struct canary_webhook *hook;
    const struct hook_answer *answer;

    if (prepared && strcmp(prepared, revision) == 0)
        return RULE_CONTINUE;
    enum rule_result verdict =
        hooks_ask(r, HOOK_PRE_ROLLOUT, PHASE_Progressing, "Pre-rollout", &hook, &answer);
    if (verdict == RULE_CONTINUE) {
        checks_passed(r);
        if (hooks_has(r, HOOK_PRE_ROLLOUT))
            status_text(r, "prepared", revision);
    }
    if (verdict == RULE_DONE)
        (void)checks_failed(r, "HookFailed", "Halt %s advancement pre-rollout check %s failed %s",
                            release_canary(r), hook->name, answer->text);
    return verdict;
}

enum rule_result analysis_start(struct release *r)
{
    if (!release_is_first_step(r))
        return RULE_CONTINUE;
    if (steering_is_paused(r))
        return RULE_DONE;
    /*
     * not repeated after a failed check, nor while the traffic gate is closed or a write is
     * refused
     */
    if (r->canary->status.failed_checks == 0 && !condition_is_set(r, CONDITION_APPROVED) &&
        !r->forgoes)
        event_normal(r, "Starting canary analysis for %s", release_target(r));
    enum rule_result verdict = prepare(r);
    if (verdict != RULE_DONE)
        return verdict;
    return fail(r);
}

enum rule_result analysis_check(struct release *r)
{
    const struct canary_webhook *hook;
    const struct hook_answer *answer;

    if (release_is_first_step(r))
        return RULE_CONTINUE;
    enum rule_result verdict = hooks_ask(r, HOOK_ROLLOUT, PHASE_Progressing, NULL, &hook, &answer);
    if (verdict == RULE_DONE)
        (void)checks_failed(r, "HookFailed", "Halt %s advancement external check %s failed %s",
                            release_canary(r), hook->name, answer->text);
    else if (verdict == RULE_CONTINUE)
        verdict = metrics_check(r);
    if (verdict == RULE_DONE)
        return fail(r);
    return verdict == RULE_CONTINUE && r->held ? RULE_DONE : verdict;
}

/*
 * Progressive traffic (decide/RULES.md). With `mirror` the first step has weight 0 and copies
 * the primary's requests to the canary. The route is the only record of the mirror step, so it
 * cannot be recorded without being done, or done twice.
 */

/*
 * A step of spec.analysis.steps lasts for its time, and pauses the release at its end if it is a
 * gate, as `kubectl canary pause` does. status.step records it. The first steps may copy requests
 * to the canary, or give it the requests that match; the routes show which step runs.
 */

static const char step_field[] = "step"; /* of the status */

/* The step that this tick routes. */
static void note_step(struct release *r, int64_t since, bool paused)
{
    const struct canary_step *step = release_step(r);
    struct json_object *out = edit_object(r->tick->arena);
    char text[CLOCK_TEXT];

    if (r->canary->analysis.n_steps == 0)
        return;
    json_set_str(out, "revision", release_checksum(r));
    weight_put(r->tick->arena, out, "weight", r->weights.canary);
    json_set_str(out, "since", clock_rfc3339(since, text));
    json_set(out, "paused", NULL); /* from the previous step */
    if (paused)
        json_set_bool(out, "paused", true);
    json_set(out, "match", NULL);
    if (step && step->match)
        json_set_bool(out, "match", true);
    json_set(out, "mirror", NULL);
    if (step && step->mirror > 0)
        json_set_int(out, "mirror", step->mirror);
    status_object(r, step_field, out);
}

/* False if this step is not recorded, as after a crash between its route and its status. A time in
 * the future was written by a wrong clock. */
static bool read_step(struct release *r, const struct canary_step *step, int64_t *since,
                      bool *paused)
{
    struct json_object *noted = json_at(r->canary->status.json, step_field, NULL);
    const char *revision = json_str_at(noted, "revision", NULL);
    const char *began = json_str_at(noted, "since", NULL);
    int64_t weight;

    *paused = json_bool_at(noted, false, "paused", NULL);
    return revision && strcmp(revision, release_checksum(r)) == 0 && began &&
           weight_read(json_at(noted, "weight", NULL), WEIGHT_ALL, &weight) &&
           weight == r->weights.canary &&
           json_bool_at(noted, false, "match", NULL) == (step->match != NULL) &&
           (json_int_at(noted, 0, "mirror", NULL) > 0) == (step->mirror > 0) &&
           clock_parse(began, since, NULL) == ERR_OK && *since <= r->tick->now_ms;
}

/* "weight 20", for messages */
static const char *step_text(struct release *r, const struct canary_step *step)
{
    if (step->match)
        return "the step with match";
    if (step->mirror > 0)
        return "the step with mirror";
    return arena_printf(r->tick->arena, "weight %s", weight_text(r->tick->arena, step->weight));
}

static void pause_at_gate(struct release *r, const struct canary_step *step)
{
    const char *at = arena_printf(r->tick->arena, "%s.gate", release_step_path(r, step));
    const char *text = step_text(r, step);

    steering_pause_at_gate(r, at, arena_printf(r->tick->arena, "a person decides at %s", text));
    event_warning(r, "Halt %s advancement, paused at %s until it is resumed (%s)",
                  release_canary(r), text, at);
    plan_alert(r->tick, "warn", false, "Canary is paused at %s until it is resumed", text);
}

/* CONTINUE: the next step may be taken. */
static enum rule_result finish_step(struct release *r)
{
    const struct canary_step *step = release_step(r);
    int64_t since;
    bool paused;

    if (!step || (step->for_ms == 0 && !step->gate))
        return RULE_CONTINUE;
    if (!read_step(r, step, &since, &paused)) {
        since = r->tick->now_ms;
        paused = false;
        note_step(r, since, false);
    }
    if (r->tick->now_ms - since < step->for_ms) {
        r->tick->plan->waits = true;
        return RULE_DONE;
    }
    if (!step->gate || paused)
        return RULE_CONTINUE;
    note_step(r, since, true);
    pause_at_gate(r, step);
    return RULE_DONE;
}

enum kind { KIND_MIRROR, KIND_MATCH, KIND_WEIGHT };

/* The kind of the next step. */
static enum kind next_kind(const struct release *r)
{
    if (r->weights.canary > 0)
        return KIND_WEIGHT;
    if (r->canary->analysis.mirror && !r->weights.mirrored)
        return KIND_MIRROR;
    return r->canary->analysis.match_step ? KIND_MATCH : KIND_WEIGHT;
}

/* Waits until the canary has the pods for the step, and routes it. */
static enum rule_result route_step(struct release *r, enum kind kind, int weight)
{
    enum rule_result verdict = RULE_CONTINUE;

    if (kind != KIND_MIRROR)
        verdict = share_wait(
            r, kind == KIND_MATCH ? r->canary->analysis.matched_share * WEIGHT_PERCENT : weight);
    if (verdict != RULE_CONTINUE)
        return verdict;
    return kind == KIND_MIRROR  ? release_mirror(r)
           : kind == KIND_MATCH ? release_match(r)
                                : release_route(r, weight);
}

static void tell_step(struct release *r, enum kind kind)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    if (kind == KIND_MATCH)
        event_normal(r, "Advance %s canary, all requests that match go to it", release_canary(r));
    else if (kind == KIND_MIRROR && analysis->mirror_step)
        event_normal(r, "Advance %s canary, %d percent of the requests are copied to it",
                     release_canary(r), analysis->mirror_weight);
    else if (r->router->by_pods)
        event_normal(r, "Advance %s canary weight %s (%s)", release_canary(r),
                     weight_text(r->tick->arena, r->weights.canary), pods_text(r));
    else
        event_normal(r, "Advance %s canary weight %s", release_canary(r),
                     weight_text(r->tick->arena, r->weights.canary));
}

enum rule_result canary_advance(struct release *r)
{
    int weight = release_step_weight(r);

    if (bake_runs(r))
        return bake_go_on(r);
    enum rule_result verdict = finish_step(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    /*
     * also while waiting for the promotion, if the maximum was raised meanwhile; the step after the
     * mirror step is the increase already approved
     */
    if ((r->phase != PHASE_WaitingPromotion || weight < r->canary->analysis.max_weight) &&
        !r->weights.mirrored)
        verdict = gates_confirm_traffic_increase(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (weight >= r->canary->analysis.max_weight) {
        verdict = gates_confirm_promotion(r);
        return verdict == RULE_CONTINUE ? bake_begin(r) : verdict;
    }
    enum kind kind = next_kind(r);
    verdict = route_step(r, kind, release_next_weight(r, weight));
    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_weight(r, r->weights.canary);
    if (kind != KIND_MIRROR || r->canary->analysis.mirror_step)
        note_step(r, r->tick->now_ms, false);
    pods_note(r, r->weights.canary);
    tell_step(r, kind);
    return RULE_DONE;
}

/*
 * Blue/green (decide/RULES.md): n checks beside the live traffic, which `mirror` copies to the
 * canary; then one check with all traffic on the canary, if the router can do that; then the
 * promotion. status.iterations counts the checks. A bake takes the place of the check with all
 * traffic.
 */

static enum rule_result iterate(struct release *r, int done)
{
    bool mirrors = r->canary->analysis.mirror && r->weights.canary == 0;
    enum rule_result verdict = mirrors ? release_mirror(r) : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_int(r, "iterations", done + 1);
    event_normal(r, "Advance %s canary iteration %d/%d", release_canary(r), done + 1,
                 r->iterations);
    return RULE_DONE;
}

static enum rule_result route_all(struct release *r, int done)
{
    bool mirrored = r->weights.mirrored;
    enum rule_result verdict = share_wait(r, WEIGHT_ALL);

    if (verdict == RULE_CONTINUE)
        verdict = release_route(r, WEIGHT_ALL);

    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_int(r, "iterations", done + 1);
    if (!r->router->weighted)
        return RULE_DONE;
    status_weight(r, WEIGHT_ALL);
    event_normal(r, "%s",
                 mirrored ? "Stop traffic mirroring and route all traffic to canary"
                          : "Routing all traffic to canary");
    return RULE_DONE;
}

enum rule_result bluegreen_advance(struct release *r)
{
    int done = r->canary->status.iterations;
    bool bakes = r->canary->analysis.bake.for_ms > 0;

    if (bake_runs(r))
        return bake_go_on(r);
    if (done < r->iterations)
        return iterate(r, done);
    enum rule_result verdict = gates_confirm_promotion(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    return done == r->iterations && !bakes ? route_all(r, done) : bake_begin(r);
}

/*
 * A/B testing (decide/RULES.md): requests that match spec.analysis.match go to the canary
 * from the first iteration on, all others to the primary; after n iterations comes the promotion.
 * status.iterations counts them.
 */

enum rule_result abtest_advance(struct release *r)
{
    int done = r->canary->status.iterations > 0 ? r->canary->status.iterations : 0;

    if (bake_runs(r))
        return bake_go_on(r);
    /* Flagger tests for equality, so it waits for ever if the number was lowered meanwhile. */
    if (done >= r->iterations) {
        enum rule_result gate = gates_confirm_promotion(r);
        return gate == RULE_CONTINUE ? bake_begin(r) : gate;
    }
    enum rule_result verdict =
        r->weights.canary > 0 ? RULE_CONTINUE
                              : share_wait(r, WEIGHT_PERCENT * r->canary->analysis.matched_share);
    if (verdict == RULE_CONTINUE)
        verdict = release_route(r, WEIGHT_ALL);
    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_weight(r, WEIGHT_ALL);
    status_int(r, "iterations", done + 1);
    event_normal(r, "Advance %s canary iteration %d/%d", release_canary(r), done + 1,
                 r->iterations);
    return RULE_DONE;
}
