/*
 * Canaries with random mistakes: what the API server refuses, or the controller, has an error of
 * lint, and what neither refuses has none. The server's word is that of the sandbox, which a real
 * one is held against.
 */
#include <string.h>

#include "ctl/lint/lint.h"
#include "decide/decide.h"
#include "object/schema.h"
#include "stage.h"
#include "test/rows.h"
#include "test/unit.h"
#include "tick/fact.h"
#include "world.h"

enum { ROUNDS = 80, EDITS = 3, MAX_RANDOM_DEPTH = 12 };

static uint64_t random_state;

static unsigned below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* --- edits */

static struct json_object *odd_value(struct arena *arena)
{
    static const char *const values[] = {
        "0",  "-1", "1",    "3.5", "1000",  "'x'",     "'1m'", "''",           "true",
        "[]", "{}", "null", "[1]", "['a']", "{'a':1}", "101",  "'Deployment'", "'canary'"};

    return rows_json(arena, values[below(sizeof(values) / sizeof(values[0]))]);
}

static const char *random_key(struct arena *arena, struct json_object *object)
{
    int n = json_object_object_length(object);
    int at = n > 0 ? (int)below((unsigned)n) : 0;

    json_object_object_foreach(object, key, value)
    {
        (void)value;
        if (at-- == 0)
            return arena_strdup(arena, key);
    }
    return NULL;
}

/* As a person mistypes: a letter too much, or in the wrong case. */
static const char *mistyped(struct arena *arena, const char *key)
{
    return below(2) == 0 ? arena_printf(arena, "%sx", key) : arena_printf(arena, "x%s", key);
}

static void edit_object(struct arena *arena, struct json_object *object)
{
    const char *key = random_key(arena, object);
    struct json_object *value = key ? json_at(object, key, NULL) : NULL;

    if (!key)
        return;
    switch (below(4)) {
    case 0:
        json_object_object_del(object, key);
        break;
    case 1:
        json_set(object, mistyped(arena, key), value);
        json_object_object_del(object, key);
        break;
    case 2:
        json_set(object, mistyped(arena, key), odd_value(arena));
        break;
    default:
        json_set(object, key, odd_value(arena));
        break;
    }
}

/* Somewhere below the spec. */
static void edit(struct arena *arena, struct json_object *canary)
{
    struct json_object *at = json_at(canary, "spec", NULL);

    for (int depth = 0; depth < MAX_RANDOM_DEPTH; depth++) {
        struct json_object *next =
            json_object_is_type(at, json_type_array)
                ? json_elem(at, json_len(at) > 0 ? below((unsigned)json_len(at)) : 0)
                : json_at(at, random_key(arena, at), NULL);
        bool inner = json_object_is_type(next, json_type_object) ||
                     (json_object_is_type(next, json_type_array) && json_len(next) > 0);
        if (!inner || (json_object_is_type(at, json_type_object) && below(3) == 0))
            break;
        at = next;
    }
    if (json_object_is_type(at, json_type_object) && json_object_object_length(at) > 0)
        edit_object(arena, at);
    else if (json_object_is_type(at, json_type_array) && json_len(at) > 0)
        json_object_array_put_idx(at, below((unsigned)json_len(at)),
                                  json_object_get(odd_value(arena)));
}

/* --- who refuses */

static void found(void *arg, const char *sentence)
{
    *(const char **)arg = sentence;
}

static const char *server_refuses(struct arena *arena, const struct schema *schema,
                                  struct json_object *canary)
{
    struct json_object *copy = json_copy(arena, canary);
    struct causes causes = {.arena = arena};
    struct schema_paths unknown;

    schema_prune(schema, arena, copy, &unknown);
    if (unknown.count > 0)
        return arena_printf(arena, "unknown field %s", unknown.paths[0]);
    schema_default(schema, copy);
    return schema_validate(schema, copy, &causes) ? NULL : cause_text(&causes);
}

static enum rule_result ask(void *arg, struct tick *tick)
{
    return accept_judge(tick, found, arg);
}

static void answer_nothing(void *arg, struct tick *tick, const struct need *need)
{
    fact_object(tick, need, NULL);
}

static const char *controller_refuses(struct arena *arena, struct json_object *canary)
{
    const char *sentence = NULL;
    struct canary view;
    struct errinfo ei;

    if (canary_view(arena, canary, &view, &ei) != ERR_OK)
        return arena_strdup(arena, ei.text);
    struct tick *tick = tick_new(arena, &view, &settings_default, 1000, true);
    (void)tick_solve(tick, ask, answer_nothing, &sentence);
    return sentence;
}

static const char *lint_refuses(struct arena *arena, struct json_object *canary)
{
    const char *text = json_text(arena, canary);
    struct lint *lint = lint_new(arena, &settings_default);

    lint_add(lint, "canary", text, strlen(text), false);
    for (const struct lint_mistake *mistake = lint_run(lint); mistake; mistake = mistake->next)
        if (mistake->level == LINT_ERROR)
            return arena_printf(arena, "%s: %s", mistake->path, mistake->text);
    return NULL;
}

/* The query of a metric, which only a check would have found: no refusal. */
static bool is_of_a_query(const char *sentence)
{
    return sentence && strstr(sentence, "].query: template:");
}

static bool check(struct arena *arena, const struct schema *schema, struct json_object *canary)
{
    const char *server = server_refuses(arena, schema, canary);
    const char *controller = controller_refuses(arena, canary);
    const char *lint = lint_refuses(arena, canary);

    if ((server || controller) != (lint != NULL) && !is_of_a_query(lint))
        fail_msg("server: %s\ncontroller: %s\nlint: %s\n%s", server, controller, lint,
                 json_text(arena, canary));
    return lint != NULL;
}

/* --- the search */

static struct json_object *base_of(struct arena *arena, struct json_object *row)
{
    struct json_object *specs = json_at(row, "specs", NULL);
    struct json_object *canary = rows_json(
        arena,
        "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'podinfo',"
        "'namespace':'test'},'spec':{'targetRef':{'apiVersion':'apps/v1','kind':'Deployment',"
        "'name':'podinfo'},'service':{'port':80},'analysis':{'interval':'1m','threshold':2,"
        "'stepWeight':10,'metrics':[{'name':'m','query':'up','thresholdRange':{'max':1}}],"
        "'webhooks':[{'name':'w','url':'http://w','timeout':'3s','metadata':{'a':'b'}}],"
        "'alerts':[{'name':'a','severity':'warn','providerRef':{'name':'p'}}]}}}");
    struct json_object *spec = json_sub(canary, "spec");
    struct json_object *given = json_elem(specs, below((unsigned)json_len(specs)));

    json_set(canary, "spec", json_merge(arena, spec, given));
    json_set_str(json_sub(canary, "spec"), "provider", json_str_at(row, "provider", NULL));
    return canary;
}

CASE(lint_refuses_what_is_refused)
{
    struct json_object *rows = rows_read(arena, "test/golden/route_schema.yaml");
    struct schema *schema = stage_canary_schema(arena);
    int refused = 0, fine = 0;

    for (unsigned round = 0; round < ROUNDS * json_len(rows) / WORLD_EVERY; round++) {
        struct arena *inner = arena_new();
        random_state = round + 1;
        struct json_object *canary = base_of(inner, json_elem(rows, round % json_len(rows)));
        for (unsigned i = below(EDITS + 1); i > 0; i--)
            edit(inner, canary);
        bool was = check(inner, schema, canary);
        refused += was;
        fine += !was;
        arena_free(inner);
    }
    assert_true(refused > 30 && fine > 30);
}
