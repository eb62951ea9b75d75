/*
 * The state of a release during one tick: the findings of the rules so far, and their results.
 * Private to decide/. Every rule has the same form: it examines the release, plans effects, and
 * returns whether the next rule runs (RULE_CONTINUE), facts are missing (RULE_NEEDS_FACTS) or the
 * plan is complete (RULE_DONE).
 */
#ifndef DECIDE_RELEASE_H
#define DECIDE_RELEASE_H

#include "proto/phase.h"
#include "router/router.h"
#include "scaler/scaler.h"
#include "target/target.h"
#include "tick/need.h"
#include "tick/plan.h"
#include "tick/tick.h"

struct judged; /* judged.h */

/* A foreign autoscaler that scales a side (capacity.h). */
struct own_scaler {
    const struct scaler *kind;
    struct json_object *object; /* NULL if none */
};

struct release {
    struct tick *tick;
    const struct canary *canary;
    /*
     * The reason why the live spec is not followed; `canary` is then the previously accepted spec,
     * if known. NULL if the live spec is followed.
     */
    const char *refused;
    const struct router *router;
    const struct target *target;
    const struct scaler *scaler; /* NULL if the Canary names none */
    struct target_info info;
    struct own_scaler own_scaler[2]; /* by side */
    struct weights weights;          /* as routed after this tick's writes */
    enum phase phase;                /* status.phase, or the phase set by this tick */
    enum strategy
        strategy;     /* the effective one: blue/green where the router cannot split traffic */
    int iterations;   /* of blue/green and A/B, with the default */
    bool held;        /* a metric has no answer, and the step waits for it */
    bool left;        /* this plan removes all traffic from the target, or changes the target */
    const char *past; /* condition removed with the next status (condition_clear_later()) */
    bool forgoes;     /* a write that the API server rejects permanently was left out of the plan */
    struct effect *set_aside; /* such writes, to be restored (refused_write.h) */
    bool at_once;             /* a rollback in steps was requested to end now */
    bool scaler_left;         /* this tick removes the autoscaler of the accepted spec */
    /*
     * For the history: the reason why the running release was given up, and the reason why it is
     * being rolled back (NULL if it is not, or if reported before).
     */
    const char *cancelled, *failing;
    struct judged *judged;      /* evidence including this tick's sample; NULL if none */
    struct json_object *status; /* fields of this tick's status patch; NULL if none yet */
    enum requeue requeue;
    bool requeue_given;
};

/*
 * Status of objects. Rules read it only here: the plan records that the tick depends on status, so
 * that its changes wake the Canary (tick/wake.h).
 *
 * release_ready(): the primary must exist. release_available(): only for kinds with replicas.
 * release_look_settled(): DONE until the mesh has applied the routes, with the reason in *why;
 * rules that wait for that call settled_or_hold(). release_stopped(): the target is at zero and its
 * pods are gone.
 */
enum readiness release_ready(struct release *r, enum side side, const char **why);
int release_available(struct release *r, enum side side);
bool release_serves(struct release *r, enum side side);
bool release_stopped(struct release *r);
enum rule_result release_routes_settled(struct release *r, const char **why);

/* Makes the rules follow this view of the Canary, which must live as long as the tick. */
void release_follow(struct release *r, const struct canary *canary);
/* Normal or Warning event with the phase that this tick leads to. */
void event_normal(struct release *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void event_warning(struct release *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* True if this tick's plan writes objects. */
bool release_has_writes(const struct release *r);
/* Written objects are read again before they are judged: DONE, or CONTINUE if the plan writes
 * nothing. */
enum rule_result release_reread(struct release *r);
/* The status fields written by this tick; created on first use (status.h, condition.h). */
struct json_object *release_status(struct release *r);
/* Sets the time of the next decision, instead of the default for the phase. */
void release_requeue(struct release *r, enum requeue requeue);
/* Repeats the tick no later than after this time, > 0; the shortest one counts. */
void release_requeue_within(struct release *r, int64_t ms);
/* True if the progress deadline has passed since then; otherwise repeats the tick when it
 * passes. */
bool release_deadline_passed(struct release *r, int64_t since_ms);
/* "podinfo.test": Canary or target with its namespace. */
const char *release_canary(struct release *r);
const char *release_target(struct release *r);
/*
 * The checksum of a revision for webhooks, including its configs. Target: the checksum that the
 * status will have. Release: the one in the status while a release runs.
 */
const char *release_target_checksum(const struct release *r);
const char *release_checksum(const struct release *r);
bool release_is_initialising(const struct release *r); /* no phase yet, or Initializing */
bool release_is_idle(const struct release *r);         /* Initialized, Succeeded, Failed */
bool release_is_analysing(const struct release *r);    /* Progressing, WaitingPromotion */
bool release_is_promoting(const struct release *r);    /* Promoting, Finalising */
bool release_is_first_step(const struct release *r);   /* of an analysis: no step was made yet */
/* Reads the current routes into r->weights. */
enum rule_result release_read_routes(struct release *r);
/*
 * True if the canary has all traffic, not only all matching requests: after a failed promotion, or
 * at the end of an analysis up to 100 %.
 */
bool release_canary_serves_all(const struct release *r);
/*
 * True if there is no way back to the primary: the canary serves everything, or a failed promotion
 * left neither revision complete on it. A new revision is the way out.
 */
bool release_goes_forward(const struct release *r);
/* True if the spec names the same autoscaler as the accepted spec. */
bool release_scaler_is_accepted(const struct release *r);
/* The autoscalerRef of the accepted spec that is still to be removed; NULL if none. */
struct json_object *release_scaler_to_leave(const struct release *r);
/* True if the canary has a size of its own: by spec.analysis.canaryScale, or because its share is a
 * share of pods. */
bool release_is_sized(const struct release *r);
/* True while a step with `match` is routed: the canary has all requests that match, and no others. */
bool release_is_at_match(const struct release *r);
/* The routed weight of the canary; 0 before the first one, and at a step with `match`. */
int release_step_weight(const struct release *r);
/* The canary's weight after `weight`, up to the maximum. */
int release_next_weight(const struct release *r, int weight);
/* The routed step of spec.analysis.steps; NULL if there is none: before the first one, after the
 * list was edited, and during a bake. */
const struct canary_step *release_step(const struct release *r);
/* "spec.analysis.steps[2]" */
const char *release_step_path(const struct release *r, const struct canary_step *step);
/* True if metrics, or rollout webhooks, of this name are checked at the routed step. */
bool release_checks(const struct release *r, const char *name);
bool release_calls(const struct release *r, const char *name);

/*
 * These plan the routes and record them in r->weights; they plan nothing if the router cannot split
 * traffic, or if the routes are already correct.
 *
 * release_route(): the canary's percentage of the requests, of the matched ones if the analysis
 * matches; mirroring ends. release_match(): the requests that a step matches to the canary.
 * release_route_everything(): all requests to the canary, matched or not. release_mirror(): the
 * primary serves, the canary gets a copy.
 */
enum rule_result release_route(struct release *r, int canary);
enum rule_result release_match(struct release *r);
enum rule_result release_route_everything(struct release *r);
enum rule_result release_mirror(struct release *r);

/* Cookies of session affinity. */

/* The cookies for this share of the canary. */
struct cookies affinity_cookies(struct release *r, int canary);

/* Sets of phases, for rules and queries. */

#define IN(phase) (1u << PHASE_##phase)

enum phases {
    IN_NONE = 1u << PHASE_NONE,
    INITIALISING = IN_NONE | IN(Initializing),
    IDLE = IN(Initialized) | IN(Succeeded) | IN(Failed), /* no release is under way */
    BEGINNING = IDLE | IN(Waiting),                      /* before a release, or before its gate */
    ANALYSING = IN(Progressing) | IN(WaitingPromotion),
    PROMOTING = IN(Promoting) | IN(Finalising),
    RUNNING = ANALYSING | PROMOTING,
    STARTED = BEGINNING | RUNNING, /* initialised */
    LIVING = INITIALISING | STARTED,
    ENDING = IN(Terminating) | IN(Terminated),
    EVERY = LIVING | ENDING,
};

#endif
