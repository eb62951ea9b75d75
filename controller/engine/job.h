/*
 * One Canary: when its rules run, and the run itself (read the Canary, decide, fetch missing
 * facts, decide again, apply the plan).
 *
 *   IDLE -> QUEUED -> READING -> FETCHING <-> (decide) -> APPLYING -> IDLE
 *
 * A run that calls webhooks or queries metrics gives up its place while it waits (ASKING), and
 * queues again for the answers (ANSWERED).
 *
 * An idle job has no timer unless its rules asked to be called again. A job has at most one run at
 * a time.
 */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include <stdbool.h>
#include <sys/queue.h>

#include "engine/context.h"
#include "engine/deps.h"
#include "engine/peer_controllers.h"

/*
 * --- slots.c: release slots limit the number of concurrent releases. Canaries without a slot wait
 * in a queue; when a release ends, the slot is offered to the first one with room in its namespace,
 * and later arrivals cannot overtake it. A release under way never waits.
 */

enum slot_state {
    SLOT_NONE,
    SLOT_WAITING, /* in the queue */
    SLOT_OFFERED, /* has a slot and is expected to begin */
    SLOT_HELD,    /* its release is under way */
};

/* One per Canary, embedded in the caller's object. All zero except the namespace: no slot. */
struct release_slot {
    TAILQ_ENTRY(release_slot) link;
    const char *namespace_; /* borrowed while the state is not SLOT_NONE */
    enum slot_state state;
};

struct release_slots;

/* A limit of 0 is no limit. called: from within the functions below, when a slot is offered. */
struct release_slots *release_slots_new(int max, int max_per_namespace,
                                        void (*called)(struct release_slot *slot));
void release_slots_free(struct release_slots *slots); /* the slots belong to the callers */

/* True if a release may begin now. */
bool release_slots_may_begin(const struct release_slots *slots, const struct release_slot *slot);
/*
 * SLOT_HELD: a release is under way, or begins. SLOT_WAITING: one would begin if it could.
 * SLOT_NONE: neither; required before the slot is freed. An offered slot that is not used goes to
 * the next Canary.
 */
void release_slots_set(struct release_slots *slots, struct release_slot *slot,
                       enum slot_state state);

/* Position among the waiting slots, from 1; 0 if this one does not wait. */
int release_slots_place(const struct release_slots *slots, const struct release_slot *slot);
int release_slots_waiting(const struct release_slots *slots);
int release_slots_under_way(const struct release_slots *slots); /* including offered slots */

/* --- jobs */

struct job;

struct job_owner {
    struct engine_context *context;
    struct deps_index *index;
    const struct claims *claims;
    struct peers *peers;
    struct release_slots *slots; /* made with job_called(); NULL once the owner is ending */
    /*
     * The resource of the event that caused the current call of job_wake(); NULL if there was
     * another cause. Static lifetime.
     */
    const struct kube_resource *changed;
    int64_t retry_ceiling_ms; /* the longest delay after a failure */
    bool observes;            /* shadow mode: no plan is applied, see shadow/shadow.h */
    /* The job wants to run: call job_run() when there is room. Continued runs come first. */
    void (*wants)(void *arg, struct job *job, bool goes_on);
    /* The job waits for answers and needs no room until it calls wants() again. */
    void (*waits)(void *arg, struct job *job);
    /* The run has ended. */
    void (*ended)(void *arg, struct job *job);
    void *arg;
};

/* The owner must outlive the job. */
struct job *job_new(const struct job_owner *owner, const char *namespace_, const char *name);
/* The Canary was deleted: sends the events left in its last plan. Call job_free() next. */
void job_gone(struct job *job);
void job_free(struct job *job); /* cancels the run; ended is not called */
const char *job_namespace(const struct job *job);
const char *job_name(const struct job *job);

/* Before the first run: sets whether the watch shows a release under way. */
void job_note_release(struct job *job, bool under_way);
/* True if a release is under way, as far as known. */
bool job_releases(const struct job *job);
/* Called when the job is offered a release slot. */
void job_called(struct release_slot *slot);

/* Called after each check of the lease of a peer controller. */
void job_note_peer(struct job *job, const struct peer *peer, bool changed);

/* An event occurred: runs the job, or runs it again after the current run. */
void job_wake(struct job *job);
void job_run(struct job *job);
/*
 * True if a change of only the status of an object wakes the job: it is running, or its last plan
 * depends on some object's status.
 */
bool job_hears_status(const struct job *job);

/* A snapshot for debugging. Texts are borrowed until the loop continues; times are monotonic. */
struct job_snapshot {
    const char *namespace_, *name, *label; /* label: "name.namespace" */
    const char *state;                     /* "idle", "queued", ... */
    bool idle;
    int64_t since_ms; /* when it entered the state */
    /* As read by the current run, or left by the last one; PHASE_NONE if unknown. */
    enum phase phase;
    const char *peer; /* lease of the peer controller that drives the Canary; NULL if none */
    enum peer_state peer_state;
    bool queued;      /* a release waits for a slot; its position: job_place() */
    int64_t wakes_ms; /* next run without any event; -1: none */
    /* Plural of a resource, "timer", "turn" or "leadership"; NULL if never woken. */
    const char *woken_by;
    int64_t woken_ms;
    uint64_t runs;           /* started by this process */
    bool run_again;          /* runs once more after the current run */
    int failures;            /* in a row */
    const char *failed_text; /* last failure reported; NULL: none since a run succeeded */
    int64_t failed_ms;
    /* The current run; began_ms is 0 if there is none. */
    int64_t began_ms;
    int rounds, conflicts;
    const struct fetch *fetch;   /* NULL if nothing is being fetched */
    const struct apply *apply;   /* NULL if no plan is being applied */
    const struct shadow *shadow; /* NULL unless in shadow mode */
    size_t bytes;                /* memory of each job, without texts */
};
void job_snapshot(const struct job *job, struct job_snapshot *out);
/* Position among the releases that wait for a slot, from 1; 0 if no release of this Canary
 * waits. */
int job_place(const struct job *job);

#endif
