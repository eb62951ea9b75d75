/*
 * What was made for an Application, and where, as it stands in an annotation of it: so it is found
 * again when the Application names another workload, or other clusters. It is an annotation and not a
 * part of the status, for the definition of Kurator drops what it does not know of a status.
 *
 *   {"clusters": {"one": "one-kubeconfig/value"},
 *    "policies": {"shop-0": [{"clusters": ["one"], "objects": ["Canary test/podinfo"]}]}}
 *
 * Clusters with the same objects stand in one group. Outside bytes when read: whoever may edit the
 * Application may have changed it. Pure; everything lives in the arena.
 */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

#include "base/json.h"

#define FLEET_INVENTORY "flagger.app/inventory"
/* The finalizer, which is put there together with it. */
#define FLEET_FINALIZER "flagger.app/fleet"

enum { INVENTORY_MAX = 200 * 1024 }; /* bytes; all annotations of an object have 256 KiB */

struct inventory_entry {
    const char *policy, *cluster;
    const char *access; /* "SECRET" or "SECRET/KEY"; "" for the cluster of the Application itself */
    const char *objects; /* a line each, sorted: "Canary NAMESPACE/NAME"; "" if none */
};

struct inventory {
    struct inventory_entry *entries;
    size_t count;
};

/* text NULL is an empty one. ERR_INVALID: it is none that we could have written, and says where. */
enum err inventory_read(struct arena *arena, const char *text, struct inventory *out,
                        struct errinfo *ei) MUST_USE;
/* Entries without objects are left out. It may be longer than INVENTORY_MAX: see there. */
const char *inventory_text(struct arena *arena, const struct inventory_entry *entries,
                           size_t count);

/* The objects of an entry as fleet_plan() takes and gives them. */
struct json_object *inventory_list(struct arena *arena, const char *objects);
const char *inventory_objects(struct arena *arena, struct json_object *list);
/* Each line of `part` is one of `whole`. */
bool inventory_has(const char *whole, const char *part);
/* The lines of both. */
const char *inventory_join(struct arena *arena, const char *one, const char *other);

#endif
