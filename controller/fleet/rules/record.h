/*
 * The record of an Application, kept on the Application itself: its inventory and its status. Pure;
 * everything lives in the arena.
 *
 * The inventory lists the objects created for it, by cluster. It is needed to find them again when
 * the Application names another workload or other clusters. It is an annotation, because Kurator's
 * CRD prunes unknown fields of the status.
 *
 *   {"clusters": {"one": "one-kubeconfig/value"},
 *    "policies": {"shop-0": [{"clusters": ["one"], "objects": ["Canary test/podinfo"]}]}}
 *
 * Clusters with the same objects share a group. Untrusted when read: any editor of the Application
 * may have changed it.
 */
#ifndef FLEET_RECORD_H
#define FLEET_RECORD_H

#include "base/json.h"
#include "proto/phase.h"

#define FLEET_INVENTORY "flagger.app/inventory"
/* The finalizer, set together with the inventory. */
#define FLEET_FINALIZER "flagger.app/fleet"

enum {
    INVENTORY_MAX = 200 * 1024
}; /* bytes; the limit for all annotations of an object is 256 KiB */

struct inventory_entry {
    const char *policy, *cluster;
    const char *access; /* "SECRET" or "SECRET/KEY"; "" for the cluster of the Application itself */
    const char *objects; /* one line each, sorted: "Canary NAMESPACE/NAME"; "" if none */
};

struct inventory {
    struct inventory_entry *entries;
    size_t count;
};

/* NULL is an empty inventory. ERR_INVALID if this program did not write the text; ei says where. */
enum err inventory_read(struct arena *arena, const char *text, struct inventory *out,
                        struct errinfo *ei) MUST_USE;
/* Omits entries without objects. May be longer than INVENTORY_MAX. */
const char *inventory_text(struct arena *arena, const struct inventory_entry *entries,
                           size_t count);

/* The objects of an entry in the form that fleet_plan() takes and returns. */
struct json_object *inventory_list(struct arena *arena, const char *objects);
const char *inventory_objects(struct arena *arena, struct json_object *list);
/* True if each line of `part` is in `whole`. */
bool inventory_has(const char *whole, const char *part);
/* The union of the lines. */
const char *inventory_join(struct arena *arena, const char *one, const char *other);

/*
 * --- The status of an Application, for kubectl canary fleet and the page.
 *
 *   conditions     Accepted (the spec is valid and managed here), Ready (every cluster is up to date)
 *   summary        number of rows of `clusters`, in all and by state; releases under way and failed
 *   syncStatus     Kurator's field: policy, cluster, name and status of the Canary
 *   clusters       policy, cluster, state (report_state.def), message, canary (NAMESPACE/NAME),
 *                  phase, weight, revision (last applied), promoted, lastContact if unreachable
 *
 * Kurator's own CRD keeps only syncStatus.
 */

enum report_state {
#define REPORT_STATE(name) REPORT_##name,
#include "fleet/rules/report_state.def"
#undef REPORT_STATE
    REPORT_STATES
};
const char *report_state_name(enum report_state state);

struct report_row {
    const char *policy, *cluster;
    const char *namespace_, *name; /* the Canary's; NULL if unknown */
    enum report_state state;
    const char *says;   /* one sentence; NULL if there is nothing to report */
    int64_t contact_ms; /* wall clock: last contact with the cluster; 0 if never */
    /* The rest describes the Canary as it was last seen. */
    bool seen;
    enum phase phase;
    int weight, failed_checks, iterations;
    const char *applied, *promoted, *transition; /* "" if none */
};

struct report {
    int64_t generation;
    const char *mistake; /* mistake in the Application, one sentence; NULL if none */
    const char *trouble; /* why clusters are missing, one sentence; NULL if none are */
    const char *keeper;  /* another controller that manages it, one sentence; NULL if none */
    const struct report_row *rows;
    size_t count;
    int64_t now_ms;
};

/* old is the current status, from which the times of its conditions are taken; NULL if none. */
struct json_object *report_json(struct arena *arena, const struct report *report,
                                struct json_object *old);

/* A condition in the status of one of the fleet's kinds. */
struct condition {
    const char *type, *reason, *message;
    bool is_so;
};

/* Adds it to an array. If it is the same as in old_status (NULL if none), it keeps its time. */
void conditions_add(struct json_object *array, const struct condition *condition,
                    struct json_object *old_status, int64_t now_ms);

#endif
