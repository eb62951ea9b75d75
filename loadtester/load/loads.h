/* Load tests from many pods: a single load test, and the set of all of them. */
#ifndef LOADTESTER_LOAD_LOADS_H
#define LOADTESTER_LOAD_LOADS_H

#include "kube/kube_client.h"
#include "loadtester/load/template.h"

/*
 * --- One load test: its Job or TestRun is created and watched until it has ended, and the logs of
 * its pods are read, one after another, into one summary. The object's name is derived from the
 * order, so a second load tester, or a restarted one, finds the object (409) and watches it as
 * well.
 *
 * The object stays when this process ends. It has a deadline of its own.
 */

enum load_state {
    LOAD_CREATING,
    LOAD_RUNNING,
    LOAD_READING, /* it has ended, and its pods' logs are being read */
    LOAD_SUCCEEDED,
    LOAD_FAILED,  /* a pod failed, or its log could not be read: figures are incomplete */
    LOAD_REFUSED, /* the API server did not create it */
};

/* Outlives all runs. */
struct load_context {
    struct loop *loop;
    struct kube_client *kube;
    const struct load_policy *policy;
    int64_t poll_ms; /* interval between checks of a running object */
};

struct load_run {
    struct load_context *context;
    struct arena *arena; /* holds the order */
    struct load_order order;
    enum load_state state;
    char *message; /* for people: the event that it waits for, or its faults */
    struct load_counts counts;
    int64_t created_ms, ended_ms; /* wall clock; 0 if not yet */
    bool adopted;                 /* the object already existed */
    bool gone;                    /* the object was deleted before its end */
    void (*on_change)(void *arg, struct load_run *run);
    void *arg;
    /* private */
    struct kube_call *call;
    struct timer *timer;
    bool dropped;
    struct load_pod *pods; /* pods of the ended object */
    int n_pods, at_pod, counted, faults, attempts, waits;
    struct results *results; /* results of the pod whose log is being read */
    int64_t log_bytes;
};

/* Takes the order's arena. on_change is called from the loop at every change of the state. */
struct load_run *load_run_new(struct load_context *context, struct arena *arena,
                              const struct load_order *order,
                              void (*on_change)(void *arg, struct load_run *run), void *arg);
/* Stops watching; the object stays. on_change is no longer called. */
void load_run_free(struct load_run *run);
bool load_run_ended(const struct load_run *run);
/* A new object: {state, figures, pods, step, message, ...}; times in milliseconds. */
struct json_object *load_run_json(const struct load_run *run);
/* A percentile of all requests so far, in milliseconds; negative if there were none. */
double load_run_ms(const struct load_run *run, double percent);

/*
 * Deletes the objects of the order's Canary that a selector matches: all of them at the end of its
 * release; with `older`, those of other releases and revisions, and those of other steps that are
 * still running. Failures are logged, and the objects end at their deadline. done, which may be
 * NULL, is called once; why is NULL if all are deleted, else the first failure, owned by the
 * caller.
 */
typedef void (*load_swept_fn)(void *arg, const char *why);
void load_sweep(struct load_context *context, const struct kube_resource *resource,
                const struct load_order *order, bool older, load_swept_fn done, void *arg);

/*
 * --- All load tests from many pods: each is found by the name of its object, so that the webhooks
 * of one step refer to the same load test. The last LOADS_KEPT are kept for people.
 */
enum {
    LOADS_KEPT = 256,
    LOADS_PER_NAMESPACE = 64, /* unfinished ones, of Canaries in one namespace */
    LOADS_MAX_WAITERS = 256,  /* per load test that is being created */
};

struct loads;

struct loads *loads_new(struct loop *loop, struct kube_client *kube,
                        const struct load_policy *policy, int64_t poll_ms);
/* Stops watching; waiters are called. The objects stay. */
void loads_stop(struct loads *loads);
void loads_free(struct loads *loads); /* must come before its kube_client is freed */

/*
 * The load test of the order, which is created if it does not exist. The arena, which holds the
 * order, is taken. NULL: there is no room, and *full is a sentence. Borrowed until the next loop
 * iteration.
 */
const struct load_run *loads_ask(struct loads *loads, struct arena *arena,
                                 const struct load_order *order, const char **full);
/* Calls fn when the load test has been created or refused; only in the state LOAD_CREATING.
 * False: there are too many waiters. run is NULL if the load tester stops. */
typedef void (*loads_fn)(void *arg, const struct load_run *run);
bool loads_wait(struct loads *loads, const struct load_run *run, loads_fn fn, void *arg);
/* Forgets a load test that was refused or deleted, once a webhook has received that answer: the
 * next webhook tries again. */
void loads_answered(struct loads *loads, const struct load_run *run);
/* The end of a release: deletes all objects of the order's Canary and kind, even one that is
 * being created. done is the same as in load_sweep(). */
void loads_end(struct loads *loads, const struct load_order *order, load_swept_fn done, void *arg);
/* {"loadTests": [...]}, newest first; namespace and name NULL for all. Owned by the arena. */
const char *loads_list(const struct loads *loads, struct arena *arena, const char *namespace_,
                       const char *name);

#endif
