#include "api/apifaults.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json.h"
#include "object/form.h"

static struct json_object *read_rule(struct json_reader *r, struct json_object *obj)
{
    enum { COUNT_MAX = 1000 * 1000 * 1000, RETRY_MAX = 3600 };
    int64_t delay = json_read_duration(r, obj, "delay", 0);
    int64_t status = json_read_int(r, obj, "status", 400, 599, 0);
    bool drop = json_read_bool(r, obj, "drop", false);
    if (r->err == ERR_OK && delay == 0 && !drop && status == 0)
        json_reader_fail(r, obj, NULL, "a fault needs a status, a delay or drop");
    return form(r->arena,
                "{verb: %s, path: %s, agent: %s, count: %ld, after: %ld, status: %ld, "
                "retryAfter: %ld, delay: %s, drop: %i}",
                json_read_str(r, obj, "verb", JSON_OPTIONAL),
                json_read_str(r, obj, "path", JSON_OPTIONAL),
                json_read_str(r, obj, "agent", JSON_OPTIONAL),
                json_read_int(r, obj, "count", 1, COUNT_MAX, 1),
                json_read_int(r, obj, "after", 0, COUNT_MAX, 0), status,
                json_read_int(r, obj, "retryAfter", 0, RETRY_MAX, 0),
                arena_printf(r->arena, "%lldms", (long long)delay), drop);
}

enum err apifaults_add(struct json_object *list, struct arena *arena, struct json_object *body,
                       struct errinfo *ei)
{
    struct json_reader r = {.arena = arena};
    struct json_object *given = json_read_array(&r, body, "faults", JSON_OPTIONAL);
    size_t count = given ? json_len(given) : 1;
    if (json_len(list) + count > APIFAULTS_MAX)
        return err_set(ei, ERR_INVALID, "there can be at most %d faults", APIFAULTS_MAX);
    for (size_t i = 0; i < count && r.err == ERR_OK; i++) {
        struct json_object *rule = read_rule(&r, given ? json_read_elem(&r, given, i) : body);
        if (r.err == ERR_OK)
            form_add(list, rule);
    }
    return r.err == ERR_OK ? ERR_OK : err_set(ei, r.err, "%s", r.info.text);
}

/* A pattern with $ at its end is the end of the path. */
static bool is_at(const char *path, const char *pattern)
{
    size_t len = strlen(pattern), whole = strlen(path);
    if (len == 0 || pattern[len - 1] != '$')
        return strstr(path, pattern);
    return whole >= len - 1 && strncmp(path + whole - (len - 1), pattern, len - 1) == 0;
}

static bool matches(struct json_object *rule, const char *method, const char *verb,
                    const char *path, const char *agent)
{
    const char *verbs = json_str_at(rule, "verb", NULL), *paths = json_str_at(rule, "path", NULL);
    const char *agents = json_str_at(rule, "agent", NULL);
    return (!verbs || strcasecmp(verbs, method) == 0 || strcasecmp(verbs, verb) == 0) &&
           (!paths || is_at(path, paths)) && (!agents || (agent && strstr(agent, agents)));
}

static bool count_down(struct json_object *rule, const char *key)
{
    int64_t left = json_int_at(rule, 0, key, NULL);
    if (left > 0)
        json_set_int(rule, key, left - 1);
    return left > 0;
}

bool apifaults_take(struct json_object *list, const char *method, const char *verb,
                    const char *path, const char *agent, struct apifault *out)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *rule = json_elem(list, i);
        if (!matches(rule, method, verb, path, agent) || count_down(rule, "after"))
            continue;
        *out = (struct apifault){
            .drop = json_bool_at(rule, false, "drop", NULL),
            .status = (int)json_int_at(rule, 0, "status", NULL),
            .retry_after_s = (int)json_int_at(rule, 0, "retryAfter", NULL),
        };
        (void)!duration_parse_ms(json_str_at(rule, "delay", NULL), &out->delay_ms, NULL);
        count_down(rule, "count");
        if (json_int_at(rule, 0, "count", NULL) == 0)
            json_object_array_del_idx(list, i, 1);
        return true;
    }
    return false;
}

void apifaults_forget(struct json_object *list, const char *path)
{
    for (size_t i = json_len(list); i > 0; i--) {
        const char *paths = json_str_at(json_elem(list, i - 1), "path", NULL);
        if (!path || (paths && strstr(paths, path)))
            json_object_array_del_idx(list, i - 1, 1);
    }
}
