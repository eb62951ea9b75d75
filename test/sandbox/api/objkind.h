/*
 * The kinds that the sandbox serves: the built-in ones of kinds.yaml and, beside them, those
 * that applied CRDs define. A kind is found through the object store (objstore_kind); it is never
 * freed before the store, so pointers may be kept: `served` turns false when its CRD is deleted and
 * true again when it comes back.
 */
#ifndef SANDBOX_OBJKIND_H
#define SANDBOX_OBJKIND_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "object/table.h"

/* What was asked of an object; also the reason an admission hook is called. */
enum objop { OBJOP_CREATE, OBJOP_UPDATE, OBJOP_STATUS, OBJOP_DELETE };

struct objfail; /* objfail.h */
struct schema;  /* object/schema.h */

enum {
    OBJKIND_NAMESPACED = 1 << 0,
    OBJKIND_STATUS = 1 << 1, /* has the status subresource: plain writes keep the old status */
    OBJKIND_GENERATION =
        1 << 2, /* metadata.generation counts changes of anything but metadata and status */
    OBJKIND_ANNOTATIONS = 1 << 3, /* ... and of annotations, as for Deployments */
};

/* JSON paths of the scale subresource, e.g. ".spec.replicas". */
struct objscale {
    const char *spec_replicas;
    const char *status_replicas;
    const char *selector; /* NULL if none; a string or a LabelSelector */
};

struct objversion {
    const char *name; /* "v1" */
    bool served;
    const char *deprecation;            /* warning text; NULL: it is not deprecated */
    const struct schema *schema;        /* NULL: anything goes */
    const struct table_column *columns; /* what `kubectl get` prints; NULL: the age alone */
    unsigned flags;                     /* OBJKIND_STATUS as this version declares it */
    struct objscale scale;              /* spec_replicas NULL: no scale subresource */
};

struct objkind {
    const char *group; /* "" is core */
    const char *plural;
    const char *kind;
    const char *list_kind;
    const char *singular;
    const char *const *short_names;    /* NULL-ended, never NULL itself */
    const char *const *categories;     /* NULL-ended, never NULL itself */
    const struct objversion *versions; /* preferred first, as a CRD has them; ends with name NULL */
    const char *storage;               /* the version that objects are kept in */
    unsigned flags;                    /* of the storage version */
    bool served;
    bool custom; /* made by a CRD */

    /* Fills in what Kubernetes would; obj is in storage version and may be changed; old NULL on
     * create. May be NULL. */
    void (*defaults)(struct json_object *obj, struct json_object *old);
    /* Refuses with objfail_cause(); old NULL on create. May be NULL. */
    void (*validate)(struct objfail *fail, struct json_object *obj, struct json_object *old);
};

/* The built-in ones, read once for the whole process; ended by kind NULL. */
const struct objkind *objkind_builtin(void);

/* The kind that a CRD defines, but for its group and plural. */
struct objkind objkind_of_crd(struct arena *arena, struct json_object *crd);
/* The version in which its objects are stored; NULL when it names none. */
const char *objkind_storage_of(struct json_object *crd);

/* The named version, NULL if the kind has none such (served or not). */
const struct objversion *objkind_version(const struct objkind *kind, const char *version);
/* "apps/v1", or "v1" for the core group. Owned by the arena. */
const char *objkind_api_version(struct arena *arena, const struct objkind *kind,
                                const char *version);
/* "deployments.apps", or "pods" for the core group: how Status messages name a resource. */
const char *objkind_resource(struct arena *arena, const struct objkind *kind);
static inline bool objkind_namespaced(const struct objkind *kind)
{
    return (kind->flags & OBJKIND_NAMESPACED) != 0;
}

#endif
