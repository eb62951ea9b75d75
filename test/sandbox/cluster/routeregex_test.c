#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/routeregex.h"

static void cases(void **state)
{
    (void)state;
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
        {"(a{200}){200}", false},
        {")", false},
        {"(a))", false},
        {"[a", false},
        {"[", false},
        {"[.]+[:;]", true},
        {"[..]", false},
        {"[z-a]", false},
        {"[\\d-z]", false},
        {"[[:alpha:]]", false},
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
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (routeregex_ok(list[i].text) != list[i].ok)
            fail_msg("%s", list[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
