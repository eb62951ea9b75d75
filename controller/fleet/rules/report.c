#include "fleet/rules/report.h"

#include <string.h>

#include "base/clock.h"

static const char *const states[] = {
#define REPORT_STATE(name) [REPORT_##name] = #name,
#include "fleet/rules/report_state.def"
#undef REPORT_STATE
};
/* The keys of the summary. */
static const char *const counts[] = {[REPORT_Pending] = "pending",
                                     [REPORT_Working] = "working",
                                     [REPORT_Ready] = "ready",
                                     [REPORT_Waiting] = "waiting",
                                     [REPORT_Refused] = "refused",
                                     [REPORT_Failing] = "failing",
                                     [REPORT_Unreachable] = "unreachable",
                                     [REPORT_Leaving] = "leaving"};

const char *report_state_name(enum report_state state)
{
    return states[state];
}

static bool is_under_way(const struct report_row *row)
{
    return row->seen && (row->phase == PHASE_Progressing || row->phase == PHASE_Waiting ||
                         row->phase == PHASE_WaitingPromotion || row->phase == PHASE_Promoting ||
                         row->phase == PHASE_Finalising);
}

static struct json_object *add_array(struct json_object *json, const char *key)
{
    struct json_object *array = json_object_new_array();

    json_object_object_add(json, key, array);
    return array;
}

/* --- counts and conditions */

static void add_summary(struct json_object *json, const struct report *report)
{
    struct json_object *summary = json_sub(json, "summary");
    int of[REPORT_STATES] = {0}, under_way = 0, failed = 0;

    for (size_t i = 0; i < report->count; i++) {
        of[report->rows[i].state]++;
        under_way += is_under_way(&report->rows[i]);
        failed += report->rows[i].seen && report->rows[i].phase == PHASE_Failed;
    }
    json_set_int(summary, "clusters", (int64_t)report->count);
    for (int i = 0; i < REPORT_STATES; i++)
        json_set_int(summary, counts[i], of[i]);
    json_set_int(summary, "releasesUnderWay", under_way);
    json_set_int(summary, "releasesFailed", failed);
}

/* The first row that is not ready, and the number of ready ones. */
static const char *ready_text(struct arena *arena, const struct report *report, bool *ready)
{
    const struct report_row *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct report_row *row = &report->rows[i];
        if (row->state == REPORT_Ready)
            count++;
        else if (!first || (first->state < REPORT_Waiting && row->state >= REPORT_Waiting))
            first = row;
    }
    *ready = !first && !report->mistake && !report->keeper && !report->trouble;
    if (report->trouble)
        return report->trouble;
    if (!first)
        return arena_printf(arena, "%zu of %zu are as they are to be", count, report->count);
    return arena_printf(arena, "%zu of %zu are as they are to be; %s on %s is %s%s%s", count,
                        report->count, first->policy, first->cluster, states[first->state],
                        first->says ? ": " : "", first->says ? first->says : "");
}

static void add_conditions(struct arena *arena, struct json_object *json,
                           const struct report *report, struct json_object *old)
{
    struct json_object *array = add_array(json, "conditions");
    const char *not_ours = report->mistake ? report->mistake : report->keeper;
    const char *reason = report->mistake ? "Invalid" : "OtherController";
    bool ready;
    const char *text = ready_text(arena, report, &ready);

    conditions_add(array,
                   &(struct condition){.type = "Accepted",
                                       .reason = not_ours ? reason : "Accepted",
                                       .message = not_ours ? not_ours : "",
                                       .is_so = !not_ours},
                   old, report->now_ms);
    conditions_add(array,
                   &(struct condition){.type = "Ready",
                                       .reason = ready ? "AllReady" : "NotReady",
                                       .message = not_ours ? not_ours : text,
                                       .is_so = ready},
                   old, report->now_ms);
}

/* --- each cluster */

static void add_sync_row(struct json_object *array, const struct report_row *row)
{
    struct json_object *json = json_object_new_object();

    json_object_array_add(array, json);
    json_set_str(json, "name", row->policy);
    struct json_object *rollout = json_sub(json, "rolloutStatus");
    json_set_str(rollout, "clusterName", row->cluster);
    json_set_str(rollout, "rolloutNameInCluster", row->name);
    if (!row->seen)
        return;
    struct json_object *status = json_sub(rollout, "rolloutStatusInCluster");
    json_set_str(status, "phase", phase_name(row->phase));
    json_set_int(status, "failedChecks", row->failed_checks);
    json_set_int(status, "canaryWeight", row->weight);
    json_set_int(status, "iterations", row->iterations);
    if (*row->applied)
        json_set_str(status, "lastAppliedSpec", row->applied);
    if (*row->promoted)
        json_set_str(status, "lastPromotedSpec", row->promoted);
    if (*row->transition)
        json_set_str(status, "lastTransitionTime", row->transition);
}

static void add_row(struct arena *arena, struct json_object *array, const struct report_row *row)
{
    struct json_object *json = json_object_new_object();
    char text[CLOCK_TEXT];

    json_object_array_add(array, json);
    json_set_str(json, "policy", row->policy);
    json_set_str(json, "cluster", row->cluster);
    json_set_str(json, "state", states[row->state]);
    json_set_str(json, "message", row->says);
    if (row->name)
        json_set_str(json, "canary", arena_printf(arena, "%s/%s", row->namespace_, row->name));
    if (row->state == REPORT_Unreachable && row->contact_ms > 0)
        json_set_str(json, "lastContact", clock_rfc3339(row->contact_ms, text));
    if (!row->seen)
        return;
    json_set_str(json, "phase", phase_name(row->phase));
    json_set_int(json, "weight", row->weight);
    json_set_str(json, "revision", *row->applied ? row->applied : NULL);
    json_set_str(json, "promoted", *row->promoted ? row->promoted : NULL);
}

struct json_object *report_json(struct arena *arena, const struct report *report,
                                struct json_object *old)
{
    struct json_object *json = json_own(arena, json_object_new_object());

    json_set_int(json, "observedGeneration", report->generation);
    add_conditions(arena, json, report, old);
    if (report->keeper)
        return json; /* the rest of the status is its own */
    add_summary(json, report);
    struct json_object *sync = add_array(json, "syncStatus");
    struct json_object *clusters = add_array(json, "clusters");
    for (size_t i = 0; i < report->count; i++) {
        if (report->rows[i].name && report->rows[i].state != REPORT_Leaving)
            add_sync_row(sync, &report->rows[i]);
        add_row(arena, clusters, &report->rows[i]);
    }
    return json;
}

static struct json_object *find(struct json_object *status, const char *type)
{
    return json_find(json_at(status, "conditions", NULL), "type", type, NULL);
}

void conditions_add(struct json_object *array, const struct condition *condition,
                    struct json_object *old_status, int64_t now_ms)
{
    struct json_object *json = json_object_new_object();
    struct json_object *before = find(old_status, condition->type);
    const char *was = json_str_at(before, "status", NULL);
    const char *since = json_str_at(before, "lastTransitionTime", NULL);
    const char *now = condition->is_so ? "True" : "False";
    char text[CLOCK_TEXT];

    json_object_array_add(array, json);
    json_set_str(json, "type", condition->type);
    json_set_str(json, "status", now);
    json_set_str(json, "reason", condition->reason);
    json_set_str(json, "message", condition->message);
    json_set_str(json, "lastTransitionTime",
                 was && since && strcmp(was, now) == 0 ? since : clock_rfc3339(now_ms, text));
}
