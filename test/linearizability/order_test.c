#include "linearizability/order.h"
#include "test/rows.h"
#include "test/unit.h"

#include <string.h>

struct row {
    const char *what, *history;
    int violations;
};
static const struct row_column columns[] = {
    ROW_TEXT(struct row, what),
    ROW_TEXT(struct row, history),
    ROW_NUMBER(struct row, violations),
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
    const struct row none = {0};
    struct json_object *file =
        json_elem(rows_read(arena, "test/linearizability/histories.yaml"), 0);
    size_t count;
    const struct row *rows = ROWS_FILL(arena, json_at(file, "seen", NULL), columns, none, &count);

    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        int n = (int)violations(arena, rows[i].history);
        if (n != rows[i].violations)
            fail_msg("%s: %d violations, not %d", rows[i].what, n, rows[i].violations);
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
