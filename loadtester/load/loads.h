/*
 * All load tests from many pods: each is found by the name of its object, so that the webhooks of
 * one step ask about one load test. The last LOADS_KEPT are kept for people.
 */
#ifndef LOADTESTER_LOAD_LOADS_H
#define LOADTESTER_LOAD_LOADS_H

#include "loadtester/load/load_run.h"

enum {
    LOADS_KEPT = 256,
    LOADS_PER_NAMESPACE = 64, /* that have not ended, of Canaries of one namespace */
    LOADS_MAX_WAITERS = 256,  /* of one load test that is being created */
};

struct loads;

struct loads *loads_new(struct loop *loop, struct kube_client *kube,
                        const struct load_policy *policy, int64_t poll_ms);
/* Stops watching; waiters are called. The objects stay. */
void loads_stop(struct loads *loads);
void loads_free(struct loads *loads); /* before its kube_client */

/*
 * The load test of the order, which is created if there is none. The arena, which holds the order,
 * is taken. NULL: there is no room, *full is a sentence. Borrowed until the next loop iteration.
 */
const struct load_run *loads_ask(struct loads *loads, struct arena *arena,
                                 const struct load_order *order, const char **full);
/* Calls fn when the load test has been created or refused; only in the state LOAD_CREATING. False:
 * too many wait. run is NULL if the load tester stops. */
typedef void (*loads_fn)(void *arg, const struct load_run *run);
bool loads_wait(struct loads *loads, const struct load_run *run, loads_fn fn, void *arg);
/* Forgets a load test that was refused or deleted, once a webhook was answered with that: the next
 * one tries again. */
void loads_answered(struct loads *loads, const struct load_run *run);
/* The end of a release: deletes all objects of the order's Canary and kind. */
void loads_end(struct loads *loads, const struct load_order *order);
/* {"loadTests": [...]}, newest first; namespace and name NULL for all. Owned by the arena. */
const char *loads_list(const struct loads *loads, struct arena *arena, const char *namespace_,
                       const char *name);

#endif
