#include "proto/webhook_message.h"

#include <string.h>

static const char *quoted(struct arena *arena, const char *text)
{
    return json_text(arena, json_own(arena, json_object_new_string(text != NULL ? text : "")));
}

const char *webhook_text(struct arena *arena, const struct webhook_message *message)
{
    /* Written by hand, since the order of the keys is part of the interface. */
    const char *metadata = "", *release = "", *step = "";
    if (message->metadata != NULL && json_object_object_length(message->metadata) > 0)
        metadata =
            arena_printf(arena, ",\"metadata\":%s", json_text_sorted(arena, message->metadata));
    if (message->release != NULL)
        release = arena_printf(arena, ",\"release\":%s", quoted(arena, message->release));
    if (message->step != NULL)
        step = arena_printf(arena, ",\"step\":%s", quoted(arena, message->step));
    return arena_printf(arena, "{\"name\":%s,\"namespace\":%s,\"phase\":%s,\"checksum\":%s%s%s%s}",
                        quoted(arena, message->name), quoted(arena, message->namespace_),
                        quoted(arena, message->phase), quoted(arena, message->checksum), metadata,
                        release, step);
}

bool webhook_is_load(struct json_object *metadata)
{
    const char *type = json_str_at(metadata, "type", NULL);

    return type != NULL && (strcmp(type, "job") == 0 || strcmp(type, "k6") == 0);
}

static const char *text_or_empty(struct json_reader *r, struct json_object *root, const char *key)
{
    const char *text = json_read_str(r, root, key, JSON_OPTIONAL);
    return text != NULL ? text : "";
}

static struct json_object *read_metadata(struct json_reader *r, struct json_object *root)
{
    struct json_object *metadata = json_read_obj(r, root, "metadata", JSON_OPTIONAL);
    if (metadata == NULL)
        return NULL;
    json_object_object_foreach(metadata, key, value)
    {
        /* null counts as missing, as it does everywhere else. */
        if (value != NULL && !json_object_is_type(value, json_type_string)) {
            json_reader_fail(r, metadata, key, "expected a string, found %s",
                             json_text(r->arena, value));
            return NULL;
        }
    }
    return metadata;
}

enum err webhook_parse(struct arena *arena, const char *body, size_t len,
                       struct webhook_message *out, struct errinfo *ei)
{
    *out = (struct webhook_message){.name = "", .namespace_ = "", .phase = "", .checksum = ""};
    struct json_object *root;
    enum err err = json_parse(arena, body, len, WEBHOOK_MAX_BYTES, &root, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, "webhook message");
    if (!json_object_is_type(root, json_type_object))
        return err_set(ei, ERR_INVALID,
                       "webhook message: expected an object such as "
                       "{\"name\":\"podinfo\",\"namespace\":\"test\"}, found %.40s",
                       json_text(arena, root));

    struct json_reader r = {.arena = arena};
    struct webhook_message message = {
        .name = text_or_empty(&r, root, "name"),
        .namespace_ = text_or_empty(&r, root, "namespace"),
        .phase = text_or_empty(&r, root, "phase"),
        .checksum = text_or_empty(&r, root, "checksum"),
        .metadata = read_metadata(&r, root),
        .release = json_read_str(&r, root, "release", JSON_OPTIONAL),
        .step = json_read_str(&r, root, "step", JSON_OPTIONAL),
    };
    if (r.err != ERR_OK)
        return err_set(ei, r.err, "webhook message: %s", r.info.text);
    *out = message;
    return ERR_OK;
}

const char *webhook_metadata(const struct webhook_message *message, const char *key)
{
    return json_str_at(message->metadata, key, NULL);
}

enum err webhook_metadata_bool(const struct webhook_message *message, const char *key, bool missing,
                               bool *out, struct errinfo *ei)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True", NULL};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False", NULL};
    *out = missing;
    const char *text = webhook_metadata(message, key);
    if (text == NULL)
        return ERR_OK;
    for (int i = 0; yes[i] != NULL; i++) {
        if (strcmp(yes[i], text) == 0) {
            *out = true;
            return ERR_OK;
        }
    }
    for (int i = 0; no[i] != NULL; i++) {
        if (strcmp(no[i], text) == 0) {
            *out = false;
            return ERR_OK;
        }
    }
    return err_set(ei, ERR_INVALID, "metadata.%s: expected \"true\" or \"false\", found \"%.80s\"",
                   key, text);
}

bool webhook_passes(int status)
{
    return (status >= 200 && status <= 202) || status == 204;
}
