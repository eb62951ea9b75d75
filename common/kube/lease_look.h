/*
 * Whether somebody holds a lease that is not ours. It is read every now and then, and judged by its
 * changes alone, never by the times that stand in it: one that changes lives; one that has not
 * changed for as long as its holder said and no less than patience_ms is gone, and after a third of
 * that one that nobody holds, or that is not there. Time in which it could not be read does not
 * count, for then nobody could renew it either.
 *
 * Requests pass the client's rate limit by. It must be freed before the client.
 */
#ifndef KUBE_LEASE_LOOK_H
#define KUBE_LEASE_LOOK_H

#include "kube/client.h"

enum lease_life { LEASE_LIFE_UNKNOWN, LEASE_LIVES, LEASE_GONE };

struct lease_look_spec {
    const char *namespace_, *name; /* copied */
    int64_t look_ms;               /* 0: 6 s; longer than a holder waits between two renewals */
    int64_t patience_ms;           /* 0: 30 s */
    /* After each look that was answered, from the loop; lease: as it is now, NULL: not there, or not
     * to be read; changed: the life is another than before. Must not free it. */
    void (*seen)(void *arg, struct json_object *lease, bool changed);
    void *arg;
};

struct lease_look;
/* Looks at once, and goes on until it is freed. */
struct lease_look *lease_look_new(struct loop *loop, struct kube_client *client,
                                  const struct lease_look_spec *spec);
void lease_look_free(struct lease_look *look); /* NULL is allowed */
enum lease_life lease_look_life(const struct lease_look *look);
/* Why it may not be read: it counts as living then. NULL: it may. Borrowed. */
const char *lease_look_trouble(const struct lease_look *look);
/* How many looks have begun, and the number of the last one that was answered, from 1; 0: none. */
int64_t lease_look_begun(const struct lease_look *look);
int64_t lease_look_answered(const struct lease_look *look);

#endif
