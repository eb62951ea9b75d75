/* verdict: runs that fail the next check, their messages, and that each is returned once. */

#include <string.h>

#include "loadtester/verdict.h"
#include "test/unit.h"

static const struct summary good = {.tool = "hey", .requests = 1000, .errors = 0, .p99_ms = 20};
static const struct summary bad = {.tool = "hey", .requests = 2000, .errors = 100, .p99_ms = 500};
static const struct summary none = {.tool = "wrk", .p99_ms = 1};
static const struct summary mute = {.tool = "wrk", .requests = 10, .errors = 0, .p99_ms = -1};

#define P "load test \"hey x\" failed: "

static const struct {
    struct task_bounds bounds;
    const char *error;
    const struct summary *summary;
    const char *sentence;
} cases[] = {
    {{false, -1, -1}, "exit status 3", &bad, NULL},
    {{true, -1, -1}, NULL, &good, NULL},
    {{true, -1, -1}, NULL, NULL, NULL},
    {{true, -1, -1}, "exit status 3", NULL, P "exit status 3"},
    {{true, -1, -1}, "exit status 3", &good, P "exit status 3"},
    {{true, -1, -1}, NULL, &bad, P "5% of the requests failed (100 of 2000)"},
    {{false, 1, -1}, NULL, &good, NULL},
    {{false, 5, -1}, NULL, &bad, NULL},
    {{true, 5, -1}, NULL, &bad, NULL},
    {{false, 4.9, -1},
     NULL,
     &bad,
     P "5% of the requests failed (100 of 2000), maxErrorRate is 4.9%"},
    {{false, 0, -1}, NULL, &good, NULL},
    {{false, 1, -1}, NULL, &none, P "wrk made no request"},
    {{false, -1, 250}, NULL, &none, P "wrk made no request"},
    {{true, -1, -1}, NULL, &none, P "wrk made no request"},
    {{false, -1, -1}, NULL, &none, NULL},
    {{false, 1, -1}, NULL, NULL, P "no summary of hey, ghz or wrk in its output"},
    {{false, 1, -1}, "timed out after 1m0s", NULL, P "timed out after 1m0s"},
    {{false, -1, 250}, NULL, &good, NULL},
    {{false, -1, 250}, NULL, &bad, P "99% of the requests took up to 500ms, maxP99 is 250ms"},
    {{false, -1, 250}, NULL, &mute, P "wrk did not say how long 99% of the requests took"},
};

CASE(bounds_decide)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct task_plan plan = {.text = "hey x", .bounds = cases[i].bounds};
        const char *sentence = verdict_sentence(arena, &plan, cases[i].error, cases[i].summary);
        if (!cases[i].sentence != !sentence ||
            (sentence && strcmp(sentence, cases[i].sentence) != 0))
            fail_msg("case %zu: %s", i, sentence ? sentence : "(none)");
    }
}

CASE(a_failure_is_told_once_and_to_its_revision)
{
    struct verdicts *verdicts = verdicts_new();
    assert_null(verdicts_take(verdicts, arena, "a.b", "k", "r1"));
    verdicts_put(verdicts, "a.b", "k", "r1", "one");
    verdicts_put(verdicts, "c.b", "k", "r1", "two");
    assert_string_equal(verdicts_take(verdicts, arena, "a.b", "k", "r1"), "one");
    assert_null(verdicts_take(verdicts, arena, "a.b", "k", "r1"));
    /* a later successful run removes it */
    verdicts_put(verdicts, "c.b", "k", "r1", NULL);
    assert_null(verdicts_take(verdicts, arena, "c.b", "k", "r1"));
    /* another revision has its own runs */
    verdicts_put(verdicts, "a.b", "k", "r1", "three");
    assert_null(verdicts_take(verdicts, arena, "a.b", "k", "r2"));
    assert_null(verdicts_take(verdicts, arena, "a.b", "k", "r1"));
    verdicts_free(verdicts);
}

CASE(the_oldest_goes_when_there_are_too_many)
{
    struct verdicts *verdicts = verdicts_new();
    for (int i = 0; i <= VERDICT_KEPT; i++)
        verdicts_put(verdicts, arena_printf(arena, "c%d.b", i), "k", "r1", "bad");
    assert_null(verdicts_take(verdicts, arena, "c0.b", "k", "r1"));
    assert_non_null(verdicts_take(verdicts, arena, "c1.b", "k", "r1"));
    verdicts_free(verdicts);
}

CASE(long_commands_are_bounded_together)
{
    struct verdicts *verdicts = verdicts_new();
    size_t len = VERDICT_BYTES / 4;
    char *key = arena_alloc(arena, len + 1);
    memset(key, 'k', len);
    for (int i = 0; i < 5; i++)
        verdicts_put(verdicts, arena_printf(arena, "c%d.b", i), key, "r1", "bad");
    assert_null(verdicts_take(verdicts, arena, "c1.b", key, "r1"));
    assert_non_null(verdicts_take(verdicts, arena, "c2.b", key, "r1"));
    assert_non_null(verdicts_take(verdicts, arena, "c4.b", key, "r1"));
    verdicts_free(verdicts);
}
