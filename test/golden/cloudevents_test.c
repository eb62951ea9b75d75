/*
 * What a receiver of CloudEvents is sent, against the schemas of cloudevents.yaml: every kind of
 * change with every kind of image, and an alert without a change. Attributes of the event and those
 * of CDEvents' context must be the same.
 */
#include <string.h>

#include "notify/notify.h"
#include "object/schema.h"
#include "test/rows.h"
#include "test/unit.h"

static void check_schema(struct arena *arena, struct json_object *schema, struct json_object *event)
{
    struct schema *compiled;
    struct schema_paths unknown;
    struct causes causes = {.arena = arena};
    struct errinfo ei;

    if (schema_compile(schema, &compiled, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    (void)schema_validate(compiled, event, &causes);
    assert_string_equal(cause_text(&causes), "");
    schema_prune(compiled, arena, json_copy(arena, event), &unknown);
    if (unknown.count > 0)
        fail_msg("%s is not in the schema", unknown.paths[0]);
    schema_free(compiled);
}

static struct json_object *event_of(struct arena *arena, const struct alert *alert)
{
    const struct address address = {.url = "https://events.example/", .token = "t"};
    struct http_request request;
    struct json_object *event = NULL;
    struct errinfo ei;

    if (notify_request(arena, notifier_find("cloudevents"), &address, alert, NULL, &request, &ei) !=
            ERR_OK ||
        json_parse(arena, request.body, request.body_len, 64 * 1024, &event, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_string_equal(request.headers[0].name, "Content-Type");
    assert_string_equal(request.headers[0].value, "application/cloudevents+json; charset=utf-8");
    return event;
}

static void check_same(struct json_object *event, const char *attribute, const char *part,
                       const char *member)
{
    assert_string_equal(json_str_at(event, attribute, NULL),
                        json_str_at(event, "data", part, member, NULL));
}

static void check_change(struct arena *arena, struct json_object *schemas, struct json_object *row,
                         enum alert_change change)
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
    struct json_object *event = event_of(arena, &alert);

    check_schema(arena, json_at(schemas, "change", NULL), event);
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
    struct json_object *file = rows_read(arena, "test/golden/cloudevents.yaml");
    struct json_object *schemas = json_elem(file, 0), *rows = json_elem(file, 1);

    for (size_t i = 0; unit_row("cloudevents.yaml", i, json_len(rows)); i++) {
        for (int change = ALERT_DEPLOYED; change <= ALERT_ROLLED_BACK; change++)
            check_change(arena, schemas, json_elem(rows, i), (enum alert_change)change);
    }
}

CASE(an_alert_without_a_change_is_an_event_of_its_schema)
{
    struct json_object *schemas = json_elem(rows_read(arena, "test/golden/cloudevents.yaml"), 0);
    static const char *const severities[] = {"info", "warn", "error"};

    EACH_ROW (severity, severities) {
        const struct alert alert = {.canary = "podinfo",
                                    .namespace_ = "test",
                                    .severity = *severity,
                                    .text = "The release has stalled",
                                    .key = "u-17-0",
                                    .service = "deployment/podinfo"};
        check_schema(arena, json_at(schemas, "event", NULL), event_of(arena, &alert));
    }
}
