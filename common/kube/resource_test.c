#include "kube/resource.h"
#include "test/kinds.h"
#include "test/unit.h"

CASE(paths)
{
    static const struct {
        const struct kube_resource *resource;
        const char *namespace_, *name, *sub, *path;
    } cases[] = {
        {&kube_deployments, "test", "podinfo", NULL,
         "/apis/apps/v1/namespaces/test/deployments/podinfo"},
        {&kube_deployments, "test", "podinfo", "scale",
         "/apis/apps/v1/namespaces/test/deployments/podinfo/scale"},
        {&kube_deployments, NULL, NULL, NULL, "/apis/apps/v1/deployments"},
        {&kube_deployments, "test", NULL, "scale", "/apis/apps/v1/namespaces/test/deployments"},
        {&kube_secrets, "test", "s", NULL, "/api/v1/namespaces/test/secrets/s"},
        {&kube_crds, NULL, "canaries.flagger.app", NULL,
         "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/canaries.flagger.app"},
        {&kube_namespaces, "ignored", "test", NULL, "/api/v1/namespaces/test"},
        {&kube_secrets, "a/b", "c?d", NULL, "/api/v1/namespaces/a%2Fb/secrets/c%3Fd"},
    };
    EACH_ROW (row, cases)
        assert_string_equal(kube_path(arena, row->resource, row->namespace_, row->name, row->sub),
                            row->path);
    assert_string_equal(kube_api_version(arena, &kube_deployments), "apps/v1");
    assert_string_equal(kube_api_version(arena, &kube_events), "v1");
}

CASE(sameness)
{
    const struct kube_resource twin = {.group = "apps",
                                       .version = "v1",
                                       .plural = "deployments",
                                       .kind = "Other",
                                       .cluster_scoped = true};
    const struct kube_resource beta = {
        .group = "apps", .version = "v1beta1", .plural = "deployments", .kind = "Deployment"};
    assert_true(kube_resource_same(&kube_deployments, &twin));
    assert_false(kube_resource_same(&kube_deployments, &beta));
    assert_false(kube_resource_same(&kube_deployments, &kube_daemonsets));
    assert_false(kube_resource_same(&kube_services, &kube_deployments));
}

CASE(labels)
{
    assert_true(kube_is_label("a"));
    assert_true(kube_is_label("team-7"));
    assert_true(kube_is_label("012345678901234567890123456789012345678901234567890123456789012"));
    assert_false(kube_is_label("0123456789012345678901234567890123456789012345678901234567890123"));
    assert_false(kube_is_label(""));
    assert_false(kube_is_label("-a"));
    assert_false(kube_is_label("a-"));
    assert_false(kube_is_label("A_b"));
    assert_false(kube_is_label("a.b"));
    assert_true(kube_is_name("a.b-1.c"));
    assert_true(
        kube_is_name("0123456789012345678901234567890123456789012345678901234567890123456789.a"));
    assert_false(kube_is_name(""));
    assert_false(kube_is_name("a..b"));
    assert_false(kube_is_name("a."));
    assert_false(kube_is_name("a.-b"));
    assert_false(kube_is_name("*"));
    assert_false(kube_is_name("A"));
}

CASE(numbers_are_their_own_marks)
{
    static const struct {
        const char *text;
        uint64_t number;
    } rows[] = {
        {"1", 1},   {"104", 104}, {"999999999999999999", 999999999999999999},
        {"0", 0},   {"012", 0},   {"1000000000000000000", 0},
        {"1a", 0},  {"-1", 0},    {"+1", 0},
        {"a_b", 0}, {"", 0},      {NULL, 0},
        {" 1", 0},  {"1 ", 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t mark = version_mark(rows[i].text);
        assert_int_equal(version_number(mark), rows[i].number);
        assert_true(mark != 0);
        assert_true(rows[i].number == 0 || mark == rows[i].number);
        for (size_t k = 0; k < i; k++)
            assert_int_equal(mark == version_mark(rows[k].text), !rows[i].text && !*rows[k].text);
    }
}
