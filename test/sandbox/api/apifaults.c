#include "api/apifaults.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"

struct rule {
    char *verb, *path, *agent; /* NULL: any */
    int64_t left;
    int64_t after; /* requests to let through first */
    struct apifault fault;
    struct rule *next;
};

struct apifaults {
    struct rule *rules;
    size_t count;
};

struct apifaults *apifaults_new(void)
{
    struct apifaults *faults = heap_alloc(sizeof(*faults));
    *faults = (struct apifaults){.rules = NULL};
    return faults;
}

static void free_rule(struct rule *rule)
{
    free(rule->verb);
    free(rule->path);
    free(rule->agent);
    free(rule);
}

void apifaults_clear(struct apifaults *faults)
{
    while (faults->rules) {
        struct rule *rule = faults->rules;
        faults->rules = rule->next;
        free_rule(rule);
    }
    faults->count = 0;
}

void apifaults_free(struct apifaults *faults)
{
    if (faults) {
        apifaults_clear(faults);
        free(faults);
    }
}

static enum err read_rule(struct json_reader *r, struct json_object *obj, struct rule *rule)
{
    enum { COUNT_MAX = 1000 * 1000 * 1000, RETRY_MAX = 3600 };
    *rule = (struct rule){
        .verb = heap_strdup(json_read_str(r, obj, "verb", JSON_OPTIONAL)),
        .path = heap_strdup(json_read_str(r, obj, "path", JSON_OPTIONAL)),
        .agent = heap_strdup(json_read_str(r, obj, "agent", JSON_OPTIONAL)),
        .left = json_read_int(r, obj, "count", 1, COUNT_MAX, 1),
        .after = json_read_int(r, obj, "after", 0, COUNT_MAX, 0),
        .fault =
            {
                .delay_ms = json_read_duration(r, obj, "delay", 0),
                .drop = json_read_bool(r, obj, "drop", false),
                .status = (int)json_read_int(r, obj, "status", 400, 599, 0),
                .retry_after_s = (int)json_read_int(r, obj, "retryAfter", 0, RETRY_MAX, 0),
            },
    };
    if (r->err == ERR_OK && rule->fault.delay_ms == 0 && !rule->fault.drop &&
        rule->fault.status == 0)
        json_reader_fail(r, obj, NULL, "a fault needs a status, a delay or drop");
    return r->err;
}

enum err apifaults_add(struct apifaults *faults, struct arena *arena, struct json_object *body,
                       struct errinfo *ei)
{
    struct json_reader r = {.arena = arena};
    struct json_object *list = json_read_array(&r, body, "faults", JSON_OPTIONAL);
    size_t count = list ? json_len(list) : 1;
    if (faults->count + count > APIFAULTS_MAX)
        return err_set(ei, ERR_INVALID, "there can be at most %d faults", APIFAULTS_MAX);
    struct rule **at = &faults->rules;
    while (*at)
        at = &(*at)->next;
    for (size_t i = 0; i < count && r.err == ERR_OK; i++) {
        struct rule *rule = heap_alloc(sizeof(*rule));
        struct json_object *obj = list ? json_read_elem(&r, list, i) : body;
        if (read_rule(&r, obj, rule) != ERR_OK) {
            free_rule(rule);
            break;
        }
        *at = rule;
        at = &rule->next;
        faults->count++;
    }
    return r.err == ERR_OK ? ERR_OK : err_set(ei, r.err, "%s", r.info.text);
}

struct json_object *apifaults_list(const struct apifaults *faults, struct arena *arena)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *list = json_own(arena, json_object_new_array());
    json_set(out, "faults", list);
    for (const struct rule *rule = faults->rules; rule; rule = rule->next) {
        struct json_object *item = json_object_new_object();
        json_set_str(item, "verb", rule->verb);
        json_set_str(item, "path", rule->path);
        json_set_str(item, "agent", rule->agent);
        json_set_int(item, "count", rule->left);
        json_set_int(item, "after", rule->after);
        json_set_int(item, "status", rule->fault.status);
        json_set_int(item, "retryAfter", rule->fault.retry_after_s);
        json_set_str(item, "delay", arena_printf(arena, "%lldms", (long long)rule->fault.delay_ms));
        json_set_bool(item, "drop", rule->fault.drop);
        json_object_array_add(list, item);
    }
    return out;
}

static bool matches(const struct rule *rule, const char *method, const char *verb, const char *path,
                    const char *agent)
{
    if (rule->verb && strcasecmp(rule->verb, method) != 0 && strcasecmp(rule->verb, verb) != 0)
        return false;
    return (!rule->path || strstr(path, rule->path)) &&
           (!rule->agent || (agent && strstr(agent, rule->agent)));
}

bool apifaults_take(struct apifaults *faults, const char *method, const char *verb,
                    const char *path, const char *agent, struct apifault *out)
{
    for (struct rule **at = &faults->rules; *at; at = &(*at)->next) {
        struct rule *rule = *at;
        if (!matches(rule, method, verb, path, agent))
            continue;
        if (rule->after > 0) {
            rule->after--;
            continue;
        }
        *out = rule->fault;
        if (--rule->left == 0) {
            *at = rule->next;
            free_rule(rule);
            faults->count--;
        }
        return true;
    }
    return false;
}
