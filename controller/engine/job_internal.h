/*
 * What a job is, shared by
 *
 *   job.c          when it runs: timers, what wakes it, its states and its end; how it stands, for
 *                  those who look only; what an observer found
 *   job_run.c      the run
 *   job_canary.c   what the run learns of its Canary before the rules are asked
 *   job_failure.c  what goes wrong in a run
 *
 * job_run.c uses the others, and none of them uses it.
 */
#ifndef ENGINE_JOB_INTERNAL_H
#define ENGINE_JOB_INTERNAL_H

#include "base/machine.h"
#include "engine/claims.h"
#include "engine/job.h"
#include "observe/observer.h"
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
    struct other *other; /* another controller that drives it, or from which it was taken over */
    int64_t taken;       /* with the look at that one that must come first; 0: it was not */
    bool left;           /* to the other one, which has been told */
    bool claimed;        /* our name was written, and has not been seen yet */
    struct deps *deps;
    struct observer *observer; /* decides in place of the rules, and plans nothing; NULL: none */
    struct timer *timer;
    int64_t timer_at; /* monotonic: when it fires */
    int64_t burst_since;
    int burst_runs;            /* that events asked for since then */
    int64_t warned_generation; /* of the spec whose webhooks were looked at */
    bool cadence_known;        /* wake.next_due holds what the status told at the first tick */
    int failures;              /* in a row */
    char *failed_text; /* the last of them that was told, NULL: none since a run succeeded */
    int64_t failed_at; /* monotonic: when it was */
    char *unwritable;  /* why the last write was denied, NULL: it was not */
    bool tells;        /* ... which the rules have not told yet */
    /* The last write that was refused for good, until a plan is carried out; text NULL: none was. */
    struct {
        char *resource, *name, *text;
        bool tells;
    } refused;
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
/* The API server denied a write: the rules tell it with the next run, once. */
void job_denied(struct job *job, const char *text);
/* ... or refused it for good: the same. */
void job_refused(struct job *job, const struct effect *effect, const char *text);
/* How long to wait before the next try; longer each time. */
int64_t job_retry_ms(struct job *job);
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
/* What its status says about who drives it, and how that one stands. */
void job_see_other(struct job *job);
void job_set_left(struct job *job, bool left);
/* The plan that is about to be carried out, or has been, writes our name. */
void job_note_claim(struct job *job);
/* How this Canary stands to others of the same target or Services, whose gauges would have the same
 * labels. */
void job_judge(struct job *job, struct json_object *tree);
/* Logs and counts what the observer of a run has found. */
void job_tell_observed(const struct job *job);
/* Once a spec: a Secret goes to whoever answers where nobody verifies who that is. */
void job_warn_of_secrets(struct job *job);

#endif
