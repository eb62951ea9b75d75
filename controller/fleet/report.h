/*
 * The status of an Application: conditions and counts first, then each cluster; pure. Who reads it
 * (kubectl canary fleet, the page) finds:
 *
 *   conditions     Accepted (its spec could be read, and is ours to look after), Ready (all is as it
 *                  is to be on every cluster)
 *   summary        how many rows of `clusters` there are, and of each state; of their releases how
 *                  many are under way and have failed
 *   syncStatus     as Kurator has it: policy, cluster, name and status of the Canary
 *   clusters       policy, cluster, state (report_state.def), message, canary (NAMESPACE/NAME),
 *                  phase, weight, revision (last applied), promoted, lastContact where nobody
 *                  reaches it
 *
 * Kurator's own definition keeps syncStatus alone.
 */
#ifndef FLEET_REPORT_H
#define FLEET_REPORT_H

#include "base/json.h"
#include "proto/phase.h"

enum report_state {
#define REPORT_STATE(name) REPORT_##name,
#include "fleet/report_state.def"
#undef REPORT_STATE
    REPORT_STATES
};
const char *report_state_name(enum report_state state);

struct report_row {
    const char *policy, *cluster;
    const char *namespace_, *name; /* of the Canary; NULL: not known */
    enum report_state state;
    const char *says;   /* one sentence; NULL: nothing */
    int64_t contact_ms; /* wall clock: when the cluster was last heard; 0: never */
    /* Of the Canary as it was last seen. */
    bool seen;
    enum phase phase;
    int weight, failed_checks, iterations;
    const char *applied, *promoted, *transition; /* "" if none */
};

struct report {
    int64_t generation;
    const char *mistake; /* of the Application, one sentence; NULL: none */
    const char *trouble; /* why it has no clusters, or not all, one sentence; NULL: it has */
    const char *keeper;  /* another controller that looks after it, one sentence; NULL: none */
    const struct report_row *rows;
    size_t count;
    int64_t now_ms;
};

/* old: the status that is there, for the times of its conditions; NULL: none. */
struct json_object *report_json(struct arena *arena, const struct report *report,
                                struct json_object *old);

#endif
