#include "ctl/why/why.h"

#include <string.h>

#include "test/rows.h"
#include "test/unit.h"

/* 1970-01-01T00:10:00Z */
enum { NOW_MS = 600000 };

static const char since[] = "1970-01-01T00:05:00Z";

/* The status in a row: as given, or built from its phase or its condition. */
static struct json_object *status_of(struct json_object *row)
{
    struct json_object *condition = json_at(row, "condition", NULL);
    struct json_object *status = json_at(row, "status", NULL);
    const char *phase = json_str_at(row, "phase", NULL);

    if (status)
        return status;
    status = json_own(unit_arena, json_object_new_object());
    json_set_str(status, "phase", phase ? phase : "Progressing");
    json_set_str(status, "lastAppliedSpec", "a");
    if (!condition) {
        json_set_str(status, "lastTransitionTime", since);
        return status;
    }
    json_set_int(status, "failedChecks", 2);
    json_set_str(condition, "message", "it says so.");
    json_set_str(condition, "lastTransitionTime", since);
    struct json_object *list = json_own(unit_arena, json_object_new_array());
    json_object_array_add(list, json_object_get(condition));
    json_set(status, "conditions", list);
    return status;
}

CASE(each_situation_has_its_sentence)
{
    struct json_object *rows = json_elem(rows_read(arena, "controller/ctl/why/situations.yaml"), 0);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; unit_row("rows", i, json_len(rows)); i++) {
        struct json_object *row = json_elem(rows, i);
        struct json_object *canary =
            rows_json(arena, "{'metadata':{'name':'app','namespace':'shop','creationTimestamp':"
                             "'1970-01-01T00:00:00Z'},'spec':{}}");
        const char *live = json_str_at(row, "live", NULL), *text = json_str_at(row, "text", NULL);
        const char *next = json_str_at(row, "next", NULL);
        struct why_answer answer;
        json_set(canary, "status", status_of(row));
        if (json_at(row, "spec", NULL))
            json_set(canary, "spec", json_at(row, "spec", NULL));
        const struct facts facts = {.now_ms = NOW_MS,
                                    .canary = canary,
                                    .lease = json_at(row, "lease", NULL),
                                    .target = json_at(row, "target", NULL),
                                    .primary = json_at(row, "primary", NULL),
                                    .pods = json_at(row, "pods", NULL),
                                    .gate = json_at(row, "gate", NULL),
                                    .gate_url = "http://gate",
                                    .live = live ? live : "a"};
        why_of(arena, "ctl", &facts, &answer);
        assert_string_equal(answer.situation, json_str_at(row, "situation", NULL));
        if (!strstr(answer.text, text))
            fail_msg("\"%s\" is not in \"%s\"", text, answer.text);
        if (next)
            assert_string_equal(answer.next, next);
    }
}

CASE(what_objects_say_is_cleaned)
{
    struct why_answer answer;
    const struct facts facts = {
        .now_ms = NOW_MS,
        .canary = rows_json(arena, "{'metadata':{'name':'app'},'status':{'phase':'Progressing',"
                                   "'conditions':[{'type':'Accepted','status':'False','message':"
                                   "'\\u001b[31mred'}]}}")};

    why_of(arena, "ctl", &facts, &answer);
    assert_null(strchr(answer.text, '\033'));
}

CASE(no_two_situations_have_one_name)
{
    const char *const *names = why_situations(arena);

    for (size_t i = 0; names[i]; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
}
