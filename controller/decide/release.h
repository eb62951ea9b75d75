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

#include "decide/decide.h"
#include "decide/phases.h"
#include "router/router.h"
#include "scaler/scaler.h"
#include "target/target.h"

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
    struct weights weights; /* as routed when this tick's writes are done */
    enum phase phase;       /* status.phase, or what this tick makes of it */
    enum strategy
        strategy;     /* what is really run: blue/green where the router cannot split traffic */
    int iterations;   /* of blue/green and A/B, with the default of step 30 */
    bool held;        /* a metric says nothing, and the step waits for it */
    bool left;        /* this plan takes all traffic from the target, or makes it another one */
    bool scaler_left; /* what the autoscaler of the accepted spec had is taken away by this tick */
    struct json_object *status; /* fields of the status patch of this tick, NULL: none yet */
    enum again again;
    bool again_given;
};

/*
 * What the status of objects says. Every rule asks here and nowhere else: the plan notes that this
 * tick has looked at status, so that a change of it wakes the Canary (tick/wake.h).
 *
 * release_ready(): the primary must exist when it is asked about. release_available(): only where
 * the kind has replicas. release_settled(): STOP as long as the mesh has not taken over the routes,
 * which is told; release_look_settled(): the same, not told; *why where it is STOP.
 * release_stopped(): the target is at zero and its pods are gone.
 */
enum readiness release_ready(struct release *r, enum side side, const char **why);
int release_available(struct release *r, enum side side);
bool release_serves(struct release *r, enum side side);
bool release_stopped(struct release *r);
enum verdict release_settled(struct release *r);
enum verdict release_look_settled(struct release *r, const char **why);

/* From now on the rules follow this view of the Canary, which must live as long as the tick. */
void release_follow(struct release *r, const struct canary *canary);
/* The spec that was accepted before the one that is refused, with everything else as it is live.
 * False: none is known that can be read. */
bool view_accepted(struct arena *arena, struct json_object *object, struct canary *out);

/* Normal or Warning event that carries the phase which this tick leads to. */
void release_say(struct release *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void release_warn(struct release *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* This tick's plan writes objects. */
bool release_has_writes(const struct release *r);
/* When to decide again, instead of what the phase says. */
void release_again(struct release *r, enum again again);
/* ... and at the latest after so long, > 0; the shortest counts. */
void release_wake(struct release *r, int64_t ms);
/* "podinfo.test": Canary and target with their namespace. */
const char *release_canary(struct release *r);
const char *release_target(struct release *r);
bool release_is_initialising(const struct release *r); /* no phase yet, or Initializing */
bool release_is_idle(const struct release *r);         /* Initialized, Succeeded, Failed */
bool release_is_analysing(const struct release *r);    /* Progressing, WaitingPromotion */
bool release_is_promoting(const struct release *r);    /* Promoting, Finalising */
/* The canary has all the traffic, and not only all that is matched: after a failed promotion, or at
 * the end of an analysis up to 100 %. */
bool release_canary_serves_all(const struct release *r);
/*
 * The primary is no way back: the canary serves everything, or a promotion failed and left neither
 * the one revision nor the other on it. A new revision is the way out.
 */
bool release_goes_forward(const struct release *r);

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

/* --- affinity.c
 * -------------------------------------------------------------------------------------------------
 */
/* The cookies that go with this share of the canary. */
struct cookies affinity_cookies(struct release *r, int canary);
/* The status names the cookies of what is routed. */
void affinity_status(struct release *r);

/* --- status.c: one patch per tick, §11
 * ------------------------------------------------------------------- */
void status_phase(struct release *r, enum phase phase); /* and its Promoted condition */
void status_int(struct release *r, const char *key, int value);
void status_text(struct release *r, const char *key, const char *value); /* NULL: none */
void status_object(struct release *r, const char *key, struct json_object *value);
void status_weight(struct release *r,
                   int canary); /* canaryWeight, the cookies, and the gauges when it changes */
void status_sync(
    struct release *r); /* lastAppliedSpec and trackedConfigs are those of the target now */
void status_sync_hash(struct release *r); /* lastAppliedSpec alone */
void status_reset(struct release *r);     /* failedChecks and iterations are 0 */
/*
 * What a release waits for, and since when: for an approval, for metrics. They are conditions, so
 * that a deadline survives a restart and nothing is told twice.
 */
#define CONDITION_APPROVED   "Approved"
#define CONDITION_MEASURED   "Measured"
#define CONDITION_CONFIGURED "Configured" /* the configs that the target needs are there */
#define CONDITION_PRIMARY    "PrimaryFound"
#define CONDITION_COPIES     "PrimaryConfigured" /* its copies of configs are there */
#define CONDITION_REVERTED   "Reverted"          /* how far a deletion is */
/* The primary is one revision, template and configs. False while a promotion writes it, and when
 * that could not be finished. */
#define CONDITION_WHOLE "PrimaryWhole"
#define CONDITION_DRAINED                                                                          \
    "Drained" /* False: the target has lost its traffic, and keeps its pods                        \
               */
/* False: the routes have left a port, which is still served. */
#define CONDITION_PORTS "PortsFollowed"
/* False: Services of others lead to the target. */
#define CONDITION_FREE "TargetFree"
void status_forget_waits(struct release *r);
/* STOP, told by a Warning event once and by the condition until status_untell(). */
enum verdict status_hold(struct release *r, const char *type, const char *reason,
                         const char *message);
/* A condition beside Promoted. Returns false when it says the same already. */
bool status_tell(struct release *r, const char *type, const char *reason, const char *message);
bool status_has(struct release *r, const char *type); /* the Canary came with it */
/* ... for this reason. */
bool status_is(const struct release *r, const char *type, const char *reason);
/*
 * The Canary came with it for this reason: since when. Not when the wall clock was set forward
 * since, or the time lies more than a minute ahead: a wait then begins anew, and never ends early.
 */
bool status_since(const struct release *r, const char *type, const char *reason, int64_t *since);
/* The Canary came with it: since when (false: it does not say), and with which message ("": none).
 */
bool status_time(struct release *r, const char *type, int64_t *since);
const char *status_message(struct release *r, const char *type);
/* The condition has become True; true when it was not, or said something else. */
bool status_answer(struct release *r, const char *type, const char *reason, const char *message);
void status_untell(struct release *r, const char *type);
/* Plans the patch when something differs, and with it notes the spec that was acted on; after every
 * other rule. */
void status_write(struct release *r);

/* The autoscalerRef of the accepted spec that is still to be left; NULL: none. */
struct json_object *leave_waits(const struct release *r);

/* --- what several rules use
 * ------------------------------------------------------------------------------ */
/* The apex Service selects the primary's pods; the target must have a selector label. */
enum verdict initialise_leads(struct release *r, bool *leads);
/* target or tracked configs differ from what was applied last; step 15. */
bool detect_changed(struct release *r);
bool detect_configs_changed(const struct release *r);
/* move.c: why an edit cannot be followed now, NULL: it can. Of the target and its pods' port after
 * it is known to be of a kind that is served; NEED_FACTS or GO. */
const char *move_refusal(struct release *r);
bool move_has_begun(const struct release *r); /* to another target than the accepted one */
/* Services or routes have other names, or are made in another way, than the spec says by now. */
bool move_is_pending(const struct release *r);
enum verdict move_refusal_of_target(struct release *r, const char **sentence);
/* former.c: where the status does not say what was accepted. GO: from here on it says so, if the
 * cluster tells it; NEED_FACTS. */
enum verdict former_recall(struct release *r);
/* What else has changed: nothing leads to the target before, or to its Services. */
enum former { FORMER_SAME, FORMER_TARGET, FORMER_SERVICE };
enum verdict former_look(struct release *r, enum former *out);
/* The status was last written by Flagger, as far as can be told. */
bool takeover_is_flaggers(const struct release *r);
/* The hash of what the primary (which must exist) runs, "" when it cannot be told. */
const char *takeover_primary_hash(struct release *r);
/* GO: this side is ready. STOP: it is waited for; or it never gets ready, and that ends the
 * analysis or the promotion. */
enum verdict guard_ready(struct release *r, enum side side);
/* The target gets its replicas, as many as its scaler or the primary say. */
enum verdict begin_scale_up(struct release *r);
/* The weight after `weight`, at most the maximum. */
int canary_next_weight(const struct release *r, int weight);
/* Enters Promoting; what is then written is written until all of it is there (promote_copy()). */
enum verdict promote_begin(struct release *r);
/* A promotion was cut off, and the target is another one meanwhile: how far it has come. GO with
 * CARRIED_ALL also where none was cut off. */
enum verdict promote_carried(struct release *r, enum carried *out);
/* The primary stays as a promotion that cannot be finished has left it: the next revision is the
 * way out. */
void promote_give_up(struct release *r);
/* How much of the revision that the status speaks of is on the primary (which must exist). */
enum verdict promote_look(struct release *r, enum carried *out);

/* The annotation of what a Canary has left to another one. */
#define HANDED_OVER_BY "flagger.app/handed-over-by"
/* A deletion that leaves all to another Canary. GO and *done: nothing is left to do. GO: it is for
 * this Canary to undo what it has made. late: what is waited for does not come. */
enum verdict handover_run(struct release *r, bool late, bool *done);
/* A deletion that leaves nothing to anybody. STOP: it takes what was marked for another first. */
enum verdict handover_take_back(struct release *r);
/* The primary, its copies and its scaler belong to nobody from now on. GO or NEED_FACTS. */
enum verdict handover_leave_primary(struct release *r);

/* What all traffic goes back to the primary for: the reason of the condition PrimaryScaled. */
#define CAPACITY_ROLLBACK  "RollingBack"
#define CAPACITY_RESTART   "Restarting"
#define CAPACITY_BEGIN     "Beginning"
#define CAPACITY_PROMOTION "Promoting"
#define CAPACITY_RETURN    "PrimaryReady"
#define CAPACITY_START     "Starting" /* no traffic: a primary at zero is to be compared with */
/* GO: the primary can carry all traffic, as far as that was worth waiting for. STOP: it waits. */
enum verdict capacity_wait(struct release *r, const char *reason);
/* It waits for this; NULL: for anything. */
bool capacity_waits(struct release *r, const char *reason);
/* ... for CAPACITY_BEGIN, with this very revision. */
bool capacity_waits_to_begin(struct release *r);
/* The replicas that the primary's scaler must not go below; 0: whatever it wants. */
int capacity_floor(struct release *r);
/* Plans the replicas that the primary must have now. */
void capacity_raise(struct release *r);
/* Before a release begins: a primary that its scaler keeps at zero is brought up, unless it is
 * ready. STOP: that was told; GO: it was before, or there is nothing to bring up. */
enum verdict capacity_start(struct release *r, bool ready);
/* Nobody answers on the primary, and somebody does on the canary. */
bool capacity_is_empty(struct release *r);
/* The primary has pods that answer, though not all that it was asked for. */
bool capacity_answers(struct release *r);

/* --- pause.c: an interval from when the mesh has taken over the routes */
struct pause {
    const char *type;          /* of the condition that remembers it */
    const char *reason, *text; /* of it, while the interval counts */
    bool done;                 /* what has been routed is what was wanted: it is True then */
    bool unasked;              /* whatever the mesh says */
    int64_t more_ms;           /* beyond the interval */
};
/* What leads the traffic away is in this plan, or was in that of the tick before. GO or NEED_FACTS.
 */
enum verdict pause_begin(struct release *r, const struct pause *pause);
/* It goes on: the condition says what is waited for. GO or NEED_FACTS. */
enum verdict pause_note(struct release *r, const struct pause *pause);
/* ... GO: it is over. STOP: it is not; when to look again was planned. The caller unsays the
 * condition when it has done what it waited for. */
enum verdict pause_pass(struct release *r, const struct pause *pause);

/* --- drain.c: a target that has lost its traffic keeps its pods for a pause */
/* The target has no traffic from now on. GO or NEED_FACTS. */
enum verdict drain_begin(struct release *r);
/* The target, which has no traffic, goes to zero: now where the pause is over, else it begins or
 * goes on (GO as well). */
enum verdict drain_target(struct release *r);
bool drain_is_under_way(struct release *r); /* the Canary came with it */

/* --- bystander.c: Services of others that lead to the target */
/* STOP: there are some, which is told; the condition stands until there are none. */
enum verdict bystander_look(struct release *r);
/* The same while the Canary is initialised, and where there were some then; else GO. */
enum verdict bystander_wait(struct release *r);
/* Of a Canary that goes: its primary stays for Services of others, which is told. GO or NEED_FACTS.
 */
enum verdict bystander_keep_primary(struct release *r);

/* All traffic to the primary, once it can carry it; unless it serves nothing and is not ready: then
 * nothing changes. */
enum verdict rollback_to_primary(struct release *r, const char *reason);
/* §6 from step 2 on. consume: this revision is not tried again, although its analysis has not
 * begun. */
enum verdict rollback_run(struct release *r, bool consume);
/* §7 */
enum verdict rollback_failed_promotion(struct release *r, const char *why);
/* The informing hooks at the end of a release. */
void gates_post_rollout(struct release *r, enum phase phase);

/* The checksum of the revision that this release is about: hooks are asked about it. */
const char *gates_revision(struct release *r);
/* For checks. GO: every hook of the type agreed (or there is none). STOP: one did not, and *closed
 * is it. */
enum verdict gates_ask(struct release *r, enum hook_type type, enum phase phase,
                       const char *passed_text, const struct canary_webhook **closed,
                       const struct hook_answer **answer);
/* STOP: one of the gate's hooks is closed, which was told once; or its deadline has ended the
 * release. */
enum verdict gates_confirm_rollout(struct release *r);
enum verdict gates_confirm_traffic_increase(struct release *r);
/* While something else keeps a release from its beginning: its first gate is asked when its
 * deadline is over, and ends the release unless it is open. */
enum verdict gates_start_overdue(struct release *r);
enum verdict gates_confirm_promotion(struct release *r);
/* GO: nobody asks for a rollback. STOP: somebody does, and it was told. */
enum verdict gates_rollback(struct release *r);

/* Step 7, and the metrics of step 29: STOP means that a check failed and was told. GO with r->held:
 * none failed, but not all could be asked. */
enum verdict metrics_probe(struct release *r);
enum verdict metrics_check(struct release *r);
/* Whom one metric of the spec asks; it may name several. */
enum metric_source { SOURCE_SUCCESS_RATE, SOURCE_DURATION, SOURCE_QUERY, SOURCE_TEMPLATE };
/* metrics_judge.c. STOP: the value is out of bounds, which was told. A duration is in ms. */
enum verdict metrics_judge(struct release *r, const struct canary_metric *metric,
                           enum metric_source source, double value);
/* unmeasured.c. The sentence says what is missing. GO: nothing is counted; STOP: a check failed. */
enum verdict metrics_unmeasured(struct release *r, enum canary_policy policy, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void metrics_measured(struct release *r); /* all have spoken: a hold is over */
/* A sentence when a MetricTemplate asks for what is not there. */
enum verdict metrics_refusal(struct release *r, const char **sentence);

#endif
