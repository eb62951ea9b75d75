/* What of the simulated cluster depends on the kind of the target: its objects, and how the cluster
 * keeps their status. */
#ifndef GOLDEN_WORLD_KIND_H
#define GOLDEN_WORLD_KIND_H

#include "world.h"

struct world_kind {
    const char *kind;
    const char *group;  /* how apiVersion begins; NULL: anyhow */
    const char *plural; /* "deployments" */
    const char *target; /* the target at revision podinfo:1; JSON with single quotes */
    /* The patch that makes it another revision. */
    const char *(*push)(struct world *world, const char *image);
    /* The image of "podinfo" or "podinfo-primary"; NULL if there is none. */
    const char *(*image)(struct world *world, const char *name);
    bool (*at_zero)(struct json_object *object);
    bool (*serves)(struct json_object *object);
    /* Some pod answers behind a Service of this name. */
    bool (*answers)(struct world *world, const char *service);
    /* Percent of the canary; NULL: what the HTTPRoute says. */
    int (*share)(struct world *world, int *primary);
    /* New objects that the cluster makes; NULL if none. */
    void (*grow)(struct world *world);
    /* What the cluster patches in when it has caught up with `object`. stuck: its pods never get
     * ready; slow: not yet. */
    struct json_object *(*settle)(struct world *world, struct json_object *object, bool stuck,
                                  bool slow);
};

/* That of the Canary's targetRef; a Deployment where this world knows no better. */
const struct world_kind *world_kind_of(struct world *world);

/* A workload that answers at this Service: one of the Canary's, or one of another owner. NULL if none.
 */
const char *world_kind_selected(struct world *world, const char *service, bool own);

/* The Service selects the pods of this workload, and not those of the other one. */
bool world_kind_leads(struct json_object *service, struct json_object *workload,
                      struct json_object *other);

#endif
