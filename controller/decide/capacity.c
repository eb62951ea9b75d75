/*
 * Who takes over all traffic must have the pods for it. While the canary had its share, an
 * autoscaler may have shrunk the primary to the rest. So before the canary's share comes back at
 * once (a rollback, a restart, the end of a promotion), the primary is asked for the replicas that
 * all traffic needs, and waited for; not for long, and only as long as the canary answers. (Flagger
 * routes at once.)
 *
 * The condition PrimaryScaled is the memory of it. False: it waits, since its transition time, for
 * what the reason says. True: the traffic has moved; the primary keeps its replicas a little
 * longer, for what an autoscaler measures lags behind. The number is in its message, and is the
 * floor of the primary's scaler as long as the condition is there: an autoscaler that was merely
 * overruled would take the pods away again before the traffic comes.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "decide/release.h"

enum {
    WAIT_MS = 60 * 1000,
    HOLD_MS = 2 * 60 * 1000,
    IDLE_LOOK_MS = 5 * 1000,    /* readiness wakes no idle canary */
    CLOCK_SLACK_MS = 60 * 1000, /* between replicas of the controller */
    TOLERATED_SHARE = 9, /* percent: up to 10 % more load, an autoscaler does nothing either */
};

static const char condition[] = "PrimaryScaled";
static const char scaled[] = "Scaled"; /* its reason when True; else one of release.h */

static bool waits_for(struct release *r, const char *reason)
{
    const char *message;
    int64_t since;

    return status_since(r, condition, reason, &since, &message);
}

bool capacity_waits(struct release *r, const char *reason)
{
    return reason ? waits_for(r, reason) : status_has(r, condition) && !waits_for(r, scaled);
}

static const char *primary_text(struct release *r)
{
    return arena_printf(r->tick->arena, "%s-primary.%s", r->canary->target.name,
                        r->canary->namespace_);
}

/* Who waits to begin: its gate has let this revision through, and no other. */
static const char *beginner_text(struct release *r)
{
    return arena_printf(r->tick->arena, " before revision %s begins", gates_revision(r));
}

/* A field of its own would be lost where the CRD is still Flagger's. */
static const char *message_of(struct release *r, int replicas, const char *reason)
{
    return arena_printf(r->tick->arena, "%s needs %d replicas for all traffic%s", primary_text(r),
                        replicas, strcmp(reason, CAPACITY_BEGIN) == 0 ? beginner_text(r) : "");
}

bool capacity_waits_to_begin(struct release *r)
{
    return waits_for(r, CAPACITY_BEGIN) && strstr(status_message(r, condition), beginner_text(r));
}

int capacity_floor(struct release *r)
{
    static const char before[] = " needs "; /* no name has a space in it */
    const char *text = strstr(status_message(r, condition), before);
    long number = text ? strtol(text + strlen(before), NULL, 10) : 0;

    return number < 0 || number > INT_MAX ? 0 : (int)number;
}

/* --- may and must it wait?
 * ------------------------------------------------------------------------------------ */

static bool is_analysed(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0;
}

/* Another revision than the analysed one rolls out pod by pod: those that are left answer. */
static bool canary_answers(struct release *r)
{
    const char *why;
    enum readiness readiness = release_ready(r, SIDE_CANARY, &why);

    return release_available(r, SIDE_CANARY) > 0 &&
           (readiness == READY || (!is_analysed(r) && readiness == NOT_READY_YET));
}

static bool may_wait(struct release *r)
{
    const char *why;

    return r->scaler && r->target->available && r->router->weighted &&
           r->weights.canary > TOLERATED_SHARE && canary_answers(r) &&
           release_ready(r, SIDE_PRIMARY, &why) != NOT_READY_EVER;
}

/*
 * The replicas that all traffic needs: as many as serve the primary's share now, in proportion.
 * Where that share is nothing, those that serve on the other side; where it is not known (an A/B
 * test), those of both.
 */
static int needed(struct release *r)
{
    int64_t primary = release_available(r, SIDE_PRIMARY);
    int64_t canary = release_available(r, SIDE_CANARY);
    int share = r->weights.primary;

    if (r->weights.matched)
        return (int)(primary + canary);
    if (share == 0)
        return (int)(primary > canary ? primary : canary);
    int64_t all = (primary * 100 + share - 1) / share;
    return all > 0 ? (int)all : 1;
}

/* --- waiting
 * --------------------------------------------------------------------------------------------------
 */

static enum verdict start_waiting(struct release *r, const char *reason)
{
    int all = needed(r);
    int has = release_available(r, SIDE_PRIMARY);
    int most;
    enum verdict verdict = r->scaler->primary_max(r->tick, &most);

    if (verdict != VERDICT_GO)
        return verdict;
    all = all < most ? all : most;
    /* It still has what the last release asked for: more than its share needs. */
    if (waits_for(r, scaled) && capacity_floor(r) < all)
        all = capacity_floor(r);
    if (all <= has)
        return VERDICT_GO;
    status_tell(r, condition, reason, message_of(r, all, reason));
    release_say(r, "Waiting until %s has %d replicas for all traffic, it has %d", primary_text(r),
                all, has);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* It has come to an end, one way or another: the traffic moves with this plan. */
static enum verdict end_waiting(struct release *r)
{
    status_answer(r, condition, scaled, status_message(r, condition));
    release_wake(r, HOLD_MS);
    return VERDICT_GO;
}

static int64_t longest_ms(const struct release *r)
{
    int64_t deadline = r->canary->progress_deadline_s * (int64_t)1000;

    return deadline < WAIT_MS ? deadline : WAIT_MS;
}

/* How long until `ms` have passed since the condition became what it is; 0 when they have, and
 * where that is not known. */
static int64_t left_of(struct release *r, int64_t ms)
{
    int64_t since;

    if (!status_time(r, condition, &since))
        return 0;
    int64_t left = since + ms - r->tick->now_ms;
    return left < 0 || left > ms + CLOCK_SLACK_MS ? 0 : left < ms ? left : ms;
}

enum verdict capacity_wait(struct release *r, const char *reason)
{
    bool waits = capacity_waits(r, NULL);
    int asked = capacity_floor(r);

    if (!may_wait(r))
        return waits ? end_waiting(r) : VERDICT_GO;
    if (!waits)
        return start_waiting(r, reason);
    int has = release_available(r, SIDE_PRIMARY);
    int64_t left = left_of(r, longest_ms(r));
    if (has >= asked)
        return end_waiting(r);
    if (left == 0) {
        release_warn(r, "%s has %d of %d replicas, routing all traffic to it", primary_text(r), has,
                     asked);
        return end_waiting(r);
    }
    /* a step that was routed before a crash is told now, not after the wait */
    status_int(r, "canaryWeight", r->weights.canary);
    /* what it began to wait for may have become something else */
    status_tell(r, condition, reason, message_of(r, asked, reason));
    release_wake(r, release_is_idle(r) && left > IDLE_LOOK_MS ? IDLE_LOOK_MS : left);
    return VERDICT_STOP;
}

bool capacity_answers(struct release *r)
{
    const char *why;

    return r->target->available && release_available(r, SIDE_PRIMARY) > 0 &&
           release_ready(r, SIDE_PRIMARY, &why) != NOT_READY_EVER;
}

/* --- the rule
 * ------------------------------------------------------------------------------------------------
 */

/* Nobody waits any more, or the primary has had its time to settle: then the floor goes. */
static void keep_or_forget(struct release *r)
{
    int64_t left = left_of(r, capacity_waits(r, NULL) ? WAIT_MS + HOLD_MS : HOLD_MS);

    if (left > 0) {
        release_wake(r, left);
        return;
    }
    status_untell(r, condition);
    release_again(r, AGAIN_NOW);
}

/*
 * A rollback that waits goes on, whatever the hooks and checks say now; so does the end of a
 * promotion, for which the primary was ready before it was asked for more. Other waits are decided
 * anew at each tick by the rules that began them.
 */
enum verdict capacity_resume(struct release *r)
{
    bool begun = release_is_analysing(r) || r->phase == PHASE_Waiting;

    if (!status_has(r, condition))
        return VERDICT_GO;
    if (begun && waits_for(r, CAPACITY_ROLLBACK))
        return rollback_run(r, r->phase == PHASE_Waiting);
    if (r->phase == PHASE_Promoting && waits_for(r, CAPACITY_PROMOTION) && capacity_answers(r))
        return promote_shift(r);
    keep_or_forget(r);
    return VERDICT_GO;
}
