#include "random_edits/shrink.h"
#include "test/unit.h"

struct need {
    int ms[3]; /* all of these lines are needed */
    int asked;
};

static bool breaks(void *arg, const struct line *lines, size_t count)
{
    struct need *need = arg;
    int found = 0;
    need->asked++;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            found += lines[i].ms == need->ms[k];
    return found == 3;
}

CASE(test_what_is_needed_is_left)
{
    static const struct {
        int count;
        int ms[3];
    } rows[] = {
        {3, {0, 1, 2}}, {4, {0, 1, 3}}, {50, {0, 25, 49}}, {64, {7, 8, 9}}, {33, {2, 17, 32}}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct line lines[64];
        struct need need = {.ms = {rows[i].ms[0], rows[i].ms[1], rows[i].ms[2]}};
        for (int k = 0; k < rows[i].count; k++)
            lines[k] = (struct line){.ms = k};
        assert_int_equal(shrink(lines, (size_t)rows[i].count, 1000, breaks, &need), 3);
        for (int k = 0; k < 3; k++)
            assert_int_equal(lines[k].ms, rows[i].ms[k]);
    }
}

CASE(test_it_asks_no_more_often_than_told)
{
    struct line lines[64];
    struct need need = {.ms = {40, 50, 60}};
    for (int k = 0; k < 64; k++)
        lines[k] = (struct line){.ms = k};
    size_t left = shrink(lines, 64, 4, breaks, &need);
    assert_int_equal(need.asked, 4);
    assert_true(left < 64 && left >= 3);
}
