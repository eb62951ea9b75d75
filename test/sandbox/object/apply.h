/*
 * Server-side apply and metadata.managedFields (fieldsV1).
 *
 * Both functions are pure: the live object is never changed, the result is a new tree owned by the
 * arena. Neither prunes, defaults or validates, and neither touches resourceVersion or generation:
 * the server does that around them. Fields of metadata that nobody owns (name, namespace, uid,
 * resourceVersion, generation, creationTimestamp, selfLink, managedFields), apiVersion and kind are
 * never tracked. The caller drops beforehand what the endpoint does not write: status in a plain
 * apply, everything but metadata and status in one of the status subresource.
 */
#ifndef OBJECT_APPLY_H
#define OBJECT_APPLY_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "object/cause.h"
#include "object/typing.h"

enum { APPLY_MAX_MANAGER = 128, APPLY_MAX_UPDATERS = 10 };

struct apply_request {
    struct typing typing;
    const char *manager;     /* ?fieldManager=, 1 to APPLY_MAX_MANAGER printable bytes */
    const char *api_version; /* of the request, "apps/v1" */
    const char *subresource; /* "status", "scale", or NULL */
    int64_t now_ms;          /* wall clock */
    bool force;              /* apply only: take over fields in conflict */
};

/*
 * Merges the applied configuration into live (NULL: the object is new): sets its fields, removes
 * those that only this manager's earlier apply owned and that are no longer applied, and writes
 * managedFields.
 *
 * ERR_INVALID (ei->status 400 or 422): the configuration cannot be applied, e.g. a list item
 * without its key. ERR_CONFLICT (409): another manager owns fields with other values and force is
 * not set; conflicts holds one cause per field (CAUSE_CONFLICT) and ei->text the message for the
 * Status: "Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1:
 * .spec.replicas".
 */
enum err apply_merge(struct arena *arena, const struct apply_request *request,
                     struct json_object *live, struct json_object *applied,
                     struct json_object **out, struct causes *conflicts,
                     struct errinfo *ei) MUST_USE;

/*
 * For every other write (create, update, patch): records what changed between live (NULL: created)
 * and updated as owned by request->manager with operation Update, and takes it away from the
 * others. Returns updated with new managedFields, owned by the arena. managedFields: [] or [{}] in
 * updated clears them, as in Kubernetes.
 */
struct json_object *apply_track_update(struct arena *arena, const struct apply_request *request,
                                       struct json_object *live, struct json_object *updated);

#endif
