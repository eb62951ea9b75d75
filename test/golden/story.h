/* Releases that searches walk through in many ways: rows of test/golden/stories.yaml. */
#ifndef GOLDEN_STORY_H
#define GOLDEN_STORY_H

#include "world.h"

/* Texts that a row does not have are NULL; those of objects are JSON. */
struct story {
    const char *name;
    const char *canary;       /* patch of the Canary */
    const char *image;        /* the new revision, NULL: only the initialisation */
    const char *metrics;      /* what the metrics say */
    const char *meanwhile;    /* pushed when the weight is first above zero */
    const char *config;       /* patched into the ConfigMap at the same moment */
    const char *later_canary; /* patched into the Canary at the same moment */
    const char *rollback;     /* hooks that ask for a rollback from that moment */
    const char *asks;         /* what a person asks with a ReleaseRequest at that moment */
    const char *closed;       /* gates, from the first moment on */
    const char *phase;        /* where it ends */
    const char *primary;      /* and with which image on the primary */
    const char *weights;      /* NULL: 100/0 */
    int load;                 /* that autoscalers follow, in pods */
    int room;                 /* for the primary's, 0: for all */
    bool once;                /* the rollback is asked for once, and then no more */
    bool immutable;           /* the ConfigMap */
    bool bare;                /* without ConfigMap; deleted: no route is looked at */
};

/* The stories of this list of the file, "cut_off" or "deleted"; they live in the arena. Fails the
 * test where a row has a key that is not known. */
struct story *story_read(struct arena *arena, const char *list, size_t *count);

#endif
