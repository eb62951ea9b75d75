#include "real/answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct rule {
    struct rule *next; /* newest first */
    char *name;
    struct json_object *spec; /* owned */
    int64_t count;
};

struct answers {
    struct http_server *server;
    struct rule *rules;
    struct recorder *recorder; /* NULL: calls of hooks are not recorded */
};

static bool matches(const struct rule *rule, const char *text)
{
    struct json_object *match = json_at(rule->spec, "match", NULL);
    for (size_t i = 0; i < json_len(match); i++) {
        const char *part = json_object_get_string(json_elem(match, i));
        if (!strstr(text, part))
            return false;
    }
    return true;
}

static struct rule *rule_for(struct answers *answers, const char *text, const char *key)
{
    for (struct rule *rule = answers->rules; rule; rule = rule->next)
        if (json_at(rule->spec, key, NULL) && matches(rule, text)) {
            rule->count++;
            return rule;
        }
    return NULL;
}

static struct rule **find(struct answers *answers, const char *name)
{
    struct rule **at = &answers->rules;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static void rule_drop(struct rule **at)
{
    struct rule *rule = *at;
    if (!rule)
        return;
    *at = rule->next;
    json_object_put(rule->spec);
    free(rule->name);
    free(rule);
}

static void on_rule_get(void *arg, struct http_conn_request *req)
{
    struct rule *rule = *find(arg, http_req_segment(req, 1));
    if (!rule) {
        http_reply_error(req, 404, "no such rule");
        return;
    }
    http_reply_json(req, 200,
                    arena_printf(http_req_arena(req), "{\"count\": %lld}", (long long)rule->count));
}

static void on_rule_delete(void *arg, struct http_conn_request *req)
{
    rule_drop(find(arg, http_req_segment(req, 1)));
    http_reply(req, 204, NULL, NULL, 0);
}

static void on_rule_put(void *arg, struct http_conn_request *req)
{
    struct answers *answers = arg;
    struct errinfo ei = {0};
    struct json_object *spec = NULL;
    size_t len = 0;
    const char *body = http_req_body(req, &len), *name = http_req_segment(req, 1);

    if (json_parse(http_req_arena(req), body, len, JSON_MAX_BYTES, &spec, &ei) != ERR_OK) {
        http_reply_error(req, 400, ei.text);
        return;
    }
    rule_drop(find(answers, name));
    struct rule *rule = heap_alloc(sizeof(*rule));
    *rule = (struct rule){
        .next = answers->rules, .name = heap_strdup(name), .spec = json_object_get(spec)};
    answers->rules = rule;
    http_reply(req, 204, NULL, NULL, 0);
}

static void on_query(void *arg, struct http_conn_request *req)
{
    const char *query = http_req_param(req, "query");
    struct rule *rule = rule_for(arg, query ? query : "", "value");
    const char *value = rule ? json_str_at(rule->spec, "value", NULL) : "100";
    if (!rule && query && strstr(query, "histogram_quantile"))
        value = "0.01";
    struct arena *arena = http_req_arena(req);
    const char *result =
        value && value[0]
            ? arena_printf(arena, "{\"metric\": {}, \"value\": [1700000000, \"%s\"]}", value)
            : "";
    http_reply_json(req, 200,
                    arena_printf(arena,
                                 "{\"status\": \"success\", \"data\": {\"resultType\": \"vector\", "
                                 "\"result\": [%s]}}",
                                 result));
}

/* POST /hooks/NAMESPACE/HOOK/, with what Flagger sends; any other call is of a test. */
static void record(struct answers *answers, struct http_conn_request *req, bool passes)
{
    struct arena *arena = http_req_arena(req);
    struct json_object *sent = NULL, *call = json_own(arena, json_object_new_object());
    struct errinfo ei = {0};
    size_t len = 0;
    const char *body = http_req_body(req, &len);
    const char *namespace_ = http_req_segment(req, 1), *hook = http_req_segment(req, 2);
    if (!answers->recorder || !hook || !*hook ||
        json_parse(arena, body, len, JSON_MAX_BYTES, &sent, &ei) != ERR_OK ||
        !json_str_at(sent, "name", NULL) || !json_str_at(sent, "checksum", NULL))
        return;
    json_set_str(call, "canary", json_str_at(sent, "name", NULL));
    json_set_str(call, "checksum", json_str_at(sent, "checksum", NULL));
    json_set_str(call, "hook", hook);
    json_set_bool(call, "passes", passes);
    recorder_hook(answers->recorder, namespace_, call);
}

static void on_hook(void *arg, struct http_conn_request *req)
{
    struct rule *rule = rule_for(arg, http_req_path(req), "status");
    int status = rule ? (int)json_int_at(rule->spec, 200, "status", NULL) : 200;
    record(arg, req, status < 300);
    http_reply_text(req, status, status < 300 ? "yes\n" : "no\n");
}

void answers_record(struct answers *answers, struct recorder *recorder)
{
    answers->recorder = recorder;
}

enum err answers_new(struct loop *loop, int port, struct answers **out, struct errinfo *ei)
{
    static const struct http_route table[] = {
        {.method = "GET", .path = "/rules/*", .fn = on_rule_get},
        {.method = "PUT", .path = "/rules/*", .fn = on_rule_put},
        {.method = "DELETE", .path = "/rules/*", .fn = on_rule_delete},
        {.path = "/api/v1/query", .fn = on_query},
        {.path = "/hooks/*", .fn = on_hook},
        {0}};
    struct answers *answers = heap_alloc(sizeof(*answers));
    *answers = (struct answers){0};
    enum err err =
        http_server_new(loop,
                        &(struct http_server_options){
                            .address = "127.0.0.1", .port = port, .routes = table, .arg = answers},
                        &answers->server, ei);
    if (err != ERR_OK) {
        free(answers);
        return err;
    }
    *out = answers;
    return ERR_OK;
}

int answers_port(const struct answers *answers)
{
    return http_server_port(answers->server);
}

void answers_free(struct answers *answers)
{
    http_server_free(answers->server);
    while (answers->rules)
        rule_drop(&answers->rules);
    free(answers);
}
