#include "object/pattern.h"
#include "object/try.h"

static void test_matches(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *yes[4], *no[4];
    } cases[] = {
        {"^[0-9]+(m|s)", {"10s", "5mx"}, {"s", " 5m"}},
        {"^\\d+\\.\\d$", {"1.2"}, {"1x2", "a.b"}},
        {"^\\w+$", {"a_B9"}, {"a-b", "", "ä"}},
        {"^\\S+\\s\\S+$", {"a b", "ä\tö"}, {"a  b", "ab"}},
        {"^\\D$", {"x", "ä"}, {"1", "xx"}},
        {"^(?:a|b)+$", {"abba"}, {"c", ""}},
        {"^(?P<x>a)$", {"a"}, {"b"}},
        {"(?i)^abc$", {"ABC", "aBc"}, {"abcd"}},
        {"^a+?b*?c??$", {"a", "aabc"}, {"b"}},
        {"^.$", {"a", "ä", "€", "😀"}, {"", "ab", "\n"}},
        {"^[^a]$", {"b", "ä", "\n"}, {"a", ""}},
        {"^[äö]+$", {"äöä"}, {"a", "\xc3"}},
        {"^µs$", {"µs"}, {"us"}},
        {"^µ{2}$", {"µµ"}, {"µ"}},
        {"^\\x41\\x{42}\\xB5$", {"ABµ"}, {"AB"}},
        {"^[]a]+$", {"]a]"}, {"b"}},
        {"^[a\\]\\[^-]+$", {"a][^-"}, {"b"}},
        {"^[\\^]$", {"^"}, {"\\", ""}},
        {"^[\\^-]$", {"^", "-"}, {"a"}},
        {"^[\\\\]$", {"\\"}, {"a"}},
        {"^[[:alpha:]_]+$", {"aZ_"}, {"1"}},
        {"^[[:^digit:]]+$", {"aä"}, {"1"}},
        {"^[\\d.]+$", {"1.2"}, {"a"}},
        {"^[^\\x00-\\x{10FFFF}a]?$|x", {"x"}, {NULL}},
        {"^[\\x20-\\x7e]*$", {"", "a ~"}, {"\n", "ä"}},
        {"^a{2,3}$", {"aa", "aaa"}, {"a", "aaaa"}},
        {"^a{,3}$", {"a{,3}"}, {"aa"}},
        {"^{a}$", {"{a}"}, {"a"}},
        {"\\Aab\\z", {"ab"}, {"abc"}},
        {"^\\/a\\-b\\_$", {"/a-b_"}, {"ab"}},
        {"a$", {"ba"}, {"a\n"}},
        {"^$|^a$", {"", "a"}, {"b"}},
        {"^(a|)$", {"", "a"}, {"b"}},
        {"^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$",
         {"100m", "1.5Gi", ".5"},
         {"x", "1KK"}},
        {"^[^()<>@,;:\\\\\"\\/[\\]?={} \\t\\x7f\\x00\\x01]+$",
         {"x-header", "ä"},
         {"a b", "a[", "a]"}},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct pattern *pattern = NULL;
        struct errinfo ei = {0};
        if (pattern_compile(cases[i].pattern, &pattern, &ei)) {
            /* The one case that is refused on purpose: an empty class. */
            assert_non_null(strstr(ei.text, "the class is empty"));
            assert_string_equal(cases[i].pattern, "^[^\\x00-\\x{10FFFF}a]?$|x");
            continue;
        }
        for (int k = 0; k < 4 && cases[i].yes[k]; k++)
            if (!pattern_match(pattern, cases[i].yes[k], strlen(cases[i].yes[k])))
                fail_msg("%s should match \"%s\"", cases[i].pattern, cases[i].yes[k]);
        for (int k = 0; k < 4 && cases[i].no[k]; k++)
            if (pattern_match(pattern, cases[i].no[k], strlen(cases[i].no[k])))
                fail_msg("%s should not match \"%s\"", cases[i].pattern, cases[i].no[k]);
        assert_false(pattern_match(pattern, "a\0b", 3));
        pattern_free(pattern);
    }
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *why;
    } cases[] = {
        {"(a", "\"(\" without \")\""},
        {"a)", "\")\" without \"(\""},
        {"[a", "\"[\" without \"]\""},
        {"*a", "character 1: there is nothing to repeat"},
        {"a**", "there is nothing to repeat"},
        {"(|*)", "there is nothing to repeat"},
        {"a{3,2}", "wrong way round"},
        {"a{1001}", "too large"},
        {"((a{100}){100})", "too large"},
        {"a\\", "this escape is not supported"},
        {"\\p{L}", "this escape is not supported"},
        {"\\bfoo", "word boundaries are not supported"},
        {"\\1", "this escape is not supported"},
        {"\\x4", "two hexadecimal digits"},
        {"\\x{110000}", "no such character"},
        {"\\x00", "NUL"},
        {"(?=a)", "this kind of group"},
        {"a(?i)b", "this kind of group"},
        {"[z-a]", "ends before it starts"},
        {"[a-\\d]", "cannot end in a class"},
        {"[a-ü]", "beyond ASCII"},
        {"[^ä]", "beyond ASCII"},
        {"[[:nope:]]", "unknown character class"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct pattern *pattern = NULL;
        struct errinfo ei = {0};
        assert_int_equal(pattern_compile(cases[i].pattern, &pattern, &ei), ERR_INVALID);
        if (!strstr(ei.text, cases[i].why))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].pattern, ei.text, cases[i].why);
    }
    char deep[PATTERN_MAX_BYTES + 2];
    struct errinfo ei;
    struct pattern *pattern;
    memset(deep, '(', sizeof(deep));
    deep[200] = 0;
    assert_int_equal(pattern_compile(deep, &pattern, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "too deep"));
    memset(deep, 'a', sizeof(deep));
    deep[PATTERN_MAX_BYTES + 1] = 0;
    assert_int_equal(pattern_compile(deep, &pattern, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "longer than"));
}

static void test_translation(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *posix;
    bool icase;
    assert_int_equal(pattern_translate(arena, "(?i)^\\d{2}[a-c_]$", &posix, &icase, NULL), ERR_OK);
    assert_string_equal(posix, "^[0-9]{2}[_a-c]$");
    assert_true(icase);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_translation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
