#include "metric/template.h"

#include "metric/family.h"
#include "tick/fixture_test.h"

static const struct render_model model = {
    .name = "can",
    .namespace_ = "my-ns",
    .target = "tar-get",
    .service = "svc",
    .ingress = "ing",
    .route = "route",
    .interval = "1m",
};

static const char pods[] = "tar-get-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"; /* of a Deployment */

CASE(test_render)
{
    static const struct {
        const char *query, *out; /* out NULL: an error that contains `error` */
        const char *error;
    } cases[] = {
        {"", "", NULL},
        {"plain }} text", "plain }} text", NULL},
        {"{{name}} {{ namespace }} {{ target}} {{service }}", "can my-ns tar-get svc", NULL},
        {"{{ ingress }}/{{ route }}[{{ interval }}]", "ing/route[1m]", NULL},
        {"{{ variables.a }}-{{ variables.b_c }}", "1-2 3", NULL},
        {"{{ index variables \"a\" }}{{ index variables \"none\" }}", "1", NULL},
        {"{{ if eq namespace \"my-ns\" }}mine{{ else }}other{{ end }}", "mine", NULL},
        {"{{ printf \"%s.%s\" target namespace }}", "tar-get.my-ns", NULL},
        {"a  {{- name -}}  b", "acanb", NULL},
        {"a  {{- name }}", "acan", NULL},
        {"a  {{-name }}", NULL, "template:1:6: a number that is not one"},
        {"{{ variables.none }}", NULL, "template:1:13: no entry for key \"none\""},
        {"{{ variables }}", "map[a:1 b_c:2 3]", NULL},
        {"{{ Name }}", NULL,
         "template:1:4: function \"Name\" is not known; expected name, namespace, target, service, "
         "ingress, route, interval, variables, or one of Go's templates"},
        {"{{ pods }}", NULL, "is not known"},     /* of the families only */
        {"{{ workload }}", NULL, "is not known"}, /* of counts only */
        {"{{ }}", NULL, "template:1:4: expected a value"},
        {"{{", NULL, "without"},
        {"x {{ name }", NULL, "without"},
    };
    struct render_model with = model;

    with.variables = fixture_json(arena, "{'a':'1','b_c':'2 3'}");
    EACH_ROW (row, cases) {
        const char *out = NULL;
        struct errinfo ei = {0};
        enum err err = render_query(arena, row->query, &with, &out, &ei);
        if (row->out) {
            assert_int_equal(err, ERR_OK);
            assert_string_equal(out, row->out);
        } else {
            assert_int_equal(err, ERR_INVALID);
            if (!strstr(ei.text, row->error))
                fail_msg("%s: %s", row->query, ei.text);
        }
    }
}

CASE(test_too_long)
{
    char *query = arena_alloc(arena, 70000);
    const char *out;
    struct errinfo ei;

    memset(query, 'x', 69999);
    assert_int_equal(render_query(arena, query, &model, &out, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "longer than"));
}

CASE(test_every_family_renders)
{
    const struct metric_family *family = NULL;

    while ((family = metric_family_next(family))) {
        const char *const queries[] = {metric_family_query(arena, family, METRIC_SUCCESS_RATE),
                                       metric_family_query(arena, family, METRIC_DURATION)};
        struct render_model with = model;
        with.plain_words = family->plain_words;
        with.pods = pods;
        assert_ptr_equal(metric_family_find(family->name), family);
        assert_true(family->duration_to_ms >= 1);
        for (size_t q = 0; q < 2; q++) {
            const char *out;
            struct errinfo ei;
            int depth = 0;
            assert_int_equal(render_query(arena, queries[q], &with, &out, &ei), ERR_OK);
            for (const char *at = out; *at; at++)
                depth += strchr("({[", *at) ? 1 : strchr(")}]", *at) ? -1 : 0;
            assert_int_equal(depth, 0);
            assert_non_null(strstr(out, "[1m]"));
            assert_null(strstr(out, "{{"));
            if (family->plain_words)
                assert_null(strstr(out, "my-ns"));
        }
    }
    assert_null(metric_family_find("nothing"));
    assert_null(metric_family_find(NULL));
}

CASE(test_http_family)
{
    struct render_model with = model;
    const char *out;
    struct errinfo ei;

    with.pods = pods;
    assert_int_equal(
        render_query(arena,
                     metric_family_query(arena, metric_family_find("http"), METRIC_SUCCESS_RATE),
                     &with, &out, &ei),
        ERR_OK);
    assert_string_equal(
        out, "sum( rate( http_request_duration_seconds_count{ kubernetes_namespace=\"my-ns\", "
             "kubernetes_pod_name=~\"tar-get-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)\", status!~\"5.*\" "
             "}[1m] ) ) / sum( rate( http_request_duration_seconds_count{ "
             "kubernetes_namespace=\"my-ns\", "
             "kubernetes_pod_name=~\"tar-get-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)\" }[1m] ) ) * 100");
}
