/*
 * Leader election over a coordination.k8s.io/v1 Lease, as Flagger's: whoever holds it works, the
 * others wait.
 *
 * A holder renews every retry_ms, and tries again until the deadline what fails: when the server is
 * away for less than renew_deadline_ms less one retry_ms, it stays the leader. lease_is_leader()
 * turns false renew_deadline_ms after the last renewal that was confirmed was sent, by a local
 * clock that also runs through a suspend, and never waits for a reply or a timer to say so. Others
 * may take the lease only when they have not seen it change for its duration, which is longer; a
 * write that was begun as the leader therefore has the difference to end in, by default the 15 s that
 * a request may take (kube/client.h).
 *
 * Requests pass the client's rate limit by. The lease must be freed before the client.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include "kube/client.h"

struct lease;

struct lease_spec {
    const char *namespace_;
    const char *name;          /* "flagger-leader-election" */
    const char *identity;      /* NULL: "hostname_uuid" */
    int64_t duration_ms;       /* 0: 30 s; told to others in whole seconds, rounded up */
    int64_t renew_deadline_ms; /* 0: 15 s; must be shorter than the duration */
    int64_t retry_ms;          /* 0: 5 s; must be shorter than the renew deadline */
    int64_t look_ms;           /* 0: 1 s; how often one that waits looks at it */
    /* Key, value, key, value, ..., NULL; written when it is taken. NULL: none. They must outlive the
     * lease. */
    const char *const *annotations;
    /* On becoming leader and on losing it, from the loop; not on lease_release() or lease_free().
     */
    void (*changed)(void *arg, bool leader);
    void *arg;
};

/* Starts to compete at once. The strings are copied. */
struct lease *lease_new(struct loop *loop, struct kube_client *client,
                        const struct lease_spec *spec);
bool lease_is_leader(const struct lease *lease);
const char *lease_identity(const struct lease *lease);
/* Who holds it as far as is known, "" if nobody; for logs. */
const char *lease_holder(const struct lease *lease);
/*
 * Stops competing; a leader gives the lease back so that another need not wait for its end. done is
 * called once, from the loop, when that is done or has failed (within retry_ms). It may free the
 * lease. lease_is_leader() is false from here on.
 */
void lease_release(struct lease *lease, void (*done)(void *arg), void *arg);
/* Stops without giving back; done of a release under way is not called any more. */
void lease_free(struct lease *lease);

#endif
