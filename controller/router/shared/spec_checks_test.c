#include "router/router.h"
#include "test/unit.h"

CASE(test_read)
{
    static const char *const good[] = {
        "",      "insider",         "^(?:a|b)*$",   "[^/]+",       "/api/v[12](/.*)?", "(?i)safari",
        "a{2,}", "(?P<name>x)\\d+", "\\p{Greek}.*", "[[:alpha:]]", "\\Q(\\E",          "ä.*",
    };

    EACH_ROW (row, good) {
        assert_null(regex_mistake(arena, *row));
    }
}

CASE(test_mistakes)
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

    EACH_ROW (row, cases) {
        const char *mistake = regex_mistake(arena, row->pattern);
        assert_non_null(mistake);
        assert_string_equal(mistake, row->mistake);
    }
}
