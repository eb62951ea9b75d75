#include "ctl/state.h"

#include <string.h>

#include "decide/waiting.h"
#include "test/rows.h"
#include "test/unit.h"

static enum ctl_exit outcome_of(const char *name)
{
    static const struct {
        const char *name;
        enum ctl_exit outcome;
    } all[] = {{"done", CTL_DONE},     {"timed out", CTL_TIMED_OUT},   {"person", CTL_PERSON},
               {"failed", CTL_FAILED}, {"superseded", CTL_SUPERSEDED}, {"server", CTL_SERVER}};

    EACH_ROW (row, all)
        if (strcmp(row->name, name) == 0)
            return row->outcome;
    fail_msg("no outcome \"%s\"", name);
    return CTL_DONE;
}

CASE(each_state_has_its_outcome)
{
    struct json_object *rows = json_elem(rows_read(arena, "controller/ctl/verdicts.yaml"), 0);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i);
        struct json_object *canary = json_own(arena, json_object_new_object());
        struct verdict_answer answer;
        json_set(canary, "status", json_at(row, "status", NULL));
        const struct verdict_question question = {.canary = canary,
                                                  .target = json_at(row, "target", NULL),
                                                  .live = json_str_at(row, "live", NULL),
                                                  .revision = json_str_at(row, "revision", NULL)};
        verdict_of(arena, &question, &answer);
        assert_string_equal(answer.sentence, json_str_at(row, "sentence", NULL));
        assert_int_equal(answer.outcome, outcome_of(json_str_at(row, "outcome", NULL)));
    }
}

/* For every wait that the rules may record: its text, and the exit code for a user if one is
 * needed. */
CASE(each_condition_that_holds_a_release_is_in_the_sentence)
{
    static const struct {
        const char *type;
        enum waiting_kind kind;
        const char *words;
    } all[] = {
#define TRUE                                                    "True"
#define FALSE                                                   "False"
#define CONDITION(name, type, holds, of_spec, bad, kind, words) {type, WAITING_##kind, words},
#include "decide/conditions.def"
#undef CONDITION
    };

    EACH_ROW (row, all) {
        struct verdict_answer answer;
        const struct verdict_question question = {
            .canary = rows_json(
                arena, arena_printf(arena,
                                    "{'status': {'phase': 'Progressing', 'lastAppliedSpec': 'a', "
                                    "'conditions': [{'type': '%s', 'status': '%s', 'message': "
                                    "'it says so'}]}}",
                                    row->type, strcmp(row->type, "Suspended") ? FALSE : TRUE)),
            .live = "a"};
        if (row->kind < WAITING_WAITS)
            continue;
        verdict_of(arena, &question, &answer);
        assert_int_equal(answer.outcome, row->kind == WAITING_PERSON ? CTL_PERSON : CTL_TIMED_OUT);
        assert_non_null(strstr(answer.sentence, arena_printf(arena, "%s: it says so", row->words)));
    }
}

/* It continues by itself, so it must not be reported as waiting for a user. */
CASE(one_that_a_plan_holds_waits_for_its_turn)
{
    static const struct {
        const char *status, *live, *sentence;
    } held[] = {
        {"\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\"", "b",
         "revision b waits for its turn in the ReleasePlan default/shop"},
        {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"b\"", "b",
         "revision b is held by the ReleasePlan default/shop"},
    };

    for (size_t i = 0; unit_row("held", i, sizeof(held) / sizeof(held[0])); i++) {
        struct verdict_answer answer;
        const struct verdict_question question = {
            .canary = rows_json(
                arena,
                arena_printf(
                    arena,
                    "{\"metadata\": {\"annotations\": {\"flagger.app/held-by\": "
                    "\"default/shop\"}}, "
                    "\"status\": {%s, \"conditions\": [{\"type\": \"Suspended\", \"status\": "
                    "\"True\", \"message\": \"m\"}]}}",
                    held[i].status)),
            .live = held[i].live};
        verdict_of(arena, &question, &answer);
        assert_string_equal(answer.sentence, held[i].sentence);
        assert_int_equal(answer.outcome, CTL_TIMED_OUT);
    }
}

CASE(an_image_is_that_of_the_target)
{
    struct verdict_answer answer;
    struct verdict_question question = {
        .canary = rows_json(arena,
                            "{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\"}}"),
        .target =
            rows_json(arena, "{\"spec\": {\"template\": {\"spec\": {\"containers\": [{\"image\": "
                             "\"x:2\"}]}}}}"),
        .primary =
            rows_json(arena, "{\"spec\": {\"template\": {\"spec\": {\"containers\": [{\"image\": "
                             "\"x:1\"}]}}}}"),
        .live = "b",
        .image = "x:2"};

    verdict_of(arena, &question, &answer);
    assert_int_equal(answer.outcome,
                     CTL_TIMED_OUT); /* not noticed yet: not the success of the old revision */
    question.live = "a";
    verdict_of(arena, &question, &answer);
    assert_int_equal(answer.outcome, CTL_DONE);
    question.image = "x:1";
    verdict_of(arena, &question, &answer);
    assert_int_equal(answer.outcome, CTL_SUPERSEDED);
    assert_string_equal(answer.sentence, "no container of the target has the image x:1, but the "
                                         "primary still has it");
    question.target = NULL;
    verdict_of(arena, &question, &answer);
    assert_int_equal(answer.outcome, CTL_SERVER);
}

CASE(a_share_is_one_of_all_or_of_matches_or_a_copy)
{
    static const struct {
        const char *status, *share;
    } rows[] = {
        {"{\"canaryWeight\":20,\"step\":{\"weight\":20}}", "20%"},
        {"{\"canaryWeight\":1,\"canaryShare\":\"0.5\",\"step\":{\"weight\":0.5}}", "0.5%"},
        {"{\"canaryWeight\":100,\"step\":{\"weight\":100,\"match\":true}}", "matches"},
        /* because the primary is missing */
        {"{\"canaryWeight\":100,\"canaryServes\":\"everything\",\"step\":{\"match\":true}}",
         "100%"},
        {"{\"canaryWeight\":0,\"step\":{\"weight\":0,\"mirror\":50}}", "copy of 50%"},
        {"{\"canaryWeight\":5,\"step\":{\"weight\":5,\"mirror\":50}}", "5%"},
        {"{}", "0%"},
    };

    EACH_ROW (row, rows) {
        struct json_object *canary = json_own(arena, json_object_new_object()), *status;
        struct errinfo ei;
        struct glance at;
        assert_int_equal(
            json_parse(arena, row->status, strlen(row->status), strlen(row->status), &status, &ei),
            ERR_OK);
        json_set(canary, "status", status);
        glance_at(arena, canary, &at);
        assert_string_equal(glance_share(arena, &at), row->share);
    }
}
