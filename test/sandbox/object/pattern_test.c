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

static void test_refused(void **state)
{
    static const char *const cases[] = {"(a",     "a)",       "[a",         "*a",      "a{3,2}",
                                        "a\\",    "\\1",      "(a)\\1",     "(?=a)",   "a(?i)b",
                                        "[z-a]",  "(*a)",     "(?<n>a)",    "[a-\\d]", "[[:nope:]]",
                                        "(?!a)b", "a(?<=a)b", "\\x{110000}"};
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct pattern *pattern = NULL;
        struct errinfo ei = {0};
        if (pattern_compile(cases[i], PATTERN_CHARACTERS, &pattern, &ei) == ERR_OK)
            fail_msg("%s", cases[i]);
        assert_true(*ei.text);
    }
    char text[PATTERN_MAX_BYTES + 2];
    struct errinfo ei;
    struct pattern *pattern;
    memset(text, 'a', sizeof(text));
    text[PATTERN_MAX_BYTES + 1] = 0;
    assert_int_equal(pattern_compile(text, PATTERN_CHARACTERS, &pattern, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "longer than"));
}

UNIT_MAIN(cmocka_unit_test(test_matches), cmocka_unit_test(test_nul),
          cmocka_unit_test(test_refused))
