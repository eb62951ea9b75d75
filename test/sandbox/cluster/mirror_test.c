
#include <string.h>

#include "cluster/mirror.h"
#include "test/unit.h"

/* The whole text is held against testdata/nginx.conf by haproxy_test.c. */
static void shares(void **state)
{
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

/* A request that comes when the rule has just gone is answered by a backend of it all the same. */
static void last_resort(void **state)
{
    static const struct {
        struct route_filters filters;
        struct route_backend backends[2];
        const char *server; /* NULL: none */
    } cases[] = {
        {.backends = {{.address = "127.96.0.2:80", .weight = 1}}, .server = "127.96.0.2:80"},
        {.backends = {{.address = "127.96.0.2:80"}, {.address = "127.96.0.3:80", .weight = 1}},
         .server = "127.96.0.3:80"},
        {.backends = {{.weight = 1}}},
        {.filters = {.full_path = "/all"}, .backends = {{.address = "127.96.0.2:80", .weight = 1}}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct route_mirror mirror = {.percent = 100, .backend = {.address = "127.96.0.9:80"}};
        struct route_backend backends[2] = {cases[i].backends[0], cases[i].backends[1]};
        struct route_rule rule = {.id = "test.web.0",
                                  .filters = cases[i].filters,
                                  .backends = backends,
                                  .backend_count = 2,
                                  .mirrors = &mirror,
                                  .mirror_count = 1};
        struct route_rule *rules[] = {&rule};
        const struct route_table table = {.rules = rules, .rule_count = 1};
        struct buf out;
        buf_init(&out, 1 << 20);
        assert_int_equal(mirror_config(&table, "/d", false, arena, &out), 1);
        const char *found = strstr(out.data, " backup;");
        assert_int_equal(found != NULL, cases[i].server != NULL);
        if (cases[i].server)
            assert_non_null(
                strstr(out.data, arena_printf(arena, "server %s backup;", cases[i].server)));
        buf_fini(&out);
        arena_free(arena);
    }
}

static char *config_of(struct arena *arena, const char *const *ids)
{
    static const struct route_mirror mirror = {.percent = 50,
                                               .backend = {.address = "127.96.0.9:80"}};
    struct route_rule rules[3], *list[3];
    struct route_table table = {.rules = list};
    struct buf out;

    for (; ids[table.rule_count]; table.rule_count++) {
        rules[table.rule_count] = (struct route_rule){.id = ids[table.rule_count],
                                                      .mirrors = (struct route_mirror *)&mirror,
                                                      .mirror_count = 1};
        list[table.rule_count] = &rules[table.rule_count];
    }
    buf_init(&out, 1 << 20);
    if (mirror_config(&table, "/d", false, arena, &out) == 0)
        out.data[0] = '\0';
    char *text = arena_printf(arena, "%s", out.data);
    buf_fini(&out);
    return text;
}

/* One rule stops to copy while another begins: who still sends to it finds it. */
static void kept(void **state)
{
    static const struct {
        const char *live[3], *next[3], *both[4];
        size_t kept;
    } cases[] = {
        {.live = {"a", "b"}, .next = {"a", "b"}, .both = {"a", "b"}, .kept = 0},
        {.live = {"a", "b"}, .next = {"b"}, .both = {"b", "a"}, .kept = 1},
        {.live = {"a"}, .next = {"b"}, .both = {"b", "a"}, .kept = 1},
        {.live = {"a", "b"}, .next = {NULL}, .both = {"a", "b"}, .kept = 2},
        {.live = {NULL}, .next = {"a"}, .both = {"a"}, .kept = 0},
        {.live = {"a"}, .next = {"b", "a"}, .both = {"b", "a"}, .kept = 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct buf out;
        buf_init(&out, 1 << 20);
        assert_int_equal(mirror_keep(config_of(arena, cases[i].live),
                                     config_of(arena, cases[i].next), arena, &out),
                         cases[i].kept);
        assert_string_equal(out.data, config_of(arena, cases[i].both));
        buf_fini(&out);
        arena_free(arena);
    }
}

UNIT_MAIN(cmocka_unit_test(shares), cmocka_unit_test(last_resort), cmocka_unit_test(kept))
