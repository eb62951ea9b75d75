#include "object/apply.h"
#include "object/try.h"

struct step {
    const char *manager, *kind;
    const char *subresource;
    bool update, force;
    const char *body;   /* applied, or the whole object after an update */
    const char *result; /* without managedFields; NULL: it fails */
    const char *error;
};

/* The object without managedFields. */
static struct json_object *bare(struct arena *arena, struct json_object *obj)
{
    struct json_object *copy = json_copy(arena, obj);
    struct json_object *metadata = json_at(copy, "metadata", NULL);
    if (metadata)
        json_object_object_del(metadata, "managedFields");
    if (metadata && json_object_object_length(metadata) == 0)
        json_object_object_del(copy, "metadata");
    return copy;
}

static struct json_object *take_step(struct arena *arena, const struct step *step, int64_t now_ms,
                                     struct json_object *live)
{
    struct json_object *out = NULL, *body = try_json(arena, step->body);
    struct causes conflicts = {.arena = arena};
    struct errinfo ei = {0};
    const char *before = json_text(arena, live);
    struct apply_request request = {
        .typing = typing_builtin(step->kind ? step->kind : "Deployment"),
        .manager = step->manager,
        .api_version = "apps/v1",
        .subresource = step->subresource,
        .now_ms = now_ms,
        .force = step->force,
    };
    if (step->update)
        out = apply_track_update(arena, &request, live, body);
    else if (apply_merge(arena, &request, live, body, &out, &conflicts, &ei) && step->result)
        fail_msg("%s: %s", step->body, ei.text);
    assert_string_equal(json_text(arena, live), before);
    assert_string_equal(json_text(arena, body), json_text(arena, try_json(arena, step->body)));
    if (!step->result) {
        assert_null(out);
        assert_string_equal(ei.text, step->error);
        return live;
    }
    try_same(arena, bare(arena, out), step->result);
    if (!step->update) { /* doing it again changes nothing, not even an order or a time */
        struct json_object *again = NULL;
        request.now_ms += 1000;
        assert_int_equal(apply_merge(arena, &request, out, body, &again, NULL, NULL), ERR_OK);
        assert_string_equal(json_text_sorted(arena, again), json_text_sorted(arena, out));
    }
    return out;
}

/* Several steps on one object; each says what the object is after it. */
static void play(const struct step *steps, size_t count)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *live = NULL;
    for (size_t i = 0; i < count; i++)
        live = take_step(arena, &steps[i], (int64_t)i * 1000, live);
}

/* A row; what all rows have stands first. */
#define STEP(manager_, body_, ...)                                                                 \
    {                                                                                              \
        .manager = (manager_), .body = (body_), __VA_ARGS__                                        \
    }

static void test_ownership(void **state)
{
    static const struct step steps[] = {
        STEP("a", "{'spec':{'replicas':1,'paused':true,'x':{'y':1}}}",
             .result = "{'spec':{'replicas':1,'paused':true,'x':{'y':1}}}"),
        /* The same value may be owned twice. */
        STEP("b", "{'spec':{'replicas':1}}",
             .result = "{'spec':{'replicas':1,'paused':true,'x':{'y':1}}}"),
        STEP("b", "{'spec':{'replicas':2}}",
             .error = "Apply failed with 1 conflict: conflict with \"a\": .spec.replicas"),
        STEP("b", "{'spec':{'replicas':2,'paused':false}}",
             .error = "Apply failed with 2 conflicts: conflicts with \"a\":\n- .spec.replicas\n"
                      "- .spec.paused"),
        /* What a no longer applies goes, unless b owns it as well; an emptied map goes too. */
        STEP("a", "{'spec':{'paused':true}}", .result = "{'spec':{'replicas':1,'paused':true}}"),
        STEP("b", "{'spec':{'replicas':3}}", .result = "{'spec':{'replicas':3,'paused':true}}"),
        STEP("a", "{'spec':{'paused':true,'replicas':4}}", .force = true,
             .result = "{'spec':{'replicas':4,'paused':true}}"),
        /* b lost replicas to force: applying nothing does not remove it. */
        STEP("b", "{'spec':{'minReadySeconds':5}}",
             .result = "{'spec':{'replicas':4,'paused':true,'minReadySeconds':5}}"),
        /* An update takes the field away from a. */
        STEP("scaler", "{'spec':{'replicas':9,'paused':true,'minReadySeconds':5}}", .update = true,
             .result = "{'spec':{'replicas':9,'paused':true,'minReadySeconds':5}}"),
        STEP("a", "{'spec':{'paused':true,'replicas':4}}",
             .error = "Apply failed with 1 conflict: conflict with \"scaler\" using apps/v1: "
                      ".spec.replicas"),
        STEP("a", "{'spec':{'paused':true}}",
             .result = "{'spec':{'replicas':9,'paused':true,'minReadySeconds':5}}"),
        STEP("a", "{}", .result = "{'spec':{'replicas':9,'minReadySeconds':5}}"),
    };
    play(steps, TRY_COUNT(steps));
}

static void test_lists(void **state)
{
    static const struct step steps[] = {
        STEP("a",
             "{'spec':{'containers':[{'name':'x','image':'1','args':['p']},{'name':'y'}],'"
             "tolerations':[{'key':'k'}]}}",
             .kind = "Pod",
             .result =
                 "{'spec':{'containers':[{'name':'x','image':'1','args':['p']},{'name':'y'}],'"
                 "tolerations':[{'key':'k'}]}}"),
        STEP("injector",
             "{'spec':{'containers':[{'name':'side'},{'name':'x','env':[{'name':'E','value':'1'"
             "}]}]}}",
             .kind = "Pod",
             .result =
                 "{'spec':{'containers':[{'name':'side'},{'name':'x','image':'1','args':['p'],'"
                 "env':[{'name':'E','value':'1'}]},{'name':'y'}],'tolerations':[{'key':'k'}]}}"),
        STEP("b", "{'spec':{'containers':[{'name':'x','image':'2'}],'tolerations':[]}}",
             .kind = "Pod",
             .error = "Apply failed with 2 conflicts: conflicts with \"a\":\n"
                      "- .spec.containers[name=\"x\"].image\n- .spec.tolerations"),
        /* a reorders, drops y (gone) and keeps x: what the injector owns in x stays. */
        STEP("a", "{'spec':{'containers':[{'name':'z'},{'name':'x','image':'1'}]}}", .kind = "Pod",
             .result =
                 "{'spec':{'containers':[{'name':'side'},{'name':'z'},{'name':'x','image':'1','"
                 "env':[{'name':'E','value':'1'}]}]}}"),
        STEP("injector", "{}", .kind = "Pod",
             .result = "{'spec':{'containers':[{'name':'z'},{'name':'x','image':'1'}]}}"),
        STEP("a", "{'spec':{'containers':[{'image':'1'}]}}", .kind = "Pod",
             .error = "containers[0]: the item must have a value for its key: name"),
        STEP("a", "{'spec':{'containers':[{'name':'a'},{'name':'a'}]}}", .kind = "Pod",
             .error = "containers[1]: the key occurs twice: {\"name\":\"a\"}"),
    };
    play(steps, TRY_COUNT(steps));
}

static void test_before_first_apply(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *live =
        try_json(arena, "{'metadata':{'name':'n','uid':'u'},'spec':{'replicas':1}}");
    struct step conflict = {.manager = "a",
                            .body = "{'spec':{'replicas':2}}",
                            .error = "Apply failed with 1 conflict: conflict with "
                                     "\"before-first-apply\" using apps/v1: .spec.replicas"};
    struct step forced = {.manager = "a",
                          .force = true,
                          .body = "{'spec':{'replicas':2}}",
                          .result = "{'metadata':{'name':'n','uid':'u'},'spec':{'replicas':2}}"};
    struct step untracked = {.manager = "u",
                             .update = true,
                             .body = "{'spec':{'replicas':7}}",
                             .result = "{'spec':{'replicas':7}}"};
    take_step(arena, &conflict, 0, live);
    struct json_object *out = take_step(arena, &forced, 0, live);
    try_same(arena, json_at(out, "metadata", "managedFields", NULL),
             "[{'manager':'a','operation':'Apply','apiVersion':'apps/"
             "v1','time':'1970-01-01T00:00:00Z','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:"
             "replicas':{}}}}]");
    /* Without any owner an update is not tracked. */
    out = take_step(arena, &untracked, 0, live);
    assert_null(json_at(out, "metadata", NULL));
}

static void test_updates(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct step create = {.manager = "c",
                          .update = true,
                          .body = "{'spec':{'replicas':1,'paused':true}}",
                          .result = "{'spec':{'replicas':1,'paused':true}}"};
    struct step status = {.manager = "k",
                          .update = true,
                          .subresource = "status",
                          .body = "{'spec':{'replicas':1,'paused':true},'status':{'replicas':1}}",
                          .result =
                              "{'spec':{'replicas':1,'paused':true},'status':{'replicas':1}}"};
    struct step remove = {.manager = "d",
                          .update = true,
                          .body = "{'spec':{'replicas':1},'status':{'replicas':1}}",
                          .result = "{'spec':{'replicas':1},'status':{'replicas':1}}"};
    struct step clear = {.manager = "d",
                         .update = true,
                         .body = "{'metadata':{'managedFields':[{}]},'spec':{}}",
                         .result = "{'spec':{}}"};
    struct json_object *live = take_step(arena, &create, 0, NULL);
    live = take_step(arena, &status, 1000, live);
    live = take_step(arena, &remove, 2000, live);
    try_same(arena, json_at(live, "metadata", "managedFields", NULL),
             "[{'manager':'c','operation':'Update','apiVersion':'apps/"
             "v1','time':'1970-01-01T00:00:00Z','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:"
             "replicas':{}}}},{'manager':'k','operation':'Update','apiVersion':'apps/"
             "v1','time':'1970-01-01T00:00:01Z','fieldsType':'FieldsV1','fieldsV1':{'f:status':{'f:"
             "replicas':{}}},'subresource':'status'}]");
    /* Nothing changes: not even a time. */
    const char *before = json_text_sorted(arena, live);
    live = take_step(arena, &remove, 9000, live);
    assert_string_equal(json_text_sorted(arena, live), before);
    live = take_step(arena, &clear, 0, live);
    assert_null(json_at(live, "metadata", "managedFields", NULL));
}

static void test_repeated_apply_changes_nothing(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct step step = {
        .manager = "a",
        .kind = "Service",
        .body =
            "{'metadata':{'finalizers':['f']},'spec':{'ports':[{'port':80}],'selector':{'a':'1'}}}",
        .result = "{'metadata':{'finalizers':['f']},'spec':{'ports':[{'port':80}],'selector':{'a':'"
                  "1'}}}"};
    struct json_object *first = take_step(arena, &step, 0, NULL);
    struct json_object *second = take_step(arena, &step, 5000, first);
    assert_string_equal(json_text_sorted(arena, first), json_text_sorted(arena, second));
}

static void test_custom(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct schema *schema = NULL;
    struct errinfo ei = {0};
    assert_int_equal(
        schema_compile(
            try_json(arena,
                     "{'type':'object','properties':{'l':{'type':'array','x-kubernetes-list-type':'"
                     "map','x-kubernetes-list-map-keys':['k'],'items':{'type':'object','properties'"
                     ":{'k':{'type':'string'},'v':{'type':'integer'}}}},'s':{'type':'array','x-"
                     "kubernetes-list-type':'set','items':{'type':'string'}}}}"),
            &schema, &ei),
        ERR_OK);
    struct apply_request request = {
        .typing = typing_custom(schema), .manager = "b", .api_version = "x/v1"};
    struct json_object *live = try_json(arena, "{'l':[{'k':'1','v':1}],'s':['x']}");
    struct json_object *out = NULL;
    assert_int_equal(apply_merge(arena, &request, live,
                                 try_json(arena, "{'l':[{'k':'2'}],'s':['y','x']}"), &out, NULL,
                                 &ei),
                     ERR_OK);
    try_same(arena, bare(arena, out), "{'l':[{'k':'1','v':1},{'k':'2'}],'s':['y','x']}");
    schema_free(schema);
}

static void test_bad_requests(void **state)
{
    char long_name[APPLY_MAX_MANAGER + 2];
    memset(long_name, 'a', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    const struct {
        const char *manager, *body, *why;
    } cases[] = {
        {NULL, "{}", "fieldManager is required for apply patch"},
        {"", "{}", "fieldManager is required for apply patch"},
        {long_name, "{}", "fieldManager: at most 128 bytes, this one has 129"},
        {"a\n", "{}", "fieldManager: must consist of printable characters"},
        {"a", "[]", "an apply patch must be an object"},
        {"a", "{'metadata':{'managedFields':[{}]}}", "metadata.managedFields must be nil"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct apply_request request = {.manager = cases[i].manager, .api_version = "v1"};
        struct json_object *out = NULL;
        struct errinfo ei = {0};
        assert_int_equal(
            apply_merge(arena, &request, NULL, try_json(arena, cases[i].body), &out, NULL, &ei),
            ERR_INVALID);
        assert_string_equal(ei.text, cases[i].why);
        assert_int_equal(ei.status, 400);
    }
}

UNIT_MAIN(cmocka_unit_test(test_ownership), cmocka_unit_test(test_lists),
          cmocka_unit_test(test_before_first_apply), cmocka_unit_test(test_updates),
          cmocka_unit_test(test_repeated_apply_changes_nothing), cmocka_unit_test(test_custom),
          cmocka_unit_test(test_bad_requests))
