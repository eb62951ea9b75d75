#include "ctl/verdict.h"

#include <string.h>

#include "test/unit.h"

static struct json_object *parse(const char *text)
{
    struct json_object *out = NULL;
    struct errinfo ei = {0};

    if (json_parse(unit_arena, text, strlen(text), JSON_MAX_BYTES, &out, &ei) != ERR_OK)
        fail_msg("%s: %s", ei.text, text);
    return out;
}

#define GATE "\"conditions\": [{\"type\": \"Approved\", \"status\": \"False\", \"message\": \"m\"}]"
#define REFUSED                                                                                    \
    "\"conditions\": [{\"type\": \"Accepted\", \"status\": \"False\", \"message\": \"m\"}]"
#define SUSPENDED                                                                                  \
    "\"conditions\": [{\"type\": \"Suspended\", \"status\": \"True\", \"message\": \"m\"}]"
#define PAST                                                                                       \
    "\"history\": [{\"revision\": \"p\", \"outcome\": \"promoted\"}, {\"revision\": \"f\", "       \
    "\"outcome\": \"failed\", \"reason\": \"bad\"}, {\"revision\": \"c\", \"outcome\": "           \
    "\"cancelled\", \"reason\": \"other\"}]"

/* Status, the target's revision, the one that is asked about. */
static const struct {
    const char *status, *live, *revision;
    enum ctl_exit outcome;
    const char *sentence;
} rows[] = {
    {"\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\"", "a", NULL, CTL_DONE,
     "revision a is promoted"},
    {"\"phase\": \"Initialized\", \"lastAppliedSpec\": \"a\"", NULL, NULL, CTL_DONE,
     "revision a is promoted"},
    {"\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\"", "b", NULL, CTL_TIMED_OUT,
     "revision b has not begun"},
    {"\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\", \"conditions\": [{\"type\": "
     "\"Suspended\", \"status\": \"True\", \"message\": \"m\"}]",
     "b", NULL, CTL_PERSON, "revision b waits for a person: it is suspended: m"},
    {"\"phase\": \"Progressing\", \"canaryWeight\": 20, \"lastAppliedSpec\": \"a\"", "a", "a",
     CTL_TIMED_OUT, "revision a is Progressing at 20%"},
    {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"a\", " GATE, "a", NULL, CTL_PERSON,
     "revision a waits for a person: a gate is closed: m"},
    {"\"phase\": \"WaitingPromotion\", \"lastAppliedSpec\": \"a\"", "a", NULL, CTL_PERSON,
     "revision a waits for a person: a gate is closed"},
    {"\"phase\": \"Waiting\", \"lastAppliedSpec\": \"a\"", "b", NULL, CTL_PERSON,
     "revision b waits for a person: a gate is closed"},
    {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"a\", \"paused\": {\"by\": \"eve\", "
     "\"why\": \"lunch\"}",
     "a", NULL, CTL_PERSON, "revision a waits for a person: eve has paused it: lunch"},
    {"\"phase\": \"Failed\", \"lastAppliedSpec\": \"a\"", "a", NULL, CTL_FAILED,
     "revision a was rolled back: the analysis failed"},
    {"\"phase\": \"Failed\", \"lastAppliedSpec\": \"f\", \"history\": [{\"reason\": \"bad\"}]", "f",
     NULL, CTL_FAILED, "revision f was rolled back: bad"},
    {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"b\", \"lastPromotedSpec\": \"a\"", "b",
     "a", CTL_DONE, "revision a was promoted; b has followed it"},
    {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"b\", " PAST, "b", "p", CTL_DONE,
     "revision p was promoted; b has followed it"},
    {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"b\", " PAST, "b", "f", CTL_FAILED,
     "revision f was rolled back: bad"},
    {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"b\", " PAST, "b", "c", CTL_SUPERSEDED,
     "the release of revision c was cancelled: other"},
    {"\"phase\": \"Progressing\", \"lastAppliedSpec\": \"b\"", "b", "x", CTL_SUPERSEDED,
     "revision x is neither the one that was analysed last (b) nor in the history"},
    {"\"phase\": \"Terminating\", \"lastAppliedSpec\": \"b\"", "b", "b", CTL_SUPERSEDED,
     "the Canary is being deleted"},
    {"", NULL, NULL, CTL_TIMED_OUT, "no controller has looked at the Canary yet"},
    {"\"phase\": \"Initializing\"", NULL, NULL, CTL_TIMED_OUT,
     "revision none is Initializing at 0%"},
    {"\"phase\": \"Initializing\", " REFUSED, NULL, NULL, CTL_PERSON,
     "nothing is released yet, it waits for a person: its spec is refused: m"},
    {"\"phase\": \"Initializing\", " REFUSED, "a", NULL, CTL_PERSON,
     "revision a waits for a person: its spec is refused: m"},
    {REFUSED, NULL, NULL, CTL_PERSON,
     "nothing is released yet, it waits for a person: its spec is refused: m"},
    {SUSPENDED, NULL, NULL, CTL_PERSON,
     "nothing is released yet, it waits for a person: it is suspended: m"},
};

CASE(each_state_has_its_outcome)
{
    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        struct verdict_answer answer;
        const struct verdict_question question = {
            .canary = parse(arena_printf(arena, "{\"status\": {%s}}", rows[i].status)),
            .live = rows[i].live,
            .revision = rows[i].revision};
        verdict_of(arena, &question, &answer);
        assert_string_equal(answer.sentence, rows[i].sentence);
        assert_int_equal(answer.outcome, rows[i].outcome);
    }
}

/* It goes on by itself, so nobody who waits for a person is to be told of it. */
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
            .canary = parse(arena_printf(
                arena,
                "{\"metadata\": {\"annotations\": {\"flagger.app/held-by\": \"default/shop\"}}, "
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
        .canary = parse("{\"status\": {\"phase\": \"Succeeded\", \"lastAppliedSpec\": \"a\"}}"),
        .target = parse("{\"spec\": {\"template\": {\"spec\": {\"containers\": [{\"image\": "
                        "\"x:2\"}]}}}}"),
        .primary = parse("{\"spec\": {\"template\": {\"spec\": {\"containers\": [{\"image\": "
                         "\"x:1\"}]}}}}"),
        .live = "b",
        .image = "x:2"};

    verdict_of(arena, &question, &answer);
    assert_int_equal(answer.outcome,
                     CTL_TIMED_OUT); /* not noticed yet: not the old one's success */
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
