
#include <string.h>

#include "cluster/podspec.h"
#include "test/unit.h"

static void reads(void **state)
{
    static const struct {
        const char *pod, *path;
        enum probe_kind probe;
        int port, probe_port, app;
        int64_t period, ready_after;
    } cases[] = {
        {"{'spec':{'containers':[{'image':'nginx'}]}}", NULL, PROBE_NONE, 9898, 9898, 0, 10000,
         100},
        {"{'spec':{'containers':[{'image':'demo-app:1'}]}}", NULL, PROBE_NONE, 9898, 9898, 1, 10000,
         100},
        {"{'spec':{'containers':[{'image':'proxy'},{'image':'x/"
         "demo-app:1','ports':[{'name':'http','containerPort':8080}],'readinessProbe':{'httpGet':{'"
         "port':'http','path':'/ok'},'periodSeconds':2}}]}}",
         "/ok", PROBE_HTTP, 8080, 8080, 1, 2000, 100},
        {"{'spec':{'containers':[{'image':'demo-app','readinessProbe':{'tcpSocket':{'port':81}}}]}"
         "}",
         "/readyz", PROBE_TCP, 9898, 81, 1, 10000, 100},
        {"{'spec':{'containers':[{'image':'demo-app','readinessProbe':{'exec':{'command':['x']}}}]}"
         "}",
         "/readyz", PROBE_HTTP, 9898, 9898, 1, 10000, 100},
        {"{'metadata':{'annotations':{'sandbox.flagger.app/"
         "ready-after':'3s'}},'spec':{'containers':[{'image':'x'}]}}",
         NULL, PROBE_NONE, 9898, 9898, 0, 10000, 3000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_object *pod = json_tokener_parse(cases[i].pod);
        struct podspec spec;
        struct errinfo ei;
        assert_non_null(pod);
        assert_int_equal(podspec_read(pod, &spec, &ei), ERR_OK);
        assert_int_equal(spec.container != NULL, cases[i].app);
        assert_int_equal(spec.probe, cases[i].probe);
        assert_int_equal(spec.port, cases[i].port);
        assert_int_equal(spec.probe_port, cases[i].probe_port);
        assert_int_equal(spec.period_ms, cases[i].period);
        assert_int_equal(spec.ready_after_ms, cases[i].ready_after);
        if (cases[i].path)
            assert_string_equal(spec.probe_path, cases[i].path);
        json_object_put(pod);
    }
}

static void sleeps(void **state)
{
    static const struct {
        const char *pod;
        int64_t leave_ms;
    } cases[] = {
        {"{'spec':{'containers':[{'image':'demo-app:1'}]}}", 250},
        {"{'spec':{'containers':[{'image':'demo-app:1','lifecycle':{'preStop':{'sleep':{'seconds':"
         "2}}}}]}}",
         2000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_object *pod = json_tokener_parse(cases[i].pod);
        struct podspec spec;
        struct errinfo ei;
        assert_int_equal(podspec_read(pod, &spec, &ei), ERR_OK);
        assert_int_equal(spec.leave_ms, cases[i].leave_ms);
        json_object_put(pod);
    }
}

static void refused(void **state)
{
    struct json_object *pod = json_tokener_parse(
        "{'metadata':{'annotations':{'sandbox.flagger.app/ready-after':'soon'}}}");
    struct podspec spec;
    struct errinfo ei = {0};
    assert_int_equal(podspec_read(pod, &spec, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "ready-after"));
    json_object_put(pod);
}

UNIT_MAIN(cmocka_unit_test(reads), cmocka_unit_test(sleeps), cmocka_unit_test(refused))
