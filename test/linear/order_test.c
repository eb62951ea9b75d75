#include "linear/order.h"
#include "test/unit.h"

#include <string.h>

/* Operations are BEGIN END OUTCOME GATE ACTION HOOK REVISION PERSON CHANGED OPEN SEQ ID. */
struct row {
    const char *what;
    size_t violations;
    const char *history;
};

static const struct row rows[] = {
    {"nothing happened", 0, "# nothing\n"},
    {"closed at first", 0, "1 2 ok g check - - - - no - -\n"},
    {"open although nobody opened", 1, "1 2 ok g check - - - - yes - -\n"},
    {"an open that was answered is seen", 0,
     "1 2 ok g open - - - - - - -\n3 4 ok g check - - - - yes - -\n"},
    {"an open that was answered is lost", 1,
     "1 2 ok g open - - - - - - -\n3 4 ok g check - - - - no - -\n"},
    {"a check beside an open may say either, and the later one no longer no", 0,
     "1 9 ok g open - - - - - - -\n2 3 ok g check - - - - no - -\n4 5 ok g check - - - - yes - -\n"
     "6 7 ok g check - - - - yes - -\n"},
    {"open is seen, then not any more, beside one open", 1,
     "1 9 ok g open - - - - - - -\n2 3 ok g check - - - - yes - -\n4 5 ok g check - - - - no - "
     "-\n"},
    {"a check after an answered close says open", 1,
     "1 2 ok g open - - - - - - -\n3 4 ok g close - - - - - - -\n5 6 ok g check - - - - yes - -\n"},
    {"a check that overlaps a close says open", 0,
     "1 2 ok g open - - - - - - -\n3 6 ok g close - - - - - - -\n5 7 ok g check - - - - yes - -\n"},
    {"a check after a close that an open overlaps", 0,
     "1 9 ok g open - - - - - - -\n3 4 ok g close - - - - - - -\n5 6 ok g check - - - - yes - -\n"},
    {"two checks that need two opens where there is one", 1,
     "1 9 ok g open - - - - - - -\n2 3 ok g check - - - - yes - -\n4 5 ok g close - - - - - - -\n"
     "6 7 ok g check - - - - yes - -\n"},
    {"an open of unknown outcome has happened", 0,
     "1 2 unknown g open - - - - - - -\n3 4 ok g check - - - - yes - -\n"},
    {"it has not", 0, "1 2 unknown g open - - - - - - -\n3 4 ok g check - - - - no - -\n"},
    {"it happens late", 0,
     "1 2 unknown g open - - - - - - -\n3 4 ok g check - - - - no - -\n"
     "5 6 ok g check - - - - yes - -\n"},
    {"it happens twice", 1,
     "1 2 unknown g open - - - - - - -\n3 4 ok g check - - - - yes - -\n"
     "5 6 ok g close - - - - - - -\n7 8 ok g check - - - - yes - -\n"},
    {"it happened before a barrier, seen behind it", 0,
     "1 2 unknown g open - - - - - - -\n3 4 ok g check - - - - no - -\nbarrier 5\n"
     "6 7 ok g check - - - - yes - -\n8 9 ok g check - - - - yes - -\n"},
    {"behind a barrier it cannot be both", 1,
     "1 2 unknown g open - - - - - - -\nbarrier 5\n"
     "6 7 ok g check - - - - no - -\n8 9 ok g check - - - - yes - -\n"},
    {"what failed did not happen", 1,
     "1 2 failed g open - - - - - - -\n3 4 ok g check - - - - yes - -\n"},
    {"a close of unknown outcome undoes an open once", 1,
     "1 2 ok g open - - - - - - -\n3 4 unknown g close - - - - - - -\n"
     "5 6 ok g check - - - - no - -\n7 8 ok g open - - - - - - -\n9 10 ok g check - - - - no - "
     "-\n"},
    {"changed is told and wrong: it was open already", 1,
     "1 2 ok g open - - - yes yes - -\n3 4 ok g open - - - yes yes - -\n"},
    {"of two opens beside each other one changes", 0,
     "1 5 ok g open - - - yes yes - -\n2 4 ok g open - - - no yes - -\n"},
    {"of two opens beside each other both change", 1,
     "1 5 ok g open - - - yes yes - -\n2 4 ok g open - - - yes yes - -\n"},
    {"gates are apart", 0, "1 2 ok a open - - - - - - -\n3 4 ok b check - - - - no - -\n"},
    {"a pass for one hook lets no other through", 1,
     "1 2 ok g open promote - - - - - -\n3 4 ok g check rollout - - - yes - -\n"},
    {"a pass for every hook lets all through", 0,
     "1 2 ok g open - - - - - - -\n3 4 ok g check rollout r1 - - yes - -\n"},
    {"a pass for one revision lets no other through", 1,
     "1 2 ok g open - r1 - - - - -\n3 4 ok g check - r1 - - yes - -\n"
     "5 6 ok g check - r2 - - yes - -\n"},
    {"closing one hook leaves the other", 1,
     "1 2 ok g open promote - - - - - -\n3 4 ok g open rollout - - - - - -\n"
     "5 6 ok g close promote - - - - - -\n7 8 ok g check rollout - - - yes - -\n"
     "9 10 ok g check promote - - - yes - -\n"},
    {"a quorum of two people", 0,
     "rules g 2\n1 2 ok g open - - ann - no - -\n3 4 ok g check - - - - no - -\n"
     "5 6 ok g open - - bob - yes - -\n7 8 ok g check - - - - yes - -\n"},
    {"a quorum of one person twice", 1,
     "rules g 2\n1 2 ok g open - - ann - no - -\n3 4 ok g open - - ann - - - -\n"
     "5 6 ok g check - - - - yes - -\n"},
    {"a close forgets the votes", 1,
     "rules g 2\n1 2 ok g open - - ann - no - -\n3 4 ok g close - - - - - - -\n"
     "5 6 ok g open - - bob - - - -\n7 8 ok g check - - - - yes - -\n"},
    {"a vote of unknown outcome counts once", 0,
     "rules g 2\n1 2 unknown g open - - ann - - - -\n3 4 unknown g open - - bob - - - -\n"
     "5 6 ok g check - - - - yes - -\n"},
    {"two of one person's unknown votes are one vote", 1,
     "rules g 2\n1 2 unknown g open - - ann - - - -\n3 4 unknown g open - - ann - - - -\n"
     "5 6 ok g check - - - - yes - -\n"},
    {"two violations are two", 2,
     "1 2 ok g check - - - - yes - -\n3 4 ok g check - - - - yes - -\n"},
};

static size_t violations(struct arena *arena, const char *text)
{
    struct history history;
    struct errinfo ei;
    size_t n = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    if (history_read(arena, arena_strdup(arena, text), &history, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    for (size_t i = 0; i < history.n_gates; i++) {
        struct order_result result =
            order_check(&history.gates[i], history.barriers, history.n_barriers, nowhere);
        assert_int_equal(result.gave_up, 0);
        n += result.violations;
    }
    fclose(nowhere);
    return n;
}

CASE(good_and_bad_histories_are_told_apart)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = violations(arena, rows[i].history);
        if (n != rows[i].violations)
            fail_msg("%s: %zu violations, not %zu", rows[i].what, n, rows[i].violations);
    }
}

/* Every order of so much at once cannot be tried; what makes no difference must not be. */
CASE(much_at_once_is_followed)
{
    enum { MANY = 60 };
    const char *text = "";
    for (int i = 0; i < MANY; i++)
        text = arena_printf(arena, "%s%d %d ok g %s - - - - %s - -\n", text, i + 1, 1000 + i,
                            i % 3   ? "check"
                            : i % 2 ? "open"
                                    : "close",
                            i % 3 == 0   ? "-"
                            : i % 3 == 1 ? "yes"
                                         : "no");
    for (int i = 0; i < MANY; i++)
        text = arena_printf(arena, "%s%d %d unknown g %s %s - - - - - -\n", text, i + 1, 2000,
                            i % 2 ? "open" : "close", i % 3 ? "a" : "b");
    assert_int_equal(violations(arena, text), 0);
    text = arena_printf(arena, "%sbarrier 3000\n", text);
    assert_int_equal(violations(arena, text), 0);
    text = arena_printf(arena,
                        "%s3001 3002 ok g close - - - - - - -\n"
                        "3003 3004 ok g check - - - - yes - -\n",
                        text);
    assert_int_equal(violations(arena, text), 1);
}

/* The explanation is for a person: it names the answer and what bears on it. */
CASE(a_violation_is_told)
{
    struct history history;
    struct errinfo ei;
    char told[4096] = "";
    char text[] = "1 2 ok g open - - ann - - - -\n3 4 ok g close - - bob - - - -\n"
                  "5 6 ok g check - - - - yes - w9\n";
    FILE *out = fmemopen(told, sizeof(told), "w");
    assert_non_null(out);
    assert_int_equal(history_read(arena, text, &history, &ei), ERR_OK);
    order_check(&history.gates[0], NULL, 0, out);
    fclose(out);
    assert_non_null(strstr(told, "VIOLATION gate g, line 3"));
    assert_non_null(strstr(told, "yes - w9"));
    assert_non_null(strstr(told, "the gate may have been: closed"));
    assert_non_null(strstr(told, "3 4 ok g close"));
}
