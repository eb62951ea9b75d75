/* The API, by the rows of cases.yaml: what clients ask and are told; and the pure functions that
 * read a request. */
#include "api/objtidy.h"
#include "api/restaccept.h"
#include "api/restpath.h"
#include "api/restproto.h"
#include "api/tryapi.h"
#include "object/cases.h"

/* --- conversations */

/* Sends what a step says. */
static struct answer send_step(struct tryapi *a, struct json_object *step)
{
    const char *line = json_str_at(step, "ask", NULL), *space = strchr(line, ' ');
    struct json_object *body = json_at(step, "body", NULL);
    const char *text = json_object_is_type(body, json_type_string) ? json_object_get_string(body)
                       : body                                      ? json_text(a->t.arena, body)
                                                                   : NULL;
    a->token = json_str_at(step, "token", NULL);
    a->accept = json_str_at(step, "accept", NULL);
    a->type = json_str_at(step, "type", NULL);
    a->agent = json_str_at(step, "agent", NULL);
    return ask(a, arena_strndup(a->t.arena, line, (size_t)(space - line)), space + 1, text);
}

/* What of the answer is not as the step has it; NULL: all is. */
static const char *wrong(struct tryapi *a, struct json_object *step, const struct answer *answer)
{
    struct arena *arena = a->t.arena;
    struct json_object *has = json_at(step, "has", NULL);
    const char *says = json_str_at(step, "says", NULL);
    const char *warning = json_str_at(step, "warning", NULL);
    int64_t status = json_int_at(step, 200, "status", NULL);
    if (status == 0)
        return answer->err == ERR_OK ? "an answer" : NULL;
    if (answer->err != ERR_OK || answer->status != status)
        return arena_printf(arena, "status %d", answer->status);
    if (has && !json_same(json_merge(arena, answer->body, has), answer->body))
        return "another body";
    if (says && (!answer->text || !strstr(answer->text, says)))
        return "other words";
    if (json_at(step, "retry_after", NULL) && strcmp(answer->retry_after ? answer->retry_after : "",
                                                     json_str_at(step, "retry_after", NULL)) != 0)
        return "another Retry-After";
    if (warning && strcmp(answer->warning ? answer->warning : "", warning) != 0)
        return arena_printf(arena, "warning %s", answer->warning ? answer->warning : "");
    return NULL;
}

/* The steps of a row, with an API of its own. A step that comes true in time is asked again. */
static struct json_object *talk(struct arena *arena, struct json_object *row)
{
    struct json_object *steps = json_at(row, "steps", NULL);
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *step = json_elem(steps, i);
        int64_t before = clock_monotonic_ms(), end = before + 5000;
        struct answer answer = send_step(&a, step);
        assert_true(clock_monotonic_ms() - before >= json_int_at(step, 0, "takes", NULL));
        while (json_bool_at(step, false, "until", NULL) && wrong(&a, step, &answer) &&
               clock_monotonic_ms() < end)
            answer = send_step(&a, step);
        const char *why = wrong(&a, step, &answer);
        if (why)
            return cases_text(arena, arena_printf(arena, "step %zu: %s: %s", i + 1, why,
                                                  answer.text ? answer.text : ""));
    }
    return cases_bool(arena, true);
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
