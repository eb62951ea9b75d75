#include "kube/version.h"

#include "test/unit.h"

CASE(numbers_are_their_own_marks)
{
    static const struct {
        const char *text;
        uint64_t number;
    } rows[] = {
        {"1", 1},   {"104", 104}, {"999999999999999999", 999999999999999999},
        {"0", 0},   {"012", 0},   {"1000000000000000000", 0},
        {"1a", 0},  {"-1", 0},    {"+1", 0},
        {"a_b", 0}, {"", 0},      {NULL, 0},
        {" 1", 0},  {"1 ", 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t mark = version_mark(rows[i].text);
        assert_int_equal(version_number(mark), rows[i].number);
        assert_true(mark != 0);
        assert_true(rows[i].number == 0 || mark == rows[i].number);
        for (size_t k = 0; k < i; k++)
            assert_int_equal(mark == version_mark(rows[k].text), !rows[i].text && !*rows[k].text);
    }
}
