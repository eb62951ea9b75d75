#include "target/common_pin.h"

#include <string.h>

#include "tick/edit.h"

enum { TEMPLATE_MAX = 200 * 1024 }; /* all annotations of an object together: 256 KiB */

static const char *note_of(struct json_object *object)
{
    return json_str_at(object, "metadata", "annotations", PIN_TEMPLATE, NULL);
}

void pin_erase(struct json_object *copy, enum pin pin)
{
    json_del(json_at(copy, "metadata", "annotations", NULL), PIN_TEMPLATE);
    /* one that somebody has resumed may be paused again, by somebody */
    if (pin == PIN_HOLDS)
        json_del(json_at(copy, "spec", NULL), "paused");
}

void pin_read(struct arena *arena, struct target_info *out)
{
    const char *note = note_of(out->object);
    struct json_object *template = NULL;
    struct errinfo ei;

    if (!note)
        return;
    out->pin = PIN_BROKEN;
    out->live = out->object;
    if (!json_bool_at(out->object, false, "spec", "paused", NULL) ||
        json_parse(arena, note, strlen(note), TEMPLATE_MAX, &template, &ei) != ERR_OK ||
        !json_object_is_type(template, json_type_object))
        return;
    out->pin = PIN_HOLDS;
    out->object = json_copy(arena, out->live);
    json_del(json_at(out->object, "metadata", "annotations", NULL), PIN_TEMPLATE);
    json_set(json_sub(out->object, "spec"), "template", template);
}

bool pin_put(struct tick *tick, const struct workload *kind, const struct target_info *info)
{
    struct json_object *to = json_copy(tick->arena, info->object);
    const char *template = json_text(tick->arena, json_at(info->object, "spec", "template", NULL));

    if (strlen(template) > TEMPLATE_MAX)
        return false;
    json_set_str(json_sub(json_sub(to, "metadata"), "annotations"), PIN_TEMPLATE, template);
    json_set_bool(json_sub(to, "spec"), "paused", true);
    return plan_update(tick, kind->resource, info->object, to);
}

void pin_drop(struct tick *tick, const struct workload *kind, const struct target_info *info)
{
    struct json_object *to = json_copy(tick->arena, info->live);

    pin_erase(to, info->pin);
    plan_update(tick, kind->resource, info->live, to);
}
