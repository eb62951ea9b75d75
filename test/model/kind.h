/*
 * The kinds of workloads that are released, as their own controllers treat them: which revision
 * they hold, whether it is ready, and what becomes of them. One row of the table is one kind.
 */
#ifndef MODEL_KIND_H
#define MODEL_KIND_H

#include <stdbool.h>

#include "test/pretend.h"

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
    /* Of a kind whose revisions are objects of their own ("revisions/NAME"): the name of the
     * latest, or of the primary; NULL: none yet. Settle, ready and stuck are of a revision then,
     * and the target says itself who gets which share. NULL: there is no such thing. */
    const char *(*named)(struct json_object *tree, bool primary);
    /* What Knative makes of the target. */
    void (*take_over)(struct json_object *tree);
};

/* NULL: there is no such kind. The Service of Knative is "Knative" here. */
const struct kind *kind_find(const char *kind);

#endif
