/*
 * One Canary: when its rules run, and the run itself (read the Canary, decide, fetch what is
 * missing, decide again, carry out the plan).
 *
 *   IDLE -> QUEUED -> READING -> GATHERING <-> (decide) -> PERFORMING -> IDLE
 *
 * A run that asks webhooks or metrics gives its place back for as long as that takes (ASKING), and
 * queues once more when it has the answers (ANSWERED).
 *
 * An idle job has no timer unless its rules asked to be called again. At most one run of a job is
 * under way.
 */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include "engine/context.h"
#include "engine/deps.h"
#include "engine/others.h"
#include "engine/turns.h"

struct job;

struct job_owner {
    struct engine_context *context;
    struct deps_index *index;
    const struct claims *claims;
    struct others *others;
    struct turns *turns; /* made with job_called(); NULL once the owner ends */
    /* What the event that is being told is about, while job_wake() is called for one; NULL: for
     * another reason. Static lifetime. */
    const struct kube_resource *changed;
    int64_t retry_ceiling_ms; /* the longest wait after a failure */
    bool observes;            /* no plan is carried out: see observe/observer.h */
    /* The job wants to run: call job_run() when there is room; first those that go on with a run.
     */
    void (*wants)(void *arg, struct job *job, bool goes_on);
    /* It waits for others and needs no room until it wants to go on. */
    void (*waits)(void *arg, struct job *job);
    /* Its run has ended. */
    void (*ended)(void *arg, struct job *job);
    void *arg;
};

/* The owner must outlive the job. */
struct job *job_new(const struct job_owner *owner, const char *namespace_, const char *name);
/* The Canary is gone: the events that its last plan still has are sent. Call job_free() next. */
void job_gone(struct job *job);
void job_free(struct job *job); /* cancels what is under way; ended is not called */
const char *job_namespace(const struct job *job);
const char *job_name(const struct job *job);

/* Before its first run: whether the watch shows a release of it under way. */
void job_note_release(struct job *job, bool under_way);
/* A release of it is under way, as far as is known. */
bool job_releases(const struct job *job);
/* The turn of a job has come. */
void job_called(struct turn *turn);

/* Another controller was looked at. */
void job_note_other(struct job *job, const struct other *other, bool changed);

/* Something happened: run, or run once more after the run that is under way. */
void job_wake(struct job *job);
void job_run(struct job *job);
/* Whether a change of nothing but an object's status wakes it: it runs, or its last plan read the
 * status of some object. */
bool job_hears_status(const struct job *job);

/* How a job stands now, for those who look only. Texts are borrowed until the loop turns; times are
 * monotonic. */
struct job_look {
    const char *namespace_, *name, *label; /* label: "name.namespace" */
    const char *state;                     /* "idle", "queued", ... */
    bool idle;
    int64_t since_ms;  /* when it entered the state */
    enum phase phase;  /* as the run reads it, or the last one left it; PHASE_NONE: not known yet */
    const char *other; /* the lease of another controller that drives it; NULL: none */
    enum other_state other_state;
    bool queued;      /* a release of it waits for its turn; its place: job_place() */
    int64_t wakes_ms; /* when it runs without any event, -1: not at all */
    const char
        *woken_by; /* the plural of a resource, "timer", "turn" or "leadership"; NULL: by nobody */
    int64_t woken_ms;
    uint64_t runs;           /* begun by this process */
    bool again;              /* it runs once more after the run under way */
    int failures;            /* in a row */
    const char *failed_text; /* the last failure that was told, NULL: none since a run succeeded */
    int64_t failed_ms;
    /* Of the run under way; began_ms 0: there is none. */
    int64_t began_ms;
    int rounds, conflicts;
    const struct gather *gather;     /* NULL: asks for nothing */
    const struct perform *perform;   /* NULL: writes nothing */
    const struct observer *observer; /* NULL: this process looks after the Canary itself */
    size_t bytes;                    /* of memory that every job takes, texts apart */
};
void job_look(const struct job *job, struct job_look *out);
/* Among the releases that wait for their turn, from 1; 0: none of it waits. */
int job_place(const struct job *job);

#endif
