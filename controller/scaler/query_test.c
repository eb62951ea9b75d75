#include "scaler/scaler.h"
#include "test/unit.h"

static const struct {
    const char *query, *primary;
} cases[] = {
    /* as in Flagger */
    {"sum(rate(http_requests_total{app=\"podinfo\"}[2m]))",
     "sum(rate(http_requests_total{app=\"podinfo-primary\"}[2m]))"},
    {"sum(rate(http_requests_total{app=\"podinfo-canary\"}[2m]))",
     "sum(rate(http_requests_total{app=\"podinfo-primary\"}[2m]))"},
    {"f{app=\"podinfo\", envoy_cluster_name=\"test_podinfo-canary_9898\"}",
     "f{app=\"podinfo-primary\", envoy_cluster_name=\"test_podinfo-primary_9898\"}"},
    {"f{pod=~\"podinfo-.*\"}", "f{pod=~\"podinfo-primary-.*\"}"},
    {"f{pod=~\"podinfo-canary-[0-9a-z]+\"}", "f{pod=~\"podinfo-primary-[0-9a-z]+\"}"},
    {"f{service=~\"podinfo|podinfo-canary\"}", "f{service=~\"podinfo-primary|podinfo-primary\"}"},
    {"f{service=\"podinfo_test_svc_9898\"}", "f{service=\"podinfo-primary_test_svc_9898\"}"},
    {"f{host=\"podinfo.test.svc\"}", "f{host=\"podinfo-primary.test.svc\"}"},
    {"avg:hits{service:podinfo}.as_count()", "avg:hits{service:podinfo-primary}.as_count()"},
    {"stats.podinfo.count", "stats.podinfo-primary.count"},
    {"SELECT count(*) FROM jobs WHERE app = 'podinfo'",
     "SELECT count(*) FROM jobs WHERE app = 'podinfo-primary'"},
    {"podinfo", "podinfo-primary"},
    {"", ""},
    /* other names */
    {"f{app=\"podinfo-primary\"}", "f{app=\"podinfo-primary\"}"},
    {"f{app=\"podinfo-backend\"}", "f{app=\"podinfo-backend\"}"},
    {"f{app=\"podinfo-canary2\"}", "f{app=\"podinfo-canary2\"}"},
    {"f{app=\"podinfo-canary-backend\"}", "f{app=\"podinfo-canary-backend\"}"},
    {"f{app=\"mypodinfo\",b=\"my-podinfo\",c=\"podinfo2\"}",
     "f{app=\"mypodinfo\",b=\"my-podinfo\",c=\"podinfo2\"}"},
    {"sum(podinfo_requests_total{app=\"podinfo\"})",
     "sum(podinfo_requests_total{app=\"podinfo-primary\"})"},
    {"podinfo:requests:rate5m + podinfo{app=\"podinfo\"} + podinfo[2m] + my_podinfo",
     "podinfo:requests:rate5m + podinfo{app=\"podinfo-primary\"} + podinfo[2m] + my_podinfo"},
    {"f{a=\"x\\\"\",b=\"podinfo_1\"}", "f{a=\"x\\\"\",b=\"podinfo-primary_1\"}"},
    {"f{a=\"\\", "f{a=\"\\"},
};

CASE(test_queries)
{
    EACH_ROW (row, cases)
        assert_string_equal(query_for_primary(arena, row->query, "podinfo"), row->primary);
    assert_string_equal(query_for_primary(arena, "podinfo", ""), "podinfo");
}

static const struct {
    const char *selector, *primary;
} selectors[] = {
    {"app=podinfo", "app=podinfo-primary"},
    {"app==podinfo, tier=web", "app==podinfo-primary, tier=web"},
    {"tier = podinfo,app = podinfo", "tier = podinfo,app = podinfo-primary"},
    {"app in (podinfo, other),x", "app in (podinfo-primary, other),x"},
    {"app notin (other,podinfo)", "app notin (other,podinfo-primary)"},
    {"app!=podinfo", "app!=podinfo-primary"},
    {"app=podinfo-backend", "app=podinfo-backend"},
    {"app.kubernetes.io/app=podinfo,my-app=podinfo",
     "app.kubernetes.io/app=podinfo,my-app=podinfo"},
    {"!app,x=podinfo", "!app,x=podinfo"},
    {"", ""},
};

CASE(test_selectors)
{
    EACH_ROW (row, selectors)
        assert_string_equal(
            selector_for_primary(arena, row->selector, "app", "podinfo", "podinfo-primary"),
            row->primary);
}
