
#include <string.h>

#include "cluster/prometheus.h"
#include "test/unit.h"

#define READY "'status':{'podIP':'127.64.0.1','conditions':[{'type':'Ready','status':'True'}]}"
#define APP   "'spec':{'containers':[{'image':'demo-app:1','ports':[{'containerPort':8080}]}]}"

static void targets(void **state)
{
    static const struct {
        const char *pod, *target, *path;
    } cases[] = {
        {"{'metadata':{'name':'web-1','namespace':'test','labels':{'app.kubernetes.io/"
         "name':'web'}}," APP "," READY "}",
         "127.64.0.1:8080", NULL},
        {"{'metadata':{'name':'web-1','annotations':{'prometheus.io/port':'9','prometheus.io/"
         "path':'/m'}}," APP "," READY "}",
         "127.64.0.1:9", "/m"},
        {"{'metadata':{'annotations':{'prometheus.io/scrape':'false'}}," APP "," READY "}", NULL,
         NULL},
        {"{'metadata':{'deletionTimestamp':'x'}," APP "," READY "}", NULL, NULL},
        {"{'metadata':{}," APP "}", NULL, NULL},
        {"{'metadata':{},'spec':{'containers':[{'image':'other'}]}," READY "}", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct json_object *pod = json_own(arena, json_tokener_parse(cases[i].pod));
        assert_non_null(pod);
        struct json_object *entry = prometheus_target(arena, pod);
        assert_int_equal(entry != NULL, cases[i].target != NULL);
        if (entry)
            assert_string_equal(
                json_object_get_string(json_elem(json_at(entry, "targets", NULL), 0)),
                cases[i].target);
        if (i == 0) {
            assert_string_equal(json_str_at(entry, "labels", "kubernetes_pod_name", NULL), "web-1");
            assert_string_equal(json_str_at(entry, "labels", "kubernetes_namespace", NULL), "test");
            assert_string_equal(json_str_at(entry, "labels", "app_kubernetes_io_name", NULL),
                                "web");
        }
        if (cases[i].path)
            assert_string_equal(json_str_at(entry, "labels", "__metrics_path__", NULL),
                                cases[i].path);
        arena_free(arena);
    }
}

static void config(void **state)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    prometheus_config(&out, "/d", 500);
    assert_non_null(strstr(out.data, "scrape_interval: 500ms"));
    assert_non_null(strstr(out.data, "'/d/pods.json'"));
    buf_fini(&out);
}

UNIT_MAIN(cmocka_unit_test(targets), cmocka_unit_test(config))
