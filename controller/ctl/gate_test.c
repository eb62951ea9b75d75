#include "ctl/read.h"

#include <string.h>

#include "test/unit.h"

CASE(a_service_is_asked_through_the_api_server)
{
    static const struct {
        const char *url, *base, *path;
    } rows[] = {
        {"http://flagger-gate.flagger/gate/check?hook=x", "http://flagger-gate.flagger",
         "/api/v1/namespaces/flagger/services/flagger-gate:80/proxy"},
        {"http://gate.ops.svc.cluster.local:8080/gate/check",
         "http://gate.ops.svc.cluster.local:8080",
         "/api/v1/namespaces/ops/services/gate:8080/proxy"},
        {"https://gate.ops.svc/gate/check", "https://gate.ops.svc",
         "/api/v1/namespaces/ops/services/https:gate:443/proxy"},
        {"http://gate/gate/check", "http://gate", "/api/v1/namespaces/shop/services/gate:80/proxy"},
        {"http://127.0.0.1:8080/gate/check", "http://127.0.0.1:8080", NULL},
        {"http://[::1]:8080/gate/check", "http://[::1]:8080", NULL},
        {"http://localhost:1/gate/check", "http://localhost:1", NULL},
        {"https://gates.shop.example.com/gate/check", "https://gates.shop.example.com", NULL},
        {"http://user:secret@gates.shop.example.com/", "http://gates.shop.example.com", NULL},
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        struct gate gate = gate_of_url(arena, "shop", rows[i].url);
        assert_string_equal(gate.url, rows[i].base);
        if (rows[i].path)
            assert_string_equal(gate.proxy_path, rows[i].path);
        else
            assert_null(gate.proxy_path);
    }
}

static struct json_object *canary(const char *hooks)
{
    const char *text = arena_printf(unit_arena,
                                    "{\"metadata\": {\"namespace\": \"shop\"}, \"spec\": "
                                    "{\"analysis\": {\"webhooks\": %s}}}",
                                    hooks);
    struct json_object *out = NULL;

    assert_int_equal(json_parse(unit_arena, text, strlen(text), JSON_MAX_BYTES, &out, NULL),
                     ERR_OK);
    return out;
}

CASE(the_gate_is_that_of_the_hooks)
{
    struct ctl ctl = {.arena = arena, .namespace_ = "shop"};
    struct errinfo ei = {0};
    struct gate gate;
    struct json_object *one = canary("[{\"name\": \"load\", \"url\": \"http://load.shop/\"},"
                                     " {\"name\": \"go\", \"type\": \"confirm-rollout\", \"url\": "
                                     "\"http://g.ops/gate/check\"},"
                                     " {\"name\": \"back\", \"type\": \"rollback\", \"url\": "
                                     "\"http://g.ops/rollback/check\"}]");
    struct json_object *two = canary("[{\"name\": \"a\", \"type\": \"confirm-rollout\", \"url\": "
                                     "\"http://g.ops/gate/check\"},"
                                     " {\"name\": \"b\", \"type\": \"confirm-promotion\", \"url\": "
                                     "\"http://h.ops/gate/check\"}]");

    assert_int_equal(gate_find(&ctl, one, NULL, &gate, &ei), ERR_OK);
    assert_string_equal(gate.url, "http://g.ops");
    assert_true(gate_rolls_back(arena, one, &gate));
    assert_int_equal(gate_find(&ctl, two, NULL, &gate, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "its hooks ask at several gates, http://g.ops and http://h.ops: "
                                 "choose one with --hook");
    assert_int_equal(gate_find(&ctl, two, "b", &gate, &ei), ERR_OK);
    assert_string_equal(gate.url, "http://h.ops");
    assert_false(gate_rolls_back(arena, two, &gate));
    assert_int_equal(gate_find(&ctl, canary("[]"), NULL, &gate, &ei), ERR_NOT_FOUND);
    assert_int_equal(gate_find(&ctl, one, "load", &gate, &ei), ERR_NOT_FOUND);
}
