#include "cloudevents.h"

#include <string.h>

#include "object/schema.h"
#include "test/rows.h"
#include "test/unit.h"

struct json_object *cloudevents_event(struct arena *arena, const struct alert *alert)
{
    enum { MAX = 64 * 1024 };
    const struct address address = {.url = "https://events.example/", .token = "t"};
    struct http_request request;
    struct json_object *event = NULL;
    struct errinfo ei;

    if (notify_request(arena, notifier_find("cloudevents"), &address, alert, NULL, &request, &ei) !=
            ERR_OK ||
        json_parse(arena, request.body, request.body_len, MAX, &event, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_string_equal(request.headers[0].name, "Content-Type");
    assert_string_equal(request.headers[0].value, "application/cloudevents+json; charset=utf-8");
    return event;
}

/* Compiled once: a search plays thousands of releases. */
static const struct schema *schema_of(const char *type)
{
    static const char *const names[] = {"event", "change"};
    static struct schema *schemas[2];
    int which = strcmp(type, "app.flagger.alert") == 0 ? 0 : 1;
    struct errinfo ei;

    if (!schemas[which]) {
        struct arena *arena = arena_new();
        struct json_object *file = json_elem(rows_read(arena, CLOUDEVENTS_FILE), 0);
        if (schema_compile(json_at(file, names[which], NULL), &schemas[which], &ei) != ERR_OK)
            fail_msg("%s", ei.text);
        arena_free(arena);
    }
    return schemas[which];
}

void cloudevents_check(struct arena *arena, struct json_object *event)
{
    const struct schema *schema = schema_of(json_str_at(event, "type", NULL));
    struct schema_paths unknown;
    struct causes causes = {.arena = arena};

    (void)schema_validate(schema, event, &causes);
    if (*cause_text(&causes))
        fail_msg("%s in %s", cause_text(&causes), json_text(arena, event));
    schema_prune(schema, arena, json_copy(arena, event), &unknown);
    if (unknown.count > 0)
        fail_msg("%s is not in the schema", unknown.paths[0]);
}
