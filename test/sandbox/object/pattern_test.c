#include "object/pattern.h"
#include "object/try.h"

static void test_matches(void **state)
{
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
        {"\\bfoo", {"foo", "a foo"}, {"afoo"}},
        {"^[a-ü]$", {"z", "ä"}, {"Z"}},
        {"^[^ä]$", {"a", "ö"}, {"ä"}},
        {"^((a{10}){10})$", {NULL}, {"aa"}},
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
        if (pattern_compile(cases[i].pattern, PATTERN_CHARACTERS, &pattern, &ei))
            fail_msg("%s", ei.text);
        for (int k = 0; k < 4 && cases[i].yes[k]; k++)
            if (!pattern_match(pattern, cases[i].yes[k], strlen(cases[i].yes[k])))
                fail_msg("%s should match \"%s\"", cases[i].pattern, cases[i].yes[k]);
        for (int k = 0; k < 4 && cases[i].no[k]; k++)
            if (pattern_match(pattern, cases[i].no[k], strlen(cases[i].no[k])))
                fail_msg("%s should not match \"%s\"", cases[i].pattern, cases[i].no[k]);
        pattern_free(pattern);
    }
}

/* A text is as long as it says. */
static void test_nul(void **state)
{
    struct pattern *pattern = NULL;
    assert_int_equal(pattern_compile("^a\\x00b$", PATTERN_CHARACTERS, &pattern, NULL), ERR_OK);
    assert_true(pattern_match(pattern, "a\0b", 3));
    assert_false(pattern_match(pattern, "a\0b", 1));
    pattern_free(pattern);
}

static void test_errors(void **state)
{
    static const struct {
        const char *pattern, *why;
    } cases[] = {
        {"(a", "missing closing parenthesis"},
        {"a)", "unmatched closing parenthesis"},
        {"[a", "missing terminating ]"},
        {"*a", "character 1: there is nothing to repeat"},
        {"a**", "there is nothing to repeat"},
        {"(|*)", "there is nothing to repeat"},
        {"a{3,2}", "numbers out of order"},
        {"a{1001}", "too large"},
        {"(((ab){100}){1000})", "too large"},
        {"a\\", "this escape is not supported"},
        {"\\p{L}", "this escape is not supported"},
        {"\\1", "this escape is not supported"},
        {"\\x4", "two hexadecimal digits"},
        {"\\x{110000}", "too large"},
        {"(?=a)", "this kind of group"},
        {"a(?i)b", "this kind of group"},
        {"[z-a]", "out of order"},
        {"[a-\\d]", "invalid range"},
        {"[[:nope:]]", "unknown POSIX class"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct pattern *pattern = NULL;
        struct errinfo ei = {0};
        assert_int_equal(pattern_compile(cases[i].pattern, PATTERN_CHARACTERS, &pattern, &ei),
                         ERR_INVALID);
        if (!strstr(ei.text, cases[i].why))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].pattern, ei.text, cases[i].why);
    }
    char deep[PATTERN_MAX_BYTES + 2];
    struct errinfo ei;
    struct pattern *pattern;
    memset(deep, '(', sizeof(deep));
    deep[300] = 0;
    assert_int_equal(pattern_compile(deep, PATTERN_CHARACTERS, &pattern, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "too deeply"));
    memset(deep, 'a', sizeof(deep));
    deep[PATTERN_MAX_BYTES + 1] = 0;
    assert_int_equal(pattern_compile(deep, PATTERN_CHARACTERS, &pattern, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "longer than"));
}

/* What a route may say: whether PCRE2 without UTF-8, as HAProxy has it, and RE2 read it alike. */
static void test_routes(void **state)
{
    static const struct {
        const char *text;
        bool ok;
    } list[] = {
        {"", true},
        {".*canary.*always.*", true},
        {"^(.*?;)?(canary=always)(;.*)?$", true},
        {"/v[0-9]+/(a|b|)", true},
        {"(?i)Chrome/\\d{2,3}\\..*", true},
        {"(?:a|b){2}c{3,}d{4}?", true},
        {"[]a-z^-]+", true},
        {"[^/\\]]+", true},
        {"a{,2}", true}, /* means itself */
        {"a{x}", true},
        {"[a-]", true},
        {"\\b\\w+\\b", true},
        {"(", false},
        {"\\b+", false},
        {"[\\b]", false},
        {"(a{200}){200}", true},
        {"((ab){100}){1000}", false},
        {")", false},
        {"(a))", false},
        {"[a", false},
        {"[", false},
        {"[.]+[:;]", true},
        {"[..]", false},
        {"[z-a]", false},
        {"[\\d-z]", false},
        {"[[:alpha:]]", true},
        {"*a", false},
        {"(*a)", false},
        {"a|+", false},
        {"^*", false},
        {"a**", false},
        {"{2}", false},
        {"a*{2}", false},
        {"\\b{2}", false},
        {"a+*", false},
        {"a{2,1}", false},
        {"a{1001}", false},
        {"a\\", false},
        {"(a)\\1", false},
        {"\\p{L}", false},
        {"(?=a)", false},
        {"(?<n>a)", false},
        {"a(?i)b", false},
    };
    for (size_t i = 0; i < TRY_COUNT(list); i++) {
        struct pattern *pattern = NULL;
        if ((pattern_compile(list[i].text, PATTERN_BYTES, &pattern, NULL) == ERR_OK) != list[i].ok)
            fail_msg("%s", list[i].text);
        pattern_free(pattern);
    }
}

UNIT_MAIN(cmocka_unit_test(test_matches), cmocka_unit_test(test_nul), cmocka_unit_test(test_errors),
          cmocka_unit_test(test_routes))
