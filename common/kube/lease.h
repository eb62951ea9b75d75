/*
 * Leader election over a coordination.k8s.io/v1 Lease, like Flagger's: the holder works, the others
 * wait.
 *
 * A holder renews every retry_ms, and retries failures until the deadline: if the server is
 * unavailable for less than renew_deadline_ms minus one retry_ms, it remains the leader.
 * lease_is_leader() turns false renew_deadline_ms after the last confirmed renewal was sent, by a
 * local clock that also runs during a suspend, without waiting for a reply or a timer. Other
 * candidates may take the lease only after it has not changed for its duration, which is longer;
 * the difference, by default 15 s, is the time left for writes that were begun as the leader
 * (kube/kube_client.h).
 *
 * Requests bypass the rate limit. The lease must be freed before the client.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include "kube/kube_client.h"

struct lease;

struct lease_spec {
    const char *namespace_;
    const char *name;          /* "flagger-leader-election" */
    const char *identity;      /* NULL for "hostname_uuid" */
    int64_t duration_ms;       /* 0: 30 s; written in whole seconds, rounded up */
    int64_t renew_deadline_ms; /* 0: 15 s; must be shorter than the duration */
    int64_t retry_ms;          /* 0: 5 s; must be shorter than the renew deadline */
    int64_t look_ms;           /* 0: 1 s; interval of reads while following */
    /* Key, value, key, value, ..., NULL; written when the lease is taken. May be NULL. Must outlive
     * the lease. */
    const char *const *annotations;
    /* Called from the loop on becoming leader and on losing it; not by lease_release() or
     * lease_free(). */
    void (*changed)(void *arg, bool leader);
    void *arg;
};

/* Starts to compete at once. Copies the strings. */
struct lease *lease_new(struct loop *loop, struct kube_client *client,
                        const struct lease_spec *spec);
bool lease_is_leader(const struct lease *lease);
const char *lease_identity(const struct lease *lease);
/* The last known holder, "" if none; for logs. */
const char *lease_holder(const struct lease *lease);
/*
 * Stops competing; a leader releases the lease so that other candidates need not wait for its
 * expiry. done is called once, from the loop, when that is done or has failed (within retry_ms). It
 * may free the lease. lease_is_leader() is false from here on.
 */
void lease_release(struct lease *lease, void (*done)(void *arg), void *arg);
/* For the end of a daemon: releases the lease if quiet, that is, if no write of the leader can
 * still be applied; otherwise the next leader waits until the lease expires. lease may be NULL;
 * done may be called at once. */
void lease_leave(struct lease *lease, bool quiet, void (*done)(void *arg), void *arg);
/* Called by `changed` when a replica loses its lease: the replica restarts, as in Flagger. */
void lease_lost(struct loop *loop);
/* Stops without releasing; done of a release in progress is not called. */
void lease_free(struct lease *lease);

/*
 * --- probes: detect if the lease of another program has a live holder. It is read at intervals,
 * and only its changes count, never the times in it: alive if it changes; gone if it has not
 * changed for its duration, but at least patience_ms. A lease that has no holder or does not exist
 * is gone after a third of patience_ms. Time without a successful read does not count, since the
 * holder could not renew it either.
 *
 * Requests bypass the rate limit. The probe must be freed before the client.
 */

enum lease_life { LEASE_LIFE_UNKNOWN, LEASE_LIFE_ALIVE, LEASE_LIFE_GONE };

struct lease_probe_spec {
    const char *namespace_, *name; /* copied */
    int64_t look_ms;               /* 0: 6 s; longer than the interval of renewals */
    int64_t patience_ms;           /* 0: 30 s */
    /* Called from the loop after each answered probe. lease: current object, NULL if it does not
     * exist or may not be read; changed: the life has changed. Must not free the probe. */
    void (*seen)(void *arg, struct json_object *lease, bool changed);
    void *arg;
};

struct lease_probe;
/* Probes at once, and repeats until freed. */
struct lease_probe *lease_probe_new(struct loop *loop, struct kube_client *client,
                                    const struct lease_probe_spec *spec);
void lease_probe_free(struct lease_probe *probe); /* NULL is allowed */
enum lease_life lease_probe_life(const struct lease_probe *probe);
/* The error if the lease may not be read, which counts as alive; else NULL. Borrowed. */
const char *lease_probe_trouble(const struct lease_probe *probe);
/* Number of probes begun, and the number of the last one answered, from 1; 0 if none. */
int64_t lease_probe_begun(const struct lease_probe *probe);
int64_t lease_probe_answered(const struct lease_probe *probe);

#endif
