/*
 * The objects of one router in a cluster that knows its mesh's schemas: what the router plans is
 * done as an API server would, and fails the test where that would refuse or prune it.
 */
#ifndef GOLDEN_STAGE_H
#define GOLDEN_STAGE_H

#include "router/router.h"

/* Resources of one router. */
enum { STAGE_SCHEMAS = 8 };

/* The cluster of one Canary; all of it is the arena's. */
struct stage {
    struct arena *arena;
    const struct router *router;
    struct settings settings;
    struct canary canary;
    struct json_object *crds;
    struct {
        const struct kube_resource *resource;
        struct schema *schema;
    } schemas[STAGE_SCHEMAS];
    struct json_object *objects; /* "virtualservices/podinfo" */
};

/* Through which a Canary is taken: each with what the mesh and the Canary know of it. */
enum { STAGE_STATES = 5 };

/* The CRDs of a mesh: a file of test/data/crds. */
struct json_object *stage_crds(struct arena *arena, const char *file);
/* That of our own CRD. */
struct schema *stage_canary_schema(struct arena *arena);
/* A Canary podinfo.test with this spec, of a Deployment where that names no target. */
struct json_object *stage_canary(struct arena *arena, struct json_object *spec);
/* crds: those of the mesh, NULL without any. found: what is there before, a list of
 * {key, object}. NULL, or why the router refuses the Canary; fails the test where nobody can read it.
 */
const char *stage_init(struct stage *stage, struct arena *arena, const char *provider,
                       struct json_object *crds, struct json_object *found,
                       struct json_object *canary);
/* The objects are there. */
void stage_reconcile(struct stage *stage);
/* ... and route this state; neither a look at them nor the same once more changes anything, and
 * what is read is what was written. */
void stage_set(struct stage *stage, int state);
/* The Canary goes; nothing is left to do behind that. */
void stage_give_back(struct stage *stage);

#endif
