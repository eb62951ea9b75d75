/*
 * What a job is, shared by
 *
 *   job.c          when it runs: timers, what wakes it, its states and its end
 *   job_run.c      the run
 *   job_canary.c   what the run learns of its Canary before the rules are asked
 *   job_failure.c  what goes wrong in a run
 *   job_look.c     how it stands, for those who look only
 *
 * job_run.c uses the others, and none of them uses it.
 */
#ifndef ENGINE_JOB_INTERNAL_H
#define ENGINE_JOB_INTERNAL_H

#include "base/machine.h"
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
    JOB_PERFORMING
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
    struct turn turn;
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
    /* of the run under way; what is large lies in its arena */
    struct arena *arena;
    struct canary *canary;
    struct tick *tick;
    struct rivalry rivalry;
    int64_t began; /* monotonic */
    int rounds, conflicts;
    struct timer *pause; /* after a conflict, or until the watch shows the Canary */
    int64_t patience;    /* monotonic: until when the watch is waited for; 0: not yet */
    struct read_one *read;
    struct gather *gather;
    enum err asked; /* how the round ended that held no place */
    struct errinfo *asked_info;
    struct perform *perform;
};

extern const struct machine job_machine;
void job_set_state(struct job *job, enum job_state state);
void job_set_turn(struct job *job, enum turn_state state);
/* Ends the run; wakes again after `ms`, or not by itself when ms is negative. */
void job_end(struct job *job, int64_t ms);

/* The run cannot go on, and ends; the release holds as it stands, and everything is derived anew on
 * the next try. */
void job_fail(struct job *job, enum err err, const struct errinfo *info);
/* A plan was carried out: the failures before it are over. */
void job_recover(struct job *job);

/* The object takes too much memory: its outline says whom to tell. */
void job_take_outline(struct job *job, struct json_object *outline);
/*
 * A spec that cannot be read is told once: the condition Accepted=False remembers the sentence. It
 * is touched no further until it changes. True: a plan was made that does so; false: all is done.
 */
bool job_take_mistake(struct job *job, struct json_object *tree, const struct errinfo *info);
/* A step is due, and not only a repair. */
bool job_is_due(struct job *job);
/* How this Canary stands to others of the same target or Services, whose gauges would have the same
 * labels. */
void job_judge(struct job *job, struct json_object *tree);
/* Once a spec: a Secret goes to whoever answers where nobody verifies who that is. */
void job_warn_of_secrets(struct job *job);

#endif
