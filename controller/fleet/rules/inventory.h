/*
 * The inventory of an Application: the objects made for it, by cluster. With it they are found
 * again when the Application names another workload or other clusters. It is an annotation, because
 * Kurator's CRD prunes unknown fields of the status.
 *
 *   {"clusters": {"one": "one-kubeconfig/value"},
 *    "policies": {"shop-0": [{"clusters": ["one"], "objects": ["Canary test/podinfo"]}]}}
 *
 * Clusters with the same objects share a group. Untrusted when read: any editor of the Application
 * may have changed it. Pure; everything lives in the arena.
 */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

#include "base/json.h"

#define FLEET_INVENTORY "flagger.app/inventory"
/* The finalizer, set together with it. */
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

/* NULL is an empty inventory. ERR_INVALID if the text was not written by this program; ei says
 * where. */
enum err inventory_read(struct arena *arena, const char *text, struct inventory *out,
                        struct errinfo *ei) MUST_USE;
/* Omits entries without objects. May be longer than INVENTORY_MAX. */
const char *inventory_text(struct arena *arena, const struct inventory_entry *entries,
                           size_t count);

/* The objects of an entry as fleet_plan() takes and gives them. */
struct json_object *inventory_list(struct arena *arena, const char *objects);
const char *inventory_objects(struct arena *arena, struct json_object *list);
/* True if each line of `part` is in `whole`. */
bool inventory_has(const char *whole, const char *part);
/* The union of the lines. */
const char *inventory_join(struct arena *arena, const char *one, const char *other);

#endif
