#include "kube/watch_line.h"

#include <string.h>

static const struct {
    const char *name;
    enum line_type type;
} types[] = {
    {"ADDED", LINE_PUT},         {"MODIFIED", LINE_PUT}, {"DELETED", LINE_GONE},
    {"BOOKMARK", LINE_BOOKMARK}, {"ERROR", LINE_ERROR},
};

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

bool watch_object_key(struct json_object *object, struct line_event *out)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);

    out->namespace_ = text_or_empty(json_str_at(metadata, "namespace", NULL));
    out->name = text_or_empty(json_str_at(metadata, "name", NULL));
    out->uid = text_or_empty(json_str_at(metadata, "uid", NULL));
    out->resource_version = text_or_empty(json_str_at(metadata, "resourceVersion", NULL));
    return out->name[0] && out->resource_version[0];
}

static enum err parse_type(const char *name, enum line_type *type, struct errinfo *ei)
{
    for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, name) == 0) {
            *type = types[i].type;
            return ERR_OK;
        }
    }
    return err_set(ei, ERR_INVALID, "type: expected a watch event's type, found %.40s",
                   name ? name : "none");
}

enum err watch_line_parse(struct arena *arena, const char *line, size_t len, struct line_event *out,
                          struct errinfo *ei)
{
    struct json_object *event = NULL;
    enum reply_shape shape;
    enum err err = reply_parse(arena, line, len, REPLY_PASSES, &event, &shape, ei);

    *out = (struct line_event){.outline = shape != REPLY_WHOLE};
    if (err == ERR_OK)
        err = parse_type(json_str_at(event, "type", NULL), &out->type, ei);
    if (err != ERR_OK)
        return err;
    out->object = json_at(event, "object", NULL);
    if (!json_object_is_type(out->object, json_type_object))
        return err_set(ei, ERR_INVALID, "object: expected an object");
    bool keyed = watch_object_key(out->object, out);
    if (out->type == LINE_ERROR) {
        out->code = (int)json_int_at(out->object, 0, "code", NULL);
        out->message = text_or_empty(json_str_at(out->object, "message", NULL));
    } else if (out->type == LINE_BOOKMARK ? !out->resource_version[0] : !keyed) {
        return err_set(ei, ERR_INVALID, "object.metadata: expected name and resourceVersion");
    }
    return ERR_OK;
}

bool watch_lines_feed(struct buf *rest, const char *data, size_t len,
                      bool (*fn)(void *arg, const char *line, size_t len), void *arg)
{
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t piece = end ? (size_t)(end - data) : len;
        if (!buf_add(rest, data, piece))
            return false;
        if (!end)
            return true;
        data += piece + 1;
        len -= piece + 1;
        bool more = rest->len == 0 || fn(arg, rest->data, rest->len);
        buf_clear(rest);
        if (!more)
            return false;
    }
    return true;
}
