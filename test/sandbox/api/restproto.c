#include "api/restproto.h"

#include <stdbool.h>
#include <string.h>

#include "api/restproto_types.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"

enum { DEPTH_MAX = 32, WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct reader {
    struct arena *arena;
    const unsigned char *at, *end;
    struct errinfo *ei;
};

struct field {
    uint64_t number;
    unsigned wire;
    uint64_t value;             /* of a varint */
    const unsigned char *bytes; /* of bytes */
    size_t len;
};

static bool read_varint(struct reader *r, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        unsigned char byte = *r->at++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static enum err read_field(struct reader *r, struct field *out)
{
    uint64_t key, len;
    *out = (struct field){0};
    if (!read_varint(r, &key))
        return err_set(r->ei, ERR_INVALID, "the protobuf body ends within a field");
    out->number = key >> 3;
    out->wire = (unsigned)(key & 7);
    if (out->wire == WIRE_VARINT && read_varint(r, &out->value))
        return ERR_OK;
    if (out->wire == WIRE_BYTES && read_varint(r, &len) && len <= (uint64_t)(r->end - r->at)) {
        out->bytes = r->at;
        out->len = (size_t)len;
        r->at += len;
        return ERR_OK;
    }
    return err_set(r->ei, ERR_INVALID, "the protobuf body is damaged at field %llu",
                   (unsigned long long)out->number);
}

static struct reader inside(const struct reader *r, const struct field *field)
{
    return (struct reader){
        .arena = r->arena, .at = field->bytes, .end = field->bytes + field->len, .ei = r->ei};
}

static enum err read_message(struct reader r, const struct proto_message *type, int depth,
                             struct json_object *out);

static enum err read_text(struct reader *r, const struct field *field, struct json_object **out)
{
    if (!utf8_valid((const char *)field->bytes, field->len))
        return err_set(r->ei, ERR_INVALID, "a string in the protobuf body is no UTF-8");
    *out = json_object_new_string_len((const char *)field->bytes, (int)field->len);
    return ERR_OK;
}

/* Time {1: seconds, 2: nanos} */
static enum err read_time(struct reader r, struct json_object **out)
{
    struct field field;
    int64_t seconds = 0;
    while (r.at < r.end) {
        enum err err = read_field(&r, &field);
        if (err != ERR_OK)
            return err;
        seconds = field.number == 1 ? (int64_t)field.value : seconds;
    }
    char text[CLOCK_TEXT];
    bool zero = seconds <= 0 || seconds > 253402300799; /* Go's zero time, or past the year 9999 */
    *out = zero ? NULL : json_object_new_string(clock_rfc3339(seconds * 1000, text));
    return ERR_OK;
}

/* IntOrString {1: type, 2: intVal, 3: strVal} */
static enum err read_int_or_string(struct reader r, struct json_object **out)
{
    struct field field;
    bool text = false;
    int64_t number = 0;
    struct field string = {.bytes = r.at};
    while (r.at < r.end) {
        enum err err = read_field(&r, &field);
        if (err != ERR_OK)
            return err;
        text = field.number == 1 ? field.value == 1 : text;
        number = field.number == 2 ? (int64_t)field.value : number;
        string = field.number == 3 ? field : string;
    }
    if (text)
        return read_text(&r, &string, out);
    *out = json_object_new_int64(number);
    return ERR_OK;
}

/* Quantity {1: text} */
static enum err read_quantity(struct reader r, struct json_object **out)
{
    struct field field = {0};
    while (r.at < r.end) {
        enum err err = read_field(&r, &field);
        if (err != ERR_OK)
            return err;
    }
    return read_text(&r, &field, out);
}

static enum err read_value(struct reader *r, const struct proto_field *type,
                           const struct field *field, int depth, struct json_object **out)
{
    bool varint = type->type == PROTO_INT || type->type == PROTO_BOOL;
    if (varint != (field->wire == WIRE_VARINT))
        return err_set(r->ei, ERR_INVALID, "the protobuf field %s has another type", type->name);
    switch (type->type) {
    case PROTO_INT:
        *out = json_object_new_int64((int64_t)field->value);
        return ERR_OK;
    case PROTO_BOOL:
        *out = json_object_new_boolean(field->value != 0);
        return ERR_OK;
    case PROTO_STRING:
        return read_text(r, field, out);
    case PROTO_BYTES:
        *out = json_object_new_string(base64_encode(r->arena, field->bytes, field->len));
        return ERR_OK;
    case PROTO_TIME:
        return read_time(inside(r, field), out);
    case PROTO_INT_OR_STRING:
        return read_int_or_string(inside(r, field), out);
    case PROTO_QUANTITY:
        return read_quantity(inside(r, field), out);
    case PROTO_MESSAGE:
        *out = json_object_new_object();
        return read_message(inside(r, field), type->message, depth + 1, *out);
    case PROTO_SKIP:
        break;
    }
    return ERR_OK;
}

/* A map is a list of {1: key, 2: value}. */
static enum err read_entry(struct reader r, const struct proto_field *type, int depth,
                           struct json_object *map)
{
    struct field field, key = {.bytes = r.at};
    struct json_object *value = NULL;
    enum err err = ERR_OK;
    while (err == ERR_OK && r.at < r.end) {
        err = read_field(&r, &field);
        if (err == ERR_OK && field.number == 1) {
            key = field;
        } else if (err == ERR_OK && field.number == 2) {
            json_object_put(value);
            value = NULL;
            err = read_value(&r, type, &field, depth, &value);
        }
    }
    struct json_object *name = NULL;
    if (err == ERR_OK)
        err = read_text(&r, &key, &name);
    if (err == ERR_OK) {
        json_set(map, json_object_get_string(name), value ? value : name);
        if (!value)
            json_set_str(map, json_object_get_string(name), "");
    }
    json_object_put(name);
    json_object_put(value);
    return err;
}

/* Go writes every plain field, also an empty one; only a pointer tells absent from zero. */
static bool is_empty(const struct proto_field *type, struct json_object *value)
{
    if (!value)
        return true;
    if (type->pointer)
        return false;
    switch (json_object_get_type(value)) {
    case json_type_string:
        return json_object_get_string_len(value) == 0;
    case json_type_int:
        return json_object_get_int64(value) == 0;
    case json_type_boolean:
        return !json_object_get_boolean(value);
    case json_type_object:
        return json_object_object_length(value) == 0;
    default:
        return false;
    }
}

static enum err add_field(struct reader *r, const struct proto_field *type,
                          const struct field *field, int depth, struct json_object *out)
{
    if (type->type == PROTO_SKIP)
        return ERR_OK;
    if (type->shape == PROTO_MAP) {
        return field->wire == WIRE_BYTES
                   ? read_entry(inside(r, field), type, depth, json_sub(out, type->name))
                   : err_set(r->ei, ERR_INVALID, "the protobuf field %s is no map", type->name);
    }
    struct json_object *value = NULL;
    enum err err = read_value(r, type, field, depth, &value);
    if (err != ERR_OK) {
        json_object_put(value);
        return err;
    }
    if (type->shape == PROTO_LIST) {
        struct json_object *list = json_at(out, type->name, NULL);
        if (!list) {
            list = json_object_new_array();
            json_object_object_add(out, type->name, list);
        }
        json_object_array_add(list, value);
        return ERR_OK;
    }
    if (!is_empty(type, value))
        json_set(out, type->name, value);
    json_object_put(value);
    return ERR_OK;
}

static enum err read_message(struct reader r, const struct proto_message *type, int depth,
                             struct json_object *out)
{
    if (depth > DEPTH_MAX)
        return err_set(r.ei, ERR_INVALID, "the protobuf body is deeper than %d", DEPTH_MAX);
    while (r.at < r.end) {
        struct field field;
        enum err err = read_field(&r, &field);
        if (err != ERR_OK)
            return err;
        const struct proto_field *known = type->fields;
        while (known->name && known->number != field.number)
            known++;
        if (!known->name) {
            return err_set(r.ei, ERR_INVALID,
                           "field %llu of %s is not known in protobuf here: send JSON",
                           (unsigned long long)field.number, type->name);
        }
        err = add_field(&r, known, &field, depth, out);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

enum err restproto_read(struct arena *arena, const void *data, size_t len, struct json_object **out,
                        struct errinfo *ei)
{
    static const unsigned char magic[] = {'k', '8', 's', 0};
    if (len < sizeof(magic) || memcmp(data, magic, sizeof(magic)) != 0)
        return err_set(ei, ERR_INVALID, "the protobuf body does not begin with its magic number");
    struct reader r = {.arena = arena, .ei = ei};
    r.at = (const unsigned char *)data + sizeof(magic);
    r.end = (const unsigned char *)data + len;
    struct json_object *head = json_own(arena, json_object_new_object());
    struct field raw = {.bytes = r.at};
    while (r.at < r.end) {
        struct field field;
        enum err err = read_field(&r, &field);
        if (err == ERR_OK && field.number == 1 && field.wire == WIRE_BYTES)
            err = read_message(inside(&r, &field), &proto_type_meta, 0, head);
        if (err != ERR_OK)
            return err;
        raw = field.number == 2 && field.wire == WIRE_BYTES ? field : raw;
    }
    const char *kind = json_str_at(head, "kind", NULL);
    const struct proto_message *type = kind ? proto_message_of(kind) : NULL;
    if (!type) {
        return err_set(ei, ERR_INVALID, "%s is not known in protobuf here: send JSON",
                       kind ? kind : "an object without a kind");
    }
    *out = head;
    return read_message(inside(&r, &raw), type, 0, head);
}
