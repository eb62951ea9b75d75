#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "router/common_regex.h"

static void test_read(void **state)
{
    static const char *const good[] = {
        "",      "insider",         "^(?:a|b)*$",   "[^/]+",       "/api/v[12](/.*)?", "(?i)safari",
        "a{2,}", "(?P<name>x)\\d+", "\\p{Greek}.*", "[[:alpha:]]", "\\Q(\\E",          "ä.*",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct arena *arena = arena_new();
        assert_null(regex_mistake(arena, good[i]));
        arena_free(arena);
    }
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *pattern, *mistake;
    } cases[] = {
        {"(", "missing closing parenthesis at character 2"},
        {"a)", "unmatched closing parenthesis at character 2"},
        {"*a", "quantifier does not follow a repeatable item at character 1"},
        {"[a", "missing terminating ] for character class at character 3"},
        {"a\\", "\\ at end of pattern at character 3"},
        {"[b-a]", "range out of order in character class at character 4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        const char *mistake = regex_mistake(arena, cases[i].pattern);
        assert_non_null(mistake);
        assert_string_equal(mistake, cases[i].mistake);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
