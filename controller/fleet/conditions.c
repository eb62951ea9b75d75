#include "fleet/conditions.h"

#include <string.h>

#include "base/clock.h"

static struct json_object *find(struct json_object *status, const char *type)
{
    struct json_object *conditions = json_at(status, "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *own = json_str_at(json_elem(conditions, i), "type", NULL);
        if (own && strcmp(own, type) == 0)
            return json_elem(conditions, i);
    }
    return NULL;
}

void conditions_add(struct json_object *array, const struct condition *condition,
                    struct json_object *old_status, int64_t now_ms)
{
    struct json_object *json = json_object_new_object();
    struct json_object *before = find(old_status, condition->type);
    const char *was = json_str_at(before, "status", NULL);
    const char *since = json_str_at(before, "lastTransitionTime", NULL);
    const char *now = condition->is_so ? "True" : "False";
    char text[CLOCK_TEXT];

    json_object_array_add(array, json);
    json_set_str(json, "type", condition->type);
    json_set_str(json, "status", now);
    json_set_str(json, "reason", condition->reason);
    json_set_str(json, "message", condition->message);
    json_set_str(json, "lastTransitionTime",
                 was && since && strcmp(was, now) == 0 ? since : clock_rfc3339(now_ms, text));
}
