/*
 * The status of an Application, for kubectl canary fleet and the page. Pure.
 *
 *   conditions     Accepted (the spec is valid and managed here), Ready (every cluster is up to date)
 *   summary        number of rows of `clusters`, in all and by state; releases under way and failed
 *   syncStatus     Kurator's field: policy, cluster, name and status of the Canary
 *   clusters       policy, cluster, state (report_state.def), message, canary (NAMESPACE/NAME),
 *                  phase, weight, revision (last applied), promoted, lastContact if unreachable
 *
 * Kurator's own CRD keeps syncStatus only.
 */
#ifndef FLEET_REPORT_H
#define FLEET_REPORT_H

#include "base/json.h"
#include "proto/phase.h"

enum report_state {
#define REPORT_STATE(name) REPORT_##name,
#include "fleet/rules/report_state.def"
#undef REPORT_STATE
    REPORT_STATES
};
const char *report_state_name(enum report_state state);

struct report_row {
    const char *policy, *cluster;
    const char *namespace_, *name; /* of the Canary; NULL if unknown */
    enum report_state state;
    const char *says;   /* one sentence; NULL if nothing */
    int64_t contact_ms; /* wall clock: last contact with the cluster; 0 if never */
    /* Of the Canary as it was last seen. */
    bool seen;
    enum phase phase;
    int weight, failed_checks, iterations;
    const char *applied, *promoted, *transition; /* "" if none */
};

struct report {
    int64_t generation;
    const char *mistake; /* of the Application, one sentence; NULL if none */
    const char *trouble; /* why clusters are missing, one sentence; NULL if none is */
    const char *keeper;  /* another controller that manages it, one sentence; NULL if none */
    const struct report_row *rows;
    size_t count;
    int64_t now_ms;
};

/* old is the present status, for the times of its conditions; NULL if none. */
struct json_object *report_json(struct arena *arena, const struct report *report,
                                struct json_object *old);

/* A condition of a status of the fleet's kinds. */
struct condition {
    const char *type, *reason, *message;
    bool is_so;
};

/* Adds it to an array. Its time is that of old_status (NULL if none) while it stays the same. */
void conditions_add(struct json_object *array, const struct condition *condition,
                    struct json_object *old_status, int64_t now_ms);

#endif
