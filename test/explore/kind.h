/*
 * The kinds of workloads that are released, as their own controllers treat them: which revision
 * they hold, whether it is ready, and what becomes of them. One row of the table is one kind.
 */
#ifndef EXPLORE_KIND_H
#define EXPLORE_KIND_H

#include <stdbool.h>

#include "base/json.h"

enum health { HEALTH_READY, HEALTH_STARTING, HEALTH_STUCK };

struct kind {
    const char *kind;   /* "Deployment" */
    const char *plural; /* "deployments" */
    const char *object; /* the target at first, with revision 1 */
    int (*revision)(struct json_object *tree);
    /* Changes a copy of the object. */
    void (*push)(struct json_object *tree, int revision);
    /* What its controller makes of it: the last change is seen, its pods are as `health` says.
     * False: it cannot be so. */
    bool (*settle)(struct json_object *tree, enum health health);
    bool (*ready)(struct json_object *tree);
    bool (*stuck)(struct json_object *tree); /* past its deadline */
    bool (*at_zero)(struct json_object *tree);
    /* The canary's Service is a copy of the target, which nobody but its owner writes. */
    bool copied;
};

/* NULL: there is no such kind. */
const struct kind *kind_find(const char *kind);

#endif
