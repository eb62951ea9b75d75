/*
 * Probes whether a lease of another program has a live holder. It is read at intervals, and only
 * its changes count, never the times in it: alive if it changes; gone if it has not changed for its
 * duration, but at least patience_ms, or for a third of that if it has no holder or does not exist.
 * Time without a successful read does not count, since the holder could not renew it either.
 *
 * Requests bypass the rate limit. It must be freed before the client.
 */
#ifndef KUBE_LEASE_PROBE_H
#define KUBE_LEASE_PROBE_H

#include "kube/client.h"

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
