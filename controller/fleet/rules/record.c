#include "fleet/rules/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { MAX_ENTRIES = 100 * 1000, MAX_TEXT = 300 * 1024 };

/* --- lines */

struct lines {
    const char **all;
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void split(struct arena *arena, const char *text, struct lines *out)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        out->all[out->count++] = arena_strndup(arena, text, len);
        text += len + (text[len] == '\n');
    }
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (const char *at = text; *at; at++)
        count += *at == '\n';
    return count + 1;
}

/* Joins the lines, sorted and without duplicates. */
static const char *join(struct arena *arena, struct lines *lines)
{
    struct buf text;

    if (lines->count > 0)
        qsort(lines->all, lines->count, sizeof(*lines->all), by_text);
    buf_init(&text, MAX_TEXT);
    for (size_t i = 0; i < lines->count; i++) {
        if (i > 0 && strcmp(lines->all[i], lines->all[i - 1]) == 0)
            continue;
        if (text.len > 0)
            buf_puts(&text, "\n");
        buf_puts(&text, lines->all[i]);
    }
    const char *out = arena_strndup(arena, text.data ? text.data : "", text.len);
    buf_fini(&text);
    return out;
}

const char *inventory_join(struct arena *arena, const char *one, const char *other)
{
    struct lines lines = {
        .all = arena_array(arena, count_lines(one) + count_lines(other), sizeof(*lines.all))};

    split(arena, one, &lines);
    split(arena, other, &lines);
    return join(arena, &lines);
}

bool inventory_has(const char *whole, const char *part)
{
    while (*part) {
        size_t len = strcspn(part, "\n");
        const char *at = whole;
        while (*at && !(strncmp(at, part, len) == 0 && (at[len] == '\n' || !at[len]))) {
            at += strcspn(at, "\n");
            at += *at == '\n';
        }
        if (!*at)
            return false;
        part += len + (part[len] == '\n');
    }
    return true;
}

/* --- in the form that plans use */

const char *inventory_objects(struct arena *arena, struct json_object *list)
{
    struct lines lines = {.all = arena_array(arena, json_len(list) + 1, sizeof(*lines.all))};

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        lines.all[lines.count++] =
            arena_printf(arena, "%s %s/%s", json_str_at(entry, "kind", NULL),
                         json_str_at(entry, "namespace", NULL), json_str_at(entry, "name", NULL));
    }
    return join(arena, &lines);
}

/* "Kind namespace/name" */
static bool cut(struct arena *arena, const char *line, const char **kind, const char **namespace_,
                const char **name)
{
    const char *blank = strchr(line, ' ');
    const char *slash = blank ? strchr(blank, '/') : NULL;

    if (!slash || blank == line || slash == blank + 1 || !slash[1] || strchr(slash + 1, '/') ||
        strchr(blank + 1, ' '))
        return false;
    *kind = arena_strndup(arena, line, (size_t)(blank - line));
    *namespace_ = arena_strndup(arena, blank + 1, (size_t)(slash - blank - 1));
    *name = arena_strdup(arena, slash + 1);
    return true;
}

struct json_object *inventory_list(struct arena *arena, const char *objects)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    struct lines lines = {.all = arena_array(arena, count_lines(objects), sizeof(*lines.all))};
    const char *kind, *namespace_, *name;

    split(arena, objects, &lines);
    for (size_t i = 0; i < lines.count; i++) {
        if (!cut(arena, lines.all[i], &kind, &namespace_, &name))
            continue;
        struct json_object *entry = json_object_new_object();
        json_object_array_add(list, entry);
        json_set_str(entry, "kind", kind);
        json_set_str(entry, "namespace", namespace_);
        json_set_str(entry, "name", name);
    }
    return list;
}

/* --- read */

static const char *read_objects(struct json_reader *r, struct json_object *group)
{
    struct json_object *array = json_read_array(r, group, "objects", JSON_REQUIRED);
    struct lines lines = {.all = arena_array(r->arena, json_len(array) + 1, sizeof(*lines.all))};
    const char *kind, *namespace_, *name;

    for (size_t i = 0; i < json_len(array); i++) {
        struct json_object *text = json_elem(array, i);
        const char *line =
            json_object_is_type(text, json_type_string) ? json_object_get_string(text) : "";
        if (strchr(line, '\n') || !cut(r->arena, line, &kind, &namespace_, &name)) {
            json_reader_fail(r, group, "objects",
                             "expected lines as \"Canary test/podinfo\", found \"%.80s\"", line);
            return "";
        }
        lines.all[lines.count++] = line;
    }
    return join(r->arena, &lines);
}

static void read_group(struct json_reader *r, const char *policy, struct json_object *group,
                       struct json_object *access, struct inventory *out)
{
    struct json_object *clusters = json_read_array(r, group, "clusters", JSON_REQUIRED);
    const char *objects = read_objects(r, group);

    for (size_t i = 0; r->err == ERR_OK && i < json_len(clusters); i++) {
        struct json_object *name = json_elem(clusters, i);
        if (!json_object_is_type(name, json_type_string) || out->count >= MAX_ENTRIES) {
            json_reader_fail(r, group, "clusters", "expected at most %d names of clusters",
                             (int)MAX_ENTRIES);
            return;
        }
        const char *secret = json_str_at(access, json_object_get_string(name), NULL);
        if ((out->count & (out->count - 1)) == 0) { /* doubles at each power of two */
            struct inventory_entry *more =
                arena_array(r->arena, out->count ? out->count * 2 : 1, sizeof(*more));
            if (out->count > 0)
                memcpy(more, out->entries, out->count * sizeof(*more));
            out->entries = more;
        }
        out->entries[out->count++] =
            (struct inventory_entry){.policy = policy,
                                     .cluster = json_object_get_string(name),
                                     .access = secret ? secret : "",
                                     .objects = objects};
    }
}

enum err inventory_read(struct arena *arena, const char *text, struct inventory *out,
                        struct errinfo *ei)
{
    struct json_object *root;
    struct json_reader r = {.arena = arena};

    *out = (struct inventory){0};
    if (!text)
        return ERR_OK;
    enum err err = json_parse(arena, text, strlen(text), MAX_TEXT, &root, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, FLEET_INVENTORY);
    struct json_object *access = json_read_obj(&r, root, "clusters", JSON_OPTIONAL);
    struct json_object *policies = json_read_obj(&r, root, "policies", JSON_REQUIRED);
    if (policies) {
        json_object_object_foreach(policies, policy, value)
        {
            (void)value;
            struct json_object *groups = json_read_array(&r, policies, policy, JSON_REQUIRED);
            for (size_t i = 0; r.err == ERR_OK && i < json_len(groups); i++)
                read_group(&r, arena_strdup(arena, policy), json_read_elem(&r, groups, i), access,
                           out);
        }
    }
    if (r.err == ERR_OK)
        return ERR_OK;
    *out = (struct inventory){0};
    return err_set(ei, r.err, FLEET_INVENTORY ": %s", r.info.text);
}

/* --- written */

/* The group of the policy that has exactly these objects. */
static struct json_object *group_of(struct arena *arena, struct json_object *groups,
                                    const char *objects)
{
    for (size_t i = 0; i < json_len(groups); i++)
        if (strcmp(json_str_at(json_elem(groups, i), "key", NULL), objects) == 0)
            return json_elem(groups, i);
    struct json_object *group = json_object_new_object();
    struct lines lines = {.all = arena_array(arena, count_lines(objects), sizeof(*lines.all))};
    json_object_array_add(groups, group);
    json_set_str(group, "key", objects);
    json_object_object_add(group, "clusters", json_object_new_array());
    json_object_object_add(group, "objects", json_object_new_array());
    split(arena, objects, &lines);
    for (size_t i = 0; i < lines.count; i++)
        json_object_array_add(json_at(group, "objects", NULL),
                              json_object_new_string(lines.all[i]));
    return group;
}

const char *inventory_text(struct arena *arena, const struct inventory_entry *entries, size_t count)
{
    struct json_object *root = json_own(arena, json_object_new_object());
    struct json_object *access = json_sub(root, "clusters"), *policies = json_sub(root, "policies");

    for (size_t i = 0; i < count; i++) {
        const struct inventory_entry *entry = &entries[i];
        if (!*entry->objects)
            continue;
        if (*entry->access)
            json_set_str(access, entry->cluster, entry->access);
        struct json_object *groups = json_at(policies, entry->policy, NULL);
        if (!groups) {
            groups = json_object_new_array();
            json_object_object_add(policies, entry->policy, groups);
        }
        struct json_object *group = group_of(arena, groups, entry->objects);
        json_object_array_add(json_at(group, "clusters", NULL),
                              json_object_new_string(entry->cluster));
    }
    json_object_object_foreach(policies, policy, groups)
    {
        (void)policy;
        for (size_t i = 0; i < json_len(groups); i++)
            json_object_object_del(json_elem(groups, i), "key");
    }
    return json_text(arena, root);
}

/* --- the status */

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
        return json; /* the rest of the status belongs to that controller */
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
