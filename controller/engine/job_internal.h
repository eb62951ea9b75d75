/* What a job is, shared by job.c, which runs it, and job_look.c, which only looks. */
#ifndef ENGINE_JOB_INTERNAL_H
#define ENGINE_JOB_INTERNAL_H

#include "engine/claims.h"
#include "engine/job.h"
#include "tick/wake.h"

enum job_state {
    JOB_IDLE,
    JOB_QUEUED,
    JOB_READING,
    JOB_GATHERING,
    JOB_ASKING,   /* waits for webhooks and metrics, which may take long: the owner has its place */
    JOB_ANSWERED, /* queued once more, with the answers */
    JOB_PERFORMING,
    JOB_STATES
};

struct job {
    const struct job_owner *owner;
    char *namespace_, *name;
    char *label;  /* "name.namespace", for the log */
    char *target; /* targetRef.name once known, for the gauges */
    enum job_state state;
    int64_t since;        /* monotonic: when it entered the state */
    const char *woken_by; /* see struct job_look */
    int64_t woken_at;
    uint32_t runs;
    struct wake wake;
    bool woken; /* again, after this run */
    struct deps *deps;
    struct timer *timer;
    int64_t timer_at; /* monotonic: when it fires */
    int64_t burst_since;
    int burst_runs;            /* that events asked for since then */
    int64_t warned_generation; /* of the spec whose webhooks were looked at */
    bool cadence_known;        /* wake.next_due holds what the status told at the first tick */
    int failures;              /* in a row */
    char *failed_text; /* the last of them that was told, NULL: none since a run succeeded */
    int64_t failed_at; /* monotonic: when it was */
    /* of the run under way */
    struct arena *arena;
    struct canary canary;
    struct tick *tick;
    struct rivalry rivalry;
    int64_t began; /* monotonic */
    int rounds, conflicts;
    struct timer *pause; /* after a conflict */
    struct read_one *read;
    struct gather *gather;
    enum err asked; /* how the round ended that held no place */
    struct errinfo asked_info;
    struct perform *perform;
};

extern const char *const job_state_names[JOB_STATES];

#endif
