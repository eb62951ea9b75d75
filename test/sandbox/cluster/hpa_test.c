

#include "cluster/hpa.h"
#include "test/unit.h"

static void wanted(void **state)
{
    static const int64_t cases[][4] = {{0, 2, 4, 0}, {1, 2, 4, 2}, {2, 2, 4, 2},
                                       {4, 2, 4, 4}, {9, 2, 4, 4}, {1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(hpa_wanted(cases[i][0], cases[i][1], cases[i][2]), cases[i][3]);
}

UNIT_MAIN(cmocka_unit_test(wanted))
