/* What every unit test begins with: cmocka, the headers it needs, and main(). */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka hands each case a state, which none of ours needs. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The cases of the program: UNIT_MAIN(cmocka_unit_test(one), cmocka_unit_test(other)) */
#define UNIT_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
