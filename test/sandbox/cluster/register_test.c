
#include <string.h>

#include "cluster/register.h"
#include "test/unit.h"

static void texts(void **state)
{
    static const struct {
        const char *text, *name, *ns, *address;
        int port, to_port;
    } cases[] = {
        {"loadtester.test=127.0.0.1:8080", "loadtester", "test", "127.0.0.1", 80, 8080},
        {"prometheus.monitoring:9090=localhost:19090", "prometheus", "monitoring", "127.0.0.1",
         9090, 19090},
        {"loadtester.test", NULL, NULL, NULL, 0, 0},
        {"loadtester=127.0.0.1:80", NULL, NULL, NULL, 0, 0},
        {"a.b=127.0.0.1", NULL, NULL, NULL, 0, 0},
        {"a.b=host:80", NULL, NULL, NULL, 0, 0},
        {"a.b:x=127.0.0.1:80", NULL, NULL, NULL, 0, 0},
        {"a.b=127.0.0.1:99999", NULL, NULL, NULL, 0, 0},
        {"a.b.c=127.0.0.1:80", NULL, NULL, NULL, 0, 0},
        {".b=127.0.0.1:80", NULL, NULL, NULL, 0, 0},
        {"", NULL, NULL, NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct registration got;
        struct errinfo ei = {0};
        enum err err = register_parse(arena, cases[i].text, &got, &ei);
        assert_int_equal(err, cases[i].name ? ERR_OK : ERR_INVALID);
        if (cases[i].name) {
            assert_string_equal(got.name, cases[i].name);
            assert_string_equal(got.ns, cases[i].ns);
            assert_string_equal(got.address, cases[i].address);
            assert_int_equal(got.port, cases[i].port);
            assert_int_equal(got.to_port, cases[i].to_port);
        } else {
            assert_non_null(strstr(ei.text, "expected NAME.NAMESPACE"));
        }
        arena_free(arena);
    }
}

UNIT_MAIN(cmocka_unit_test(texts))
