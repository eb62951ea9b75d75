/* The API, by the rows of cases.yaml: what clients ask and are told; and the pure functions that
 * read a request. */
#include "api/objinternal.h"
#include "api/restask.h"
#include "api/tryapi.h"
#include "object/cases.h"
#include "object/meta.h"

/* With an API of its own. */
static struct json_object *talk(struct arena *arena, struct json_object *row)
{
    struct tryapi a;
    tryapi_open(&a);
    struct json_object *out = json_copy(arena, talk_steps(&a.talk, row));
    tryapi_close(&a);
    return out;
}

/* --- watches within the process */

/* A store and who watches it; seen: what was told, "+added ~changed -deleted ." */
struct events {
    struct trystore t;
    struct buf seen;
    struct objwatch *watch;
    uint64_t mark;
    int64_t stop_after, count;
};

static void make(struct events *e, const char *plural, const char *name)
{
    try_create(&e->t, try_kind(&e->t, "", plural), "default",
               arena_printf(e->t.arena, "{'metadata':{'name':'%s'}}", name));
}

static void on_event(void *arg, const struct objevent *event)
{
    static const char *const names[] = {
        [OBJ_ADDED] = "+", [OBJ_MODIFIED] = "~", [OBJ_DELETED] = "-", [OBJ_SYNCED] = "."};
    struct events *e = arg;
    buf_printf(&e->seen, "%s%s ", names[event->type],
               event->object ? meta_name(event->object) : "");
    if (++e->count == e->stop_after)
        objwatch_stop(e->watch);
}

/* A watch that starts in the middle of a round, from what another one was told. */
static void on_start_other(void *arg, const struct objevent *event)
{
    struct events *e = arg;
    if (event->type == OBJ_SYNCED && !e->watch) {
        make(e, "configmaps", "late");
        e->watch = objstore_watch(e->t.store, "", "configmaps", on_event, e);
        make(e, "configmaps", "later");
    }
}

static bool resume(struct events *e, uint64_t version)
{
    e->watch = objstore_watch_from(e->t.store, "", "configmaps", version, on_event, e);
    return e->watch != NULL;
}

/* False: what the word says is not so. */
static bool do_word(struct events *e, const char *verb, const char *name)
{
    const struct objkind *maps = try_kind(&e->t, "", "configmaps");
    struct objstore *store = e->t.store;
    if (strcmp(verb, "make") == 0)
        make(e, "configmaps", name);
    else if (strcmp(verb, "secret") == 0)
        make(e, "secrets", name);
    else if (strcmp(verb, "many") == 0)
        for (long i = strtol(name, NULL, 10); i > 0; i--)
            make(e, "configmaps", arena_printf(e->t.arena, "m%ld", i));
    else if (strcmp(verb, "change") == 0)
        try_merge(&e->t, maps, "default", name, OBJSUB_NONE, "{'data':{'x':'y'}}");
    else if (strcmp(verb, "delete") == 0)
        try_delete(&e->t, maps, "default", name, OBJ_BACKGROUND);
    else if (strcmp(verb, "watch") == 0)
        e->watch =
            objstore_watch(store, *name ? "try.io" : "", *name ? name : "configmaps", on_event, e);
    else if (strcmp(verb, "other") == 0)
        objstore_watch(store, "", "configmaps", on_start_other, e);
    else if (strcmp(verb, "stop") == 0)
        objwatch_stop(e->watch);
    else if (strcmp(verb, "mark") == 0)
        e->mark = objstore_version(store);
    else if (strcmp(verb, "compact") == 0)
        objstore_compact(store);
    else if (strcmp(verb, "settle") == 0)
        try_settle(&e->t);
    else if (strcmp(verb, "toy") == 0) {
        try_create(&e->t, try_kind(&e->t, "apiextensions.k8s.io", "customresourcedefinitions"),
                   NULL, try_crd);
        try_create(&e->t, try_kind(&e->t, "try.io", "toys"), "default",
                   "{'metadata':{'name':'bear'},'spec':{'size':1}}");
    } else if (strcmp(verb, "sees") == 0)
        return strcmp(e->seen.data, name) == 0;
    else if (strcmp(verb, "counts") == 0)
        return e->count == strtoll(name, NULL, 10);
    else if (strcmp(verb, "resume") == 0)
        return resume(e, strcmp(name, "now") == 0 ? 0
                         : strcmp(name, "mark") == 0
                             ? e->mark
                             : objstore_version(store) - strtoull(name, NULL, 10));
    else if (strcmp(verb, "forgotten") == 0)
        return !resume(e, e->mark);
    else if (strcmp(verb, "current") == 0)
        return objwatch_version(e->watch) == objstore_version(store);
    else
        fail_msg("%s is no word", verb);
    return true;
}

static struct json_object *events(struct arena *arena, struct json_object *row)
{
    struct json_object *steps = json_at(row, "steps", NULL), *out = cases_bool(arena, true);
    struct events e = {.t = {.loop = loop_new(10000), .arena = arena_new()},
                       .stop_after = json_int_at(row, -1, "stop_after", NULL)};
    e.t.store = objstore_new(e.t.loop, (size_t)json_int_at(row, 0, "log", NULL));
    buf_init(&e.seen, 1024 * 1024);
    for (size_t i = 0; i < json_len(steps); i++) {
        const char *step = json_object_get_string(json_elem(steps, i));
        size_t len = strcspn(step, " ");
        if (!do_word(&e, arena_strndup(arena, step, len), step + len + (step[len] == ' ')))
            out = cases_text(arena, arena_printf(arena, "%s: %s", step, e.seen.data));
    }
    buf_fini(&e.seen);
    try_close(&e.t);
    return out;
}

/* --- reading a request */

static struct json_object *accepted(struct arena *arena, struct json_object *row)
{
    static const char *const forms[] = {"itself", "Table", "metadata"};
    struct restaccept found = restaccept_parse(arena, json_str_at(row, "header", NULL));
    if (!found.acceptable)
        return NULL;
    return cases_text(arena,
                      arena_printf(arena, "%s%s%s", forms[found.as], found.version ? " " : "",
                                   found.version ? found.version : ""));
}

static struct json_object *path_parts(struct arena *arena, struct json_object *row)
{
    struct restpath found = restpath_parse(arena, json_str_at(row, "path", NULL));
    struct json_object *out = json_own(arena, json_object_new_object());
    assert_string_equal(found.full, json_str_at(row, "path", NULL));
    json_set_str(out, "group", found.group);
    json_set_str(out, "version", found.version);
    json_set_str(out, "namespace", found.ns);
    json_set_str(out, "plural", found.plural);
    json_set_str(out, "name", found.name);
    json_set_str(out, "sub", found.sub);
    assert_int_equal(found.resource, found.plural != NULL);
    if (found.excess)
        json_set_bool(out, "excess", true);
    return out;
}

static struct json_object *tidy(struct arena *arena, struct json_object *row)
{
    struct json_object *obj = json_at(row, "obj", NULL);
    objtidy(obj, json_bool_at(row, true, "typed", NULL));
    return obj;
}

/* Text with bytes as \xHH. */
static char *bytes_of(struct arena *arena, const char *text, size_t *len)
{
    char *out = arena_strdup(arena, text);
    *len = 0;
    while (*text) {
        char pair[3] = {0};
        bool escaped = strncmp(text, "\\x", 2) == 0;
        if (escaped)
            memcpy(pair, text + 2, 2);
        out[(*len)++] = escaped ? (char)strtol(pair, NULL, 16) : *text;
        text += escaped ? 4 : 1;
    }
    return out;
}

/* No prefix of a body is read past its end, either. */
static struct json_object *protobuf(struct arena *arena, struct json_object *row)
{
    struct json_object *obj = NULL;
    struct errinfo ei = {0};
    size_t len;
    const char *data = bytes_of(arena, json_str_at(row, "body", NULL), &len);
    for (size_t cut = 0; cut < len; cut++) {
        char *copy = heap_alloc(cut + 1); /* for a sanitizer to see where it ends */
        memcpy(copy, data, cut);
        enum err err = restproto_read(arena, copy, cut, &obj, &ei);
        assert_true(err == ERR_OK || (err == ERR_INVALID && *ei.text));
        free(copy);
    }
    return restproto_read(arena, data, len, &obj, &ei) == ERR_OK ? obj : cases_error(arena, &ei);
}

static const struct cases_group groups[] = {
    {"conversations", talk}, {"watches", events}, {"accept", accepted},
    {"paths", path_parts},   {"tidied", tidy},    {"protobuf", protobuf},
};

CASES("test/sandbox/api/cases.yaml", groups)
