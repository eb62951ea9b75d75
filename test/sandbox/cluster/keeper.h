/*
 * A program that runs as long as we do. It is started again when it ends: at once when it has run
 * for a second, else after a pause.
 */
#ifndef CLUSTER_KEEPER_H
#define CLUSTER_KEEPER_H

#include "net/child/child.h"

/* The storage is the caller's; all but the first part is the keeper's own. */
struct keeper {
    struct loop *loop;
    const char *name; /* in the log */
    const char *argv[9];
    void (*before)(void *arg); /* called before each start; may be NULL */
    void *arg;
    struct child *child; /* NULL: it does not run */
    struct timer *pause;
    bool stopped;
};

void keeper_start(struct keeper *keeper); /* does nothing when it runs already */
void keeper_stop(struct keeper *keeper);  /* for good */

#endif
