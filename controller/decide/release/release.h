/*
 * A release while one tick decides about it: what the rules have found out so far and what they
 * leave behind. Private to decide/. Every rule has the same shape: it looks at the release, plans
 * effects, and says whether the next rule is asked (VERDICT_GO), facts are missing
 * (VERDICT_NEED_FACTS) or the plan is complete (VERDICT_STOP).
 *
 * Numbers in comments (step 19, §8.2) are those of decide/RULES.md.
 */
#ifndef DECIDE_RELEASE_H
#define DECIDE_RELEASE_H

#include "decide/release/phases.h"
#include "router/router.h"
#include "scaler/scaler.h"
#include "target/target.h"
#include "tick/tick.h"

struct judged; /* release/judged.h */

/* An autoscaler of others that scales a side (release/scaled.h). */
struct own_scaler {
    const struct scaler *kind;
    struct json_object *object; /* NULL: there is none */
};

struct release {
    struct tick *tick;
    const struct canary *canary;
    /* Why the live spec is not followed; `canary` is then what was accepted before it, where that
     * is known. NULL: it is. */
    const char *refused;
    const struct router *router;
    const struct target *target;
    const struct scaler *scaler; /* NULL: the Canary names none */
    struct target_info info;
    struct own_scaler own_scaler[2]; /* by side */
    struct weights weights;          /* as routed when this tick's writes are done */
    enum phase phase;                /* status.phase, or what this tick makes of it */
    enum strategy
        strategy;     /* what is really run: blue/green where the router cannot split traffic */
    int iterations;   /* of blue/green and A/B, with the default of step 30 */
    bool held;        /* a metric says nothing, and the step waits for it */
    bool left;        /* this plan takes all traffic from the target, or makes it another one */
    const char *past; /* a condition that goes with the next status (condition_clear_later()) */
    bool forgoes;     /* a write that is refused for good was left out of the plan */
    struct effect *set_aside; /* such writes, to be put back (act/refused_write.h) */
    bool scaler_left; /* what the autoscaler of the accepted spec had is taken away by this tick */
    /* For the history: why the release that ran was given up; why it is being rolled back (NULL: it
     * is not, or that was told before). */
    const char *cancelled, *failing;
    struct judged *judged; /* what the judge knows behind this tick's look; NULL: none is asked */
    struct json_object *status; /* fields of the status patch of this tick, NULL: none yet */
    enum again again;
    bool again_given;
};

/*
 * What the status of objects says. Every rule asks here and nowhere else: the plan notes that this
 * tick has looked at status, so that a change of it wakes the Canary (tick/wake.h).
 *
 * release_ready(): the primary must exist when it is asked about. release_available(): only where
 * the kind has replicas. release_look_settled(): STOP as long as the mesh has not taken over the
 * routes, *why says so; who waits for that asks settled.h.
 * release_stopped(): the target is at zero and its pods are gone.
 */
enum readiness release_ready(struct release *r, enum side side, const char **why);
int release_available(struct release *r, enum side side);
bool release_serves(struct release *r, enum side side);
bool release_stopped(struct release *r);
enum verdict release_look_settled(struct release *r, const char **why);

/* From now on the rules follow this view of the Canary, which must live as long as the tick. */
void release_follow(struct release *r, const struct canary *canary);
/* Normal or Warning event that carries the phase which this tick leads to. */
void release_say(struct release *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void release_warn(struct release *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* This tick's plan writes objects. */
bool release_has_writes(const struct release *r);
/* What this plan has written is read again before it is judged: STOP, or GO when it writes nothing.
 */
enum verdict release_reread(struct release *r);
/* The fields of the status that this tick writes; made by the first who asks (status.h,
 * condition.h). */
struct json_object *release_status(struct release *r);
/* When to decide again, instead of what the phase says. */
void release_again(struct release *r, enum again again);
/* ... and at the latest after so long, > 0; the shortest counts. */
void release_wake(struct release *r, int64_t ms);
/* "podinfo.test": Canary and target with their namespace. */
const char *release_canary(struct release *r);
const char *release_target(struct release *r);
/* The checksum that webhooks get of a revision, its configs included: of the target, the one that
 * the status will have of it; of the release, that of the status while one runs. */
const char *release_target_checksum(const struct release *r);
const char *release_checksum(const struct release *r);
bool release_is_initialising(const struct release *r); /* no phase yet, or Initializing */
bool release_is_idle(const struct release *r);         /* Initialized, Succeeded, Failed */
bool release_is_analysing(const struct release *r);    /* Progressing, WaitingPromotion */
bool release_is_promoting(const struct release *r);    /* Promoting, Finalising */
bool release_is_first_step(const struct release *r);   /* of an analysis: none was made yet */
/* r->weights are what is routed now. */
enum verdict release_read_routes(struct release *r);
/* The canary has all the traffic, and not only all that is matched: after a failed promotion, or at
 * the end of an analysis up to 100 %. */
bool release_canary_serves_all(const struct release *r);
/*
 * The primary is no way back: the canary serves everything, or a promotion failed and left neither
 * the one revision nor the other on it. A new revision is the way out.
 */
bool release_goes_forward(const struct release *r);
/* The spec names the autoscaler that the accepted spec names. */
bool release_scaler_is_accepted(const struct release *r);
/* The autoscalerRef of the accepted spec that is still to be left; NULL: none. */
struct json_object *release_scaler_to_leave(const struct release *r);
/* The canary's weight after `weight`, at most the maximum. */
int release_next_weight(const struct release *r, int weight);

/*
 * These plan what is routed and remember it in r->weights; they plan nothing where the router
 * cannot split traffic, or where just this is routed.
 *
 * release_route(): the canary's percent of the requests, of the matched ones where the analysis
 * matches; mirroring ends. release_route_everything(): all requests to the canary, matched or not.
 * release_mirror(): the primary serves, the canary gets a copy.
 */
enum verdict release_route(struct release *r, int canary);
enum verdict release_route_everything(struct release *r);
enum verdict release_mirror(struct release *r);

#endif
