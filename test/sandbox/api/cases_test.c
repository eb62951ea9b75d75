/* The API, by the rows of cases.yaml: what clients ask and are told; and the pure functions that
 * read a request. */
#include "api/objinternal.h"
#include "api/restask.h"
#include "api/tryapi.h"
#include "object/cases.h"

/* With an API of its own. */
static struct json_object *talk(struct arena *arena, struct json_object *row)
{
    struct tryapi a;
    tryapi_open(&a);
    struct json_object *out = json_copy(arena, talk_steps(&a.talk, row));
    tryapi_close(&a);
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
    {"conversations", talk}, {"accept", accepted},   {"paths", path_parts},
    {"tidied", tidy},        {"protobuf", protobuf},
};

CASES("test/sandbox/api/cases.yaml", groups)
