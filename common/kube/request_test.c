#include "kube/kube_internal.h"

#include <string.h>

#include "base/json.h"
#include "test/kinds.h"
#include "test/unit.h"

CASE(every_verb)
{
    static const struct {
        struct kube_request request;
        const char *method, *url, *label, *content_type;
    } cases[] = {
        {{.verb = KUBE_GET, .resource = &kube_deployments, .namespace_ = "test", .name = "podinfo"},
         "GET",
         "https://h/p/apis/apps/v1/namespaces/test/deployments/podinfo",
         "GET deployments test/podinfo",
         NULL},
        {{.verb = KUBE_LIST, .resource = &kube_deployments, .query = "limit=5"},
         "GET",
         "https://h/p/apis/apps/v1/deployments?limit=5",
         "LIST deployments",
         NULL},
        {{.verb = KUBE_LIST, .resource = &kube_secrets, .namespace_ = "a", .query = ""},
         "GET",
         "https://h/p/api/v1/namespaces/a/secrets",
         "LIST secrets in a",
         NULL},
        {{.verb = KUBE_CREATE, .resource = &kube_services, .namespace_ = "a"},
         "POST",
         "https://h/p/api/v1/namespaces/a/services",
         "POST services in a",
         "application/json"},
        {{.verb = KUBE_REPLACE, .resource = &kube_services, .namespace_ = "a", .name = "s"},
         "PUT",
         "https://h/p/api/v1/namespaces/a/services/s",
         "PUT services a/s",
         "application/json"},
        {{.verb = KUBE_MERGE_PATCH,
          .resource = &kube_deployments,
          .namespace_ = "a",
          .name = "s",
          .sub = "status"},
         "PATCH",
         "https://h/p/apis/apps/v1/namespaces/a/deployments/s/status",
         "PATCH deployments/status a/s",
         "application/merge-patch+json"},
        {{.verb = KUBE_JSON_PATCH, .resource = &kube_crds, .name = "x.y"},
         "PATCH",
         "https://h/p/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.y",
         "PATCH customresourcedefinitions x.y",
         "application/json-patch+json"},
        {{.verb = KUBE_DELETE, .resource = &kube_pods, .namespace_ = "a", .name = "s"},
         "DELETE",
         "https://h/p/api/v1/namespaces/a/pods/s",
         "DELETE pods a/s",
         "application/json"},
        {{.verb = KUBE_GET, .raw_path = "/version?timeout=1s"},
         "GET",
         "https://h/p/version?timeout=1s",
         "GET /version",
         NULL},
    };
    struct json_object *body = json_own(arena, json_object_new_object());
    EACH_ROW (row, cases) {
        struct kube_request request = row->request;
        struct request_wire wire;
        struct errinfo ei = {0};
        request.body = row->content_type ? body : NULL;
        assert_int_equal(request_build(arena, "https://h/p", &request, &wire, &ei), ERR_OK);
        assert_string_equal(wire.method, row->method);
        assert_string_equal(wire.url, row->url);
        assert_string_equal(wire.label, row->label);
        if (!row->content_type) {
            assert_null(wire.content_type);
            assert_null(wire.body);
            continue;
        }
        assert_string_equal(wire.content_type, row->content_type);
        assert_string_equal(wire.body, "{}");
        assert_int_equal(wire.body_len, 2);
    }
}

CASE(names_that_would_do_harm)
{
    static const struct {
        enum kube_verb verb;
        const struct kube_resource *resource;
        const char *namespace_, *name, *sub, *text;
    } cases[] = {
        {KUBE_DELETE, &kube_pods, "a", "", NULL, "the name is empty"},
        {KUBE_DELETE, &kube_pods, "a", NULL, NULL, "no name is given"},
        {KUBE_DELETE, &kube_pods, "", "x", NULL, "the namespace is empty"},
        {KUBE_DELETE, &kube_pods, NULL, "x", NULL, "no namespace is given"},
        {KUBE_CREATE, &kube_pods, NULL, NULL, NULL, "no namespace is given"},
        {KUBE_CREATE, &kube_pods, "a", "x", NULL, "a name has no place here"},
        {KUBE_LIST, &kube_pods, "a", NULL, "status", "a name has no place here"},
        {KUBE_LIST, &kube_pods, "a/b", NULL, NULL, "the namespace \"a/b\" cannot stand in a path"},
        {KUBE_GET, &kube_pods, "a", "..", NULL, "the name \"..\" cannot stand in a path"},
        {KUBE_GET, &kube_pods, "a", ".", NULL, "the name \".\" cannot stand in a path"},
        {KUBE_GET, &kube_pods, "a", "x?y=1", NULL, "the name \"x?y=1\" cannot stand in a path"},
        {KUBE_GET, &kube_pods, "a", "%2e%2e", NULL, "the name \"%2e%2e\" cannot stand in a path"},
        {KUBE_GET, &kube_namespaces, NULL, "a/b", NULL, "the name \"a/b\" cannot stand in a path"},
    };
    EACH_ROW (row, cases) {
        struct kube_request request = {.verb = row->verb,
                                       .resource = row->resource,
                                       .namespace_ = row->namespace_,
                                       .name = row->name,
                                       .sub = row->sub};
        struct request_wire wire;
        struct errinfo ei = {0};
        assert_int_equal(request_build(arena, "http://h", &request, &wire, &ei), ERR_INVALID);
        assert_string_equal(ei.text, row->text);
        assert_non_null(wire.label);
    }
    struct kube_request good = {.verb = KUBE_LIST, .resource = &kube_pods};
    struct request_wire wire;
    struct errinfo ei = {0};
    assert_int_equal(request_build(arena, NULL, &good, &wire, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "no Kubernetes API server is configured");
}

static bool no_data(void *arg, const char *data, size_t len)
{
    return false;
}

CASE(metadata_alone)
{
    struct kube_request request = {
        .verb = KUBE_LIST, .resource = &kube_pods, .metadata_only = true};
    struct request_wire wire;
    struct errinfo ei = {0};
    assert_int_equal(request_build(arena, "http://h", &request, &wire, &ei), ERR_OK);
    assert_string_equal(
        wire.accept,
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
    request.on_data = no_data;
    assert_int_equal(request_build(arena, "http://h", &request, &wire, &ei), ERR_OK);
    assert_string_equal(
        wire.accept,
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    request.metadata_only = false;
    assert_int_equal(request_build(arena, "http://h", &request, &wire, &ei), ERR_OK);
    assert_string_equal(wire.accept, "application/json");
}
