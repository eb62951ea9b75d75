#include "notify/common_slack.h"

#include "base/json.h"

static struct json_object *field_of(const struct alert_field *field)
{
    struct json_object *out = json_object_new_object();

    json_set_str(out, "title", field->name);
    json_set_str(out, "value", field->value);
    json_object_object_add(out, "short", json_object_new_boolean(false));
    return out;
}

static struct json_object *attachment(struct arena *arena, const struct alert *alert,
                                      const char *color)
{
    struct json_object *out = json_object_new_object();
    struct json_object *markdown_in = json_object_new_array();
    struct json_object *fields = json_object_new_array();

    json_set_str(out, "color", color);
    json_set_str(out, "author_name", alert_subject(arena, alert));
    json_set_str(out, "text", alert->text);
    json_object_array_add(markdown_in, json_object_new_string("text"));
    json_object_object_add(out, "mrkdwn_in", markdown_in);
    for (int i = 0; i < alert->n_fields; i++)
        json_object_array_add(fields, field_of(&alert->fields[i]));
    json_object_object_add(out, "fields", fields);
    return out;
}

struct json_object *slack_message(struct arena *arena, const struct address *address,
                                  const struct alert *alert, const char *color)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *attachments = json_object_new_array();

    json_set_str(out, "channel", address->channel);
    json_set_str(out, "username", address->username);
    json_set_str(out, "icon_url", "");
    json_set_str(out, "icon_emoji", ":rocket:");
    json_object_array_add(attachments, attachment(arena, alert, color));
    json_object_object_add(out, "attachments", attachments);
    return out;
}
