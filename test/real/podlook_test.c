#include "real/podlook.h"
#include "test/unit.h"

#include <string.h>

static const struct {
    const char *pod;
    bool bound, deleting, ready_at_0, ready_at_3000;
} cases[] = {
    {"{\"spec\":{\"containers\":[{\"image\":\"demo-app:1.0.0\"}]}}", false, false, true, true},
    {"{\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"image\":\"demo-app:1.0.0-crash\"}]}}", true,
     false, false, false},
    {"{\"metadata\":{\"deletionTimestamp\":\"2026-11-22T09:00:00Z\"},\"spec\":{\"nodeName\":\"n\","
     "\"containers\":[{\"image\":\"nginx\",\"readinessProbe\":{\"initialDelaySeconds\":3}}]}}",
     true, true, false, true},
    {"{\"metadata\":{\"annotations\":{\"test.flagger.app/ready\":\"false\"}},"
     "\"spec\":{\"containers\":[{\"image\":\"nginx\"}]}}",
     false, false, false, false},
    {"{}", false, false, true, true},
};

static struct podlook look_at(struct arena *arena, const char *text)
{
    struct json_object *pod = NULL;
    struct podlook look;
    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &pod, NULL), ERR_OK);
    podlook_read(arena, pod, &look);
    return look;
}

CASE(a_pod_is_ready_as_its_image_probe_and_annotation_say)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct podlook look = look_at(arena, cases[i].pod);
        assert_int_equal(look.node != NULL, cases[i].bound);
        assert_int_equal(look.deleting, cases[i].deleting);
        assert_int_equal(podlook_ready(&look, 0), cases[i].ready_at_0);
        assert_int_equal(podlook_ready(&look, 3000), cases[i].ready_at_3000);
        assert_false(look.running);
    }
}

CASE(its_status_is_read)
{
    static const char text[] = "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
                               "\"Ready\",\"status\":\"True\"}]}}";
    struct podlook look = look_at(arena, text);
    assert_null(look.wants);
    assert_true(look.running);
    assert_true(look.ready);
}

CASE(its_image_and_the_time_that_it_has_to_end_are_read)
{
    static const char text[] = "{\"metadata\":{\"deletionTimestamp\":\"2026-11-22T09:00:00Z\","
                               "\"deletionGracePeriodSeconds\":5},"
                               "\"spec\":{\"containers\":[{\"image\":\"demo-app:2.0.0\"}]}}";
    struct podlook look = look_at(arena, text);
    assert_string_equal(look.image, "demo-app:2.0.0");
    assert_int_equal(look.grace_ms, 5000);
}

CASE(the_affinity_of_a_daemonset_s_pod_names_its_node)
{
    static const char text[] =
        "{\"spec\":{\"affinity\":{\"nodeAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
        "\"matchFields\":["
        "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"pretend-2\"]}]}]}}}}}";
    struct podlook look = look_at(arena, text);
    assert_string_equal(look.wants, "pretend-2");
}
