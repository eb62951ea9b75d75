#include "decide/bake.h"

#include "base/clock.h"
#include "decide/condition.h"
#include "decide/promote.h"
#include "decide/share.h"
#include "decide/status.h"
#include "proto/weight.h"

enum { MS_NS = 1000000 };

static const char baking[] = "Baking"; /* reason of the condition */

static bool is_given(const struct release *r)
{
    return r->canary->analysis.bake.for_ms > 0;
}

static bool began(const struct release *r, int64_t *since)
{
    return condition_since(r, CONDITION_BAKED, baking, since);
}

bool bake_runs_since(const struct release *r, int64_t *since_ms)
{
    return is_given(r) && release_is_analysing(r) && release_canary_serves_all(r) &&
           began(r, since_ms);
}

bool bake_runs(const struct release *r)
{
    int64_t since;

    return bake_runs_since(r, &since);
}

static void note_begin(struct release *r)
{
    int64_t for_ms = r->canary->analysis.bake.for_ms;
    char until[CLOCK_TEXT], lasts[DURATION_TEXT];

    duration_format(for_ms * MS_NS, lasts);
    condition_clear(r, CONDITION_BAKED);
    (void)condition_set(
        r, CONDITION_BAKED, baking,
        arena_printf(r->tick->arena,
                     "all traffic goes to %s for %s, until %s; %s-primary keeps the former version "
                     "until then, and a failed check returns the traffic to it",
                     release_target(r), lasts, clock_rfc3339(r->tick->now_ms + for_ms, until),
                     r->canary->target.name));
    event_normal(
        r, "Baking %s for %s: all traffic goes to %s, %s-primary.%s keeps the former version",
        release_canary(r), lasts, release_target(r), r->canary->target.name, r->canary->namespace_);
}

enum rule_result bake_begin(struct release *r)
{
    if (!is_given(r))
        return promote_begin(r);
    enum rule_result verdict = share_wait(r, WEIGHT_ALL);
    if (verdict == RULE_CONTINUE)
        verdict = release_route_everything(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_weight(r, WEIGHT_ALL);
    if (r->strategy == STRATEGY_BLUE_GREEN)
        status_int(r, "iterations", r->iterations + 1);
    pods_note(r, WEIGHT_ALL);
    note_begin(r);
    return RULE_DONE;
}

enum rule_result bake_go_on(struct release *r)
{
    int64_t for_ms = r->canary->analysis.bake.for_ms, since;
    char lasted[DURATION_TEXT];

    if (began(r, &since) && r->tick->now_ms - since < for_ms) {
        r->tick->plan->waits = true;
        return RULE_DONE;
    }
    event_normal(r, "%s has baked for %s", release_target(r),
                 duration_format(for_ms * MS_NS, lasted));
    return promote_begin(r);
}

bool bake_was_routed(const struct release *r, int told)
{
    return is_given(r) && release_is_analysing(r) && release_canary_serves_all(r) &&
           r->strategy == STRATEGY_CANARY && told >= r->canary->analysis.max_weight;
}

int bake_floor(const struct release *r)
{
    return is_given(r) && release_is_analysing(r) && !r->canary->skip_analysis
               ? r->canary->status.share_total
               : 0;
}

int64_t bake_longer_ms(const struct release *r)
{
    return bake_runs(r) ? r->canary->analysis.bake.for_ms : 0;
}

void bake_forget(struct release *r)
{
    int64_t since, weight = r->canary->status.canary_weight;

    if (r->status && json_at(r->status, "canaryWeight", NULL))
        weight = weight_of_status(json_merge(r->tick->arena, r->canary->status.json, r->status));
    if (began(r, &since) &&
        (!is_given(r) || !release_is_analysing(r) || r->cancelled || weight < WEIGHT_ALL))
        condition_clear(r, CONDITION_BAKED);
}
