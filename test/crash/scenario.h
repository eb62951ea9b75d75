/*
 * The releases that are tortured: what is there, what changes, and where it must end.
 *
 * Rows of test/crash/scenarios.yaml. Every scenario begins with a Deployment podinfo, the
 * ConfigMap that it reads and a Canary for it, in namespace test, changed as the scenario says.
 */
#ifndef TORTURE_SCENARIO_H
#define TORTURE_SCENARIO_H

#include <stdbool.h>

#include "base/json.h"

/* Something that a person does. */
struct deed {
    const char *what; /* as a row calls the object */
    const char *group, *plural, *name;
    struct json_object *patch; /* an RFC 7386 patch; NULL: the object is deleted */
    const char *ask;           /* a ReleaseRequest with this action is made instead, or NULL */
};

enum { DEEDS_MAX = 3 };

struct scenario {
    const char *name;
    struct json_object *canary;    /* patch of the Canary, NULL if none */
    const char *target;            /* what of the base; NULL: the Deployment */
    struct json_object *objects;   /* array of further objects, or NULL */
    struct deed change[DEEDS_MAX]; /* what starts the release; none: the initialisation is tortured
                                    */
    struct deed meanwhile[DEEDS_MAX]; /* when the canary first has traffic */
    /* Metrics are bad, or the rollback hook agrees, when status.canaryWeight or status.iterations
     * is this; 0 if never. */
    int bad_from, back_from;
    int slow_ms; /* workloads take so long to get ready */
    bool twice;  /* after the kill, the next controller is killed at its first write as well */
    bool elects; /* runs with leader election */
    bool calls;  /* killed at metric queries and webhooks too, not only at writes */
    const char *phase; /* where it ends; NULL: the Canary is gone */
    const char *image; /* of the primary, NULL: not looked at */
};

/* All of them, from below the working folder, as long as the arena lives. Where the file cannot be
 * read, tells why and ends the program. */
const struct scenario *scenarios_read(struct arena *arena, size_t *count);
/* The objects that are there at the beginning, in the order they are made. Owned by the arena. */
struct json_object *scenario_objects(struct arena *arena, const struct scenario *scenario);

#endif
