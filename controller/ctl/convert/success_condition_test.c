#include "ctl/convert/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test/rows.h"
#include "test/unit.h"

struct row {
    const char *success, *failure, *range, *mistake;
};

static const struct row_column columns[] = {
    ROW_TEXT(struct row, success), ROW_TEXT(struct row, failure), ROW_TEXT(struct row, range),
    ROW_TEXT(struct row, mistake)};

/* "[0.95, 1) empty: good", preceded by "all" if it is about all elements. */
static const char *print(struct arena *arena, const struct condition *c)
{
    static const char *const empty[] = {[CONDITION_EMPTY_BAD] = "bad",
                                        [CONDITION_EMPTY_GOOD] = "good",
                                        [CONDITION_EMPTY_ERROR] = "error"};

    return arena_printf(arena, "%s%c%g, %g%c empty: %s", c->elements ? "all " : "",
                        c->above ? '(' : '[', c->min, c->max, c->below ? ')' : ']',
                        empty[c->empty]);
}

CASE(each_condition_is_a_range_or_is_refused)
{
    struct json_object *docs = rows_read(arena, "controller/ctl/convert/conditions.yaml");
    size_t count;
    const struct row first = {0};
    struct row *rows = ROWS_FILL(arena, json_elem(docs, 0), columns, first, &count);

    assert_true(count >= 40);
    for (size_t i = 0; i < count; i++) {
        struct condition condition;
        struct errinfo ei = {0};
        enum err err = condition_read(rows[i].success, rows[i].failure, &condition, &ei);
        const char *found = err == ERR_OK ? print(arena, &condition) : ei.text;
        const char *expected = rows[i].mistake ? rows[i].mistake : rows[i].range;
        if (strcmp(found, expected) != 0)
            fail_msg("%s / %s\nis      %s\nand not %s", rows[i].success, rows[i].failure, found,
                     expected);
    }
}

/* For each condition, the bounds that are written accept exactly the same numbers. */
CASE(bounds_leave_out_open_ends)
{
    struct condition c;
    struct errinfo ei;

    assert_int_equal(condition_read("result < 5 && result > 0.1", NULL, &c, &ei), ERR_OK);
    assert_true(condition_largest(&c) < 5 && nextafter(condition_largest(&c), 6) == 5);
    assert_true(condition_least(&c) > 0.1 && nextafter(condition_least(&c), 0) == 0.1);
    assert_int_equal(condition_read("result > 0", NULL, &c, &ei), ERR_OK);
    assert_true(condition_least(&c) > 0 && condition_least(&c) < 1e-200);
    assert_int_equal(condition_read("result <= 5", NULL, &c, &ei), ERR_OK);
    assert_true(condition_largest(&c) == 5);
}

/* Reading ends, whatever the text. */
CASE(deep_and_long_texts_are_refused)
{
    enum { LONG = 5000, DEEP = 1000 };
    struct condition c;
    struct errinfo ei;
    char *text = arena_alloc(arena, LONG + 1);

    memset(text, '(', DEEP);
    assert_int_equal(condition_read(text, NULL, &c, &ei), ERR_INVALID);
    memset(text, '!', DEEP);
    assert_int_equal(condition_read(text, NULL, &c, &ei), ERR_INVALID);
    for (size_t i = 0; i + 4 < DEEP; i += 4)
        memcpy(text + i, "int(", 4);
    assert_int_equal(condition_read(text, NULL, &c, &ei), ERR_INVALID);
    memset(text, ' ', LONG);
    assert_int_equal(condition_read(text, NULL, &c, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "more than 4096 bytes"));
}
