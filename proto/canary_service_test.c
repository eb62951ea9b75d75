#include "proto/canary_testing.h"

CASE(test_defaults)
{
    struct canary_service s = canary_testing_view(arena, "{}").service;
    assert_string_equal(s.name, "podinfo");
    assert_string_equal(s.primary_name, "podinfo-primary");
    assert_string_equal(s.canary_name, "podinfo-canary");
    assert_int_equal(s.port, 9898);
    assert_string_equal(s.port_name, "http");
    assert_null(s.target_port);
    assert_null(s.app_protocol);
    assert_false(s.port_discovery || s.headless);
    assert_null(s.traffic_distribution);
    assert_null(s.apex);
    assert_null(s.unmanaged_labels[0]);
    assert_null(s.unmanaged_annotations[0]);
    assert_null(s.gateway_refs);
    assert_null(s.hosts);
}

CASE(test_everything)
{
    struct canary_service s =
        canary_testing_view(
            arena,
            "{'spec':{'service':{'name':'web','port':80.0,'portName':'grpc','targetPort':'http','"
            "appProtocol':'h2c','portDiscovery':true,'headless':true,'trafficDistribution':'"
            "PreferClose','apex':{'labels':{'a':'1'}},'primary':{'annotations':{'b':'2'}},'canary':"
            "{},'unmanagedMetadata':{'labels':['x','y'],'annotations':['z']},'gatewayRefs':[{'name'"
            ":'g'}],'hosts':['app.example.com']}}}")
            .service;
    assert_string_equal(s.name, "web");
    assert_string_equal(s.primary_name, "web-primary");
    assert_string_equal(s.canary_name, "web-canary");
    assert_int_equal(s.port, 80);
    assert_string_equal(s.port_name, "grpc");
    assert_string_equal(json_object_get_string(s.target_port), "http");
    assert_string_equal(s.app_protocol, "h2c");
    assert_true(s.port_discovery && s.headless);
    assert_string_equal(s.traffic_distribution, "PreferClose");
    assert_string_equal(json_str_at(s.apex, "labels", "a", NULL), "1");
    assert_string_equal(json_str_at(s.primary, "annotations", "b", NULL), "2");
    assert_non_null(s.canary);
    assert_string_equal(s.unmanaged_labels[0], "x");
    assert_string_equal(s.unmanaged_labels[1], "y");
    assert_null(s.unmanaged_labels[2]);
    assert_string_equal(s.unmanaged_annotations[0], "z");
    assert_null(s.unmanaged_annotations[1]);
    assert_int_equal(json_len(s.gateway_refs), 1);
    assert_int_equal(json_len(s.hosts), 1);
}

CASE(test_an_empty_target_port_is_none)
{
    static const struct {
        const char *port;
        bool given;
    } cases[] = {{"0", false},   {"\"\"", false},  {"null", false},
                 {"9898", true}, {"9898.0", true}, {"\"http\"", true}};
    EACH_ROW (row, cases) {
        struct canary c = canary_testing_view(
            arena, arena_printf(arena, "{'spec':{'service':{'targetPort':%s}}}", row->port));
        assert_int_equal(c.service.target_port != NULL, row->given);
    }
}

CASE(test_mistakes)
{
    canary_testing_mistakes(arena, "service");
}
