/*
 * Shared by
 *
 *   job.c          states, timers, wake-ups, failures and the end of a run; snapshots
 *   job_run.c      the run
 *
 * job_run.c calls job.c, never the other way round.
 */
#ifndef ENGINE_JOB_INTERNAL_H
#define ENGINE_JOB_INTERNAL_H

#include "base/machine.h"
#include "engine/claims.h"
#include "engine/job.h"
#include "shadow/shadow.h"
#include "tick/plan.h"
#include "tick/wake.h"

enum job_state {
    JOB_IDLE,
    JOB_QUEUED,
    JOB_READING,
    JOB_FETCHING,
    JOB_ASKING,   /* waits for webhooks and metrics, maybe long; others may use its place */
    JOB_ANSWERED, /* queued again, with the answers */
    JOB_APPLYING
};

struct job {
    const struct job_owner *owner;
    char *namespace_, *name;
    char *label;  /* "name.namespace", for the log */
    char *target; /* targetRef.name once known, for metrics */
    enum job_state state;
    int64_t since;        /* monotonic: when it entered the state */
    const char *woken_by; /* see struct job_snapshot */
    int64_t woken_at;
    uint32_t runs;
    struct wake wake;
    bool woken; /* run again after this run */
    struct release_slot slot;
    struct peer *peer; /* controller that owns, or owned, this Canary */
    int64_t taken;     /* lease check due before we act; 0: no controller was replaced */
    bool left;         /* left to the peer, as reported */
    bool claimed;      /* our name was written and has not been read back yet */
    struct deps *deps;
    struct shadow *shadow; /* replaces the rules in shadow mode; NULL otherwise */
    struct timer *timer;
    int64_t timer_at; /* monotonic: when it fires */
    int64_t burst_since;
    int burst_runs;            /* runs caused by events since burst_since */
    int64_t warned_generation; /* generation of the spec whose webhooks were last checked */
    bool cadence_known;        /* wake.next_due was set from the status at the first tick */
    int failures;              /* in a row */
    char *failed_text;         /* last failure reported; NULL: none since a run succeeded */
    int64_t failed_at;         /* monotonic, of failed_text */
    char *unwritable;          /* the reason why the last write was denied; NULL if it was not */
    bool tells;                /* the rules have not reported it yet */
    /* The last write that was rejected permanently, until a plan is applied; text is NULL if none
     * was.
     */
    struct {
        char *resource, *name, *text;
        bool tells;
    } refused;
    /* of the current run; large data lives in its arena */
    struct arena *arena;
    struct canary *canary;
    struct tick *tick;
    struct claim_conflict claim_conflict;
    int64_t began; /* monotonic */
    int rounds, conflicts;
    struct timer *pause; /* after a conflict, or until the watch shows the Canary */
    int64_t patience;    /* monotonic deadline for the watch; 0: not waiting yet */
    struct object_read *read;
    struct fetch *fetch;
    enum err asked; /* result of the round that ran without a place */
    struct errinfo *asked_info;
    struct apply *apply;
};

extern const struct machine job_machine;
void job_set_state(struct job *job, enum job_state state);
void job_set_slot(struct job *job, enum slot_state state);
/* Ends the run; wakes again after ms, or only by events if ms is negative. */
void job_end(struct job *job, int64_t ms);

/* Ends a run that cannot continue: the release holds, and the next run derives everything anew. */
void job_fail(struct job *job, enum err err, const struct errinfo *info);
/* The API server denied a write: the rules report it once, in the next run. */
void job_denied(struct job *job, const char *text);
/* Like job_denied(), for a write that was rejected permanently. */
void job_refused(struct job *job, const struct effect *effect, const char *text);
/* Delay before the next try; grows with each failure. */
int64_t job_retry_ms(struct job *job);
/* A plan was applied: resets the failures. */
void job_recover(struct job *job);

void job_set_left(struct job *job, bool left);
/* Logs and counts the findings of the observer. */
void job_report_observed(const struct job *job);

#endif
