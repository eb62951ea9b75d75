#include "test/rows.h"
#include "test/unit.h"

#include <string.h>

#include "ctl/why/why.h"

/* 1970-01-01T00:10:00Z */
enum { NOW_MS = 600000 };

static const char *const phases[] = {
#define WAVES_PHASE(name) #name,
#include "fleet/rules/waves_phase.def"
#undef WAVES_PHASE
};

static const char spec[] =
    "{'application':'shop','waves':[{'name':'first','soak':'10m','gate':{'url':"
    "'http://gate.flagger/gate/check'}},{'name':'second'}]}";

static struct json_object *plan_with(struct arena *arena, struct json_object *status)
{
    struct json_object *plan =
        rows_json(arena, "{'metadata':{'name':'shop','namespace':'default','creationTimestamp':"
                         "'1970-01-01T00:00:00Z'}}");

    json_set(plan, "spec", rows_json(arena, spec));
    if (status)
        json_set(plan, "status", status);
    return plan;
}

CASE(each_phase_of_a_plan_has_its_sentence)
{
    struct json_object *rows = json_elem(rows_read(arena, "controller/ctl/why/situations.yaml"), 1);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; unit_row("rows", i, json_len(rows)); i++) {
        struct json_object *row = json_elem(rows, i);
        const char *text = json_str_at(row, "text", NULL), *next = json_str_at(row, "next", NULL);
        struct why_answer answer;
        why_release_plan(arena, "ctl", plan_with(arena, json_at(row, "status", NULL)), NOW_MS,
                         &answer);
        assert_string_equal(answer.situation, json_str_at(row, "situation", NULL));
        if (!strstr(answer.text, text))
            fail_msg("\"%s\" is not in \"%s\"", text, answer.text);
        if (next)
            assert_string_equal(answer.next, next);
        else
            assert_null(answer.next);
    }
}

CASE(no_phase_is_forgotten)
{
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        struct why_answer answer;
        why_release_plan(
            arena, "ctl",
            plan_with(arena, rows_json(arena, arena_printf(arena, "{'phase':'%s'}", phases[i]))),
            NOW_MS, &answer);
        if (strcmp(answer.situation, "unknown") == 0)
            fail_msg("%s", phases[i]);
    }
}

CASE(a_canary_that_a_plan_holds)
{
    struct why_answer answer;
    const struct facts facts = {
        .now_ms = NOW_MS,
        .canary = rows_json(
            arena, "{'metadata':{'name':'app','namespace':'test','annotations':{'flagger.app/"
                   "held-by':'fleet/shop'}},'spec':{'suspend':true},'status':{'phase':"
                   "'Succeeded','conditions':[{'type':'Suspended','status':'True'}]}}")};

    why_of(arena, "ctl", &facts, &answer);
    assert_string_equal(answer.situation, "held-by-plan");
    assert_string_equal(answer.next, "ctl why plan/shop -n fleet");
    assert_non_null(strstr(answer.text, "app is held by the ReleasePlan fleet/shop"));
}
