/*
 * What a receiver of CloudEvents is sent, against the schemas of cloudevents.yaml: every kind of
 * change with every kind of image, and an alert without a change. Attributes of the event and those
 * of CDEvents' context must be the same. The alerts of all golden cases are held against the schemas
 * as well (world.c).
 */
#include <string.h>

#include "cloudevents.h"
#include "test/rows.h"
#include "test/unit.h"

static void check_same(struct json_object *event, const char *attribute, const char *part,
                       const char *member)
{
    assert_string_equal(json_str_at(event, attribute, NULL),
                        json_str_at(event, "data", part, member, NULL));
}

static void check_change(struct arena *arena, struct json_object *row, enum alert_change change)
{
    const char *source = json_str_at(row, "source", NULL);
    const char *environment = json_str_at(row, "environment", NULL);
    const struct alert alert = {.canary = "podinfo",
                                .namespace_ = "test",
                                .severity = "info",
                                .text =
                                    "Canary analysis completed successfully, promotion finished.",
                                .key = "u-17-0",
                                .service = "deployment/podinfo",
                                .cluster = json_str_at(row, "cluster", NULL),
                                .change = change,
                                .image = json_str_at(row, "image", NULL),
                                .at = "2026-11-27T02:15:00.123Z",
                                .fields = {{"Target", "Deployment/podinfo.test"}},
                                .n_fields = 1};
    struct json_object *event = cloudevents_event(arena, &alert);

    cloudevents_check(arena, event);
    check_same(event, "id", "context", "id");
    check_same(event, "source", "context", "source");
    check_same(event, "type", "context", "type");
    check_same(event, "time", "context", "timestamp");
    check_same(event, "subject", "subject", "id");
    struct json_object *content = json_at(event, "data", "subject", "content", NULL);
    assert_string_equal(json_str_at(content, "artifactId", NULL),
                        json_str_at(row, "artifact", NULL));
    assert_string_equal(json_str_at(content, "environment", "id", NULL),
                        environment ? environment : "namespaces/test");
    assert_string_equal(json_str_at(event, "source", NULL),
                        source ? source
                               : "/apis/flagger.app/v1beta1/namespaces/test/canaries/podinfo");
    assert_non_null(strstr(json_str_at(event, "type", NULL), alert_change_name(change)));
}

CASE(each_change_is_an_event_of_its_schema)
{
    struct json_object *rows = json_elem(rows_read(arena, CLOUDEVENTS_FILE), 1);

    for (size_t i = 0; unit_row("cloudevents.yaml", i, json_len(rows)); i++) {
        for (int change = ALERT_DEPLOYED; change <= ALERT_ROLLED_BACK; change++)
            check_change(arena, json_elem(rows, i), (enum alert_change)change);
    }
}

CASE(an_alert_without_a_change_is_an_event_of_its_schema)
{
    static const char *const severities[] = {"info", "warn", "error"};

    EACH_ROW (severity, severities) {
        const struct alert alert = {.canary = "podinfo",
                                    .namespace_ = "test",
                                    .severity = *severity,
                                    .text = "The release has stalled",
                                    .key = "u-17-0",
                                    .service = "deployment/podinfo"};
        struct json_object *event = cloudevents_event(arena, &alert);
        cloudevents_check(arena, event);
        assert_string_equal(json_str_at(event, "type", NULL), "app.flagger.alert");
    }
}
