#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cluster/mirror.h"

/* The whole text is held against testdata/nginx.conf by haproxy_test.c. */
static void shares(void **state)
{
    (void)state;
    static const struct {
        double percent;
        const char *has, *has_not;
    } cases[] = {
        {100, "proxy_pass http://127.96.0.9:80$request_uri", "split_clients"},
        {50, "50.00% 1;", NULL},
        {0.5, "0.50% 1;", NULL},
        {0, "return 204;", "if ("},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct route_mirror mirror = {.percent = cases[i].percent,
                                      .backend = {.address = "127.96.0.9:80"}};
        struct route_rule rule = {.id = "test.web.0", .mirrors = &mirror, .mirror_count = 1};
        struct route_rule plain = {.id = "test.web.1"}, *rules[] = {&rule, &plain};
        const struct route_table table = {.rules = rules, .rule_count = 2};
        struct buf out;
        buf_init(&out, 1 << 20);
        assert_int_equal(mirror_config(&table, "/d", false, arena, &out), 1);
        assert_non_null(strstr(out.data, cases[i].has));
        if (cases[i].has_not)
            assert_null(strstr(out.data, cases[i].has_not));
        assert_null(strstr(out.data, "user root"));
        buf_fini(&out);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
