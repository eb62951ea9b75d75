#include "api/restask.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/utf8.h"

/* ---- Accept ---- */

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t", text[len - 1]))
        text[--len] = '\0';
    return text;
}

static bool set_as(struct restaccept *accept, const char *as, const char *group,
                   const char *version)
{
    if (!as)
        return true;
    bool meta = !group || strcmp(group, "meta.k8s.io") == 0;
    bool known = !version || strcmp(version, "v1") == 0 || strcmp(version, "v1beta1") == 0;
    accept->version = version ? version : "v1";
    if (strcmp(as, "Table") == 0) {
        accept->as = REST_AS_TABLE;
        return meta && known;
    }
    if (strcmp(as, "PartialObjectMetadata") == 0 || strcmp(as, "PartialObjectMetadataList") == 0) {
        accept->as = REST_AS_PARTIAL;
        return meta && known;
    }
    return false;
}

/* One media range with its parameters; q is ignored, as the order says the same for every client
 * there is. */
static bool read_range(struct restaccept *accept, char *range)
{
    char *type = trim(strsep(&range, ";"));
    *accept = (struct restaccept){.acceptable = true};
    if (strcasecmp(type, "application/json") != 0 && strcmp(type, "*/*") != 0 &&
        strcasecmp(type, "application/*") != 0)
        return false;
    const char *as = NULL, *group = NULL, *version = NULL;
    while (range) {
        const char *item = trim(strsep(&range, ";"));
        if (strncmp(item, "as=", 3) == 0)
            as = item + 3;
        else if (strncmp(item, "g=", 2) == 0)
            group = item + 2;
        else if (strncmp(item, "v=", 2) == 0)
            version = item + 2;
    }
    return set_as(accept, as, group, version);
}

struct restaccept restaccept_parse(struct arena *arena, const char *header)
{
    if (!header || !*header)
        return (struct restaccept){.acceptable = true};
    char *rest = arena_strdup(arena, header);
    while (rest) {
        struct restaccept accept;
        if (read_range(&accept, strsep(&rest, ",")))
            return accept;
    }
    return (struct restaccept){.acceptable = false};
}

/* ---- paths ---- */

enum { PARTS_MAX = 12 };

static const char *decode(struct arena *arena, const char *text, size_t len)
{
    int out_len;
    char *plain = curl_easy_unescape(NULL, text, (int)len, &out_len);
    const char *out = plain ? arena_strndup(arena, plain, (size_t)out_len) : "";
    curl_free(plain);
    return out;
}

static size_t split(struct arena *arena, const char *path, const char *parts[PARTS_MAX])
{
    size_t count = 0;
    while (*path) {
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        if (len == 0)
            break;
        if (count < PARTS_MAX)
            parts[count] = decode(arena, path, len);
        count++;
        path += len;
    }
    return count;
}

/* /namespaces/x/status is a subresource of the namespace; any other third part is a resource in it.
 */
static bool is_namespace_sub(const char *part)
{
    return strcmp(part, "status") == 0 || strcmp(part, "finalize") == 0;
}

static void read_resource(struct restpath *path, const char *const parts[], size_t count)
{
    size_t at = 0;
    if (count >= 3 && strcmp(parts[0], "namespaces") == 0 && !is_namespace_sub(parts[2])) {
        path->ns = parts[1];
        at = 2;
    }
    path->resource = true;
    path->plural = parts[at++];
    path->name = at < count ? parts[at++] : NULL;
    path->sub = at < count ? parts[at++] : NULL;
    path->excess = at < count;
}

struct restpath restpath_parse(struct arena *arena, const char *full)
{
    struct restpath path = {.full = full};
    const char *parts[PARTS_MAX] = {NULL};
    size_t count = split(arena, full, parts);
    size_t at = 0;
    if (count > PARTS_MAX) {
        path.excess = true;
        return path;
    }
    if (count > 0 && strcmp(parts[0], "api") == 0) {
        at = 1;
        path.group = count > 1 ? "" : NULL;
    } else if (count > 0 && strcmp(parts[0], "apis") == 0) {
        at = 1;
        path.group = count > 1 ? parts[at++] : NULL;
    } else {
        return path;
    }
    path.version = at < count ? parts[at++] : NULL;
    if (at < count)
        read_resource(&path, parts + at, count - at);
    return path;
}

/* ---- protobuf ---- */

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* What a message may hold here. Of anything else a client may only say nothing: Go writes every
 * plain field, also an empty one. */
struct known {
    uint64_t number;
    const char *name;           /* in JSON */
    const struct known *inside; /* of a message */
    bool skip;                  /* the server decides it */
    bool texts, data;           /* a map to texts; to bytes, which are base64 in JSON */
};

static const struct known type_meta[] = {
    {.number = 1, .name = "apiVersion"}, {.number = 2, .name = "kind"}, {0}};
static const struct known object_meta[] = {{.number = 1, .name = "name"},
                                           {.number = 3, .name = "namespace"},
                                           {.number = 11, .name = "labels", .texts = true},
                                           {.number = 12, .name = "annotations", .texts = true},
                                           {0}};
#define METADATA                                                                                   \
    {                                                                                              \
        .number = 1, .name = "metadata", .inside = object_meta                                     \
    }

#define SKIP(number_, name_)                                                                       \
    {                                                                                              \
        .number = (number_), .name = (name_), .skip = true                                         \
    }

static const struct {
    const char *kind;
    struct known fields[4];
} kinds[] = {
    {"Namespace", {METADATA, SKIP(2, "spec"), SKIP(3, "status")}},
    {"ServiceAccount", {METADATA}},
    {"ConfigMap", {METADATA, {.number = 2, .name = "data", .texts = true}}},
    {"Secret",
     {METADATA, {.number = 2, .name = "data", .data = true}, {.number = 3, .name = "type"}}},
};

struct reader {
    struct arena *arena;
    const unsigned char *at, *end;
    struct errinfo *ei;
};

struct field {
    uint64_t number, value;     /* the value of a varint */
    const unsigned char *bytes; /* NULL: a varint */
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
    if ((key & 7) == WIRE_VARINT && read_varint(r, &out->value))
        return ERR_OK;
    if ((key & 7) == WIRE_BYTES && read_varint(r, &len) && len <= (uint64_t)(r->end - r->at)) {
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

static enum err read_text(struct reader *r, const struct field *field, const char **out)
{
    *out = field->bytes ? arena_strndup(r->arena, (const char *)field->bytes, field->len) : "";
    if (utf8_valid(*out, strlen(*out)))
        return ERR_OK;
    return err_set(r->ei, ERR_INVALID, "a string in the protobuf body is no UTF-8");
}

/* A map is a list of {1: key, 2: value}. */
static enum err read_entry(struct reader r, bool data, struct json_object *map)
{
    struct field field, key = {0}, value = {0};
    const char *name, *text;
    while (r.at < r.end) {
        enum err err = read_field(&r, &field);
        if (err != ERR_OK)
            return err;
        key = field.number == 1 ? field : key;
        value = field.number == 2 ? field : value;
    }
    enum err err = read_text(&r, &key, &name);
    if (err == ERR_OK && data)
        text = base64_encode(r.arena, value.bytes, value.len);
    else if (err == ERR_OK)
        err = read_text(&r, &value, &text);
    if (err == ERR_OK)
        json_set_str(map, name, text);
    return err;
}

/* Recursion follows the tables above. */
static enum err read_message(struct reader r, const char *type, const struct known *fields,
                             struct json_object *out)
{
    while (r.at < r.end) {
        struct field field;
        const struct known *known = fields;
        const char *text;
        enum err err = read_field(&r, &field);
        if (err != ERR_OK)
            return err;
        while (known->name && known->number != field.number)
            known++;
        if (!known->name && (field.value || field.len))
            return err_set(r.ei, ERR_INVALID,
                           "field %llu of %s is not known in protobuf here: send JSON",
                           (unsigned long long)field.number, type);
        if (!known->name || known->skip)
            continue;
        if (!field.bytes)
            return err_set(r.ei, ERR_INVALID, "the protobuf field %s has another type",
                           known->name);
        if (known->inside)
            err = read_message(inside(&r, &field), known->name, known->inside,
                               json_sub(out, known->name));
        else if (known->texts || known->data)
            err = read_entry(inside(&r, &field), known->data, json_sub(out, known->name));
        else if ((err = read_text(&r, &field, &text)) == ERR_OK && *text)
            json_set_str(out, known->name, text);
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
    struct field raw = {.bytes = r.at};
    *out = json_own(arena, json_object_new_object());
    while (r.at < r.end) {
        struct field field;
        enum err err = read_field(&r, &field);
        if (err == ERR_OK && field.number == 1 && field.bytes)
            err = read_message(inside(&r, &field), "TypeMeta", type_meta, *out);
        if (err != ERR_OK)
            return err;
        raw = field.number == 2 && field.bytes ? field : raw;
    }
    const char *kind = json_str_at(*out, "kind", NULL);
    for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return read_message(inside(&r, &raw), kind, kinds[i].fields, *out);
    return err_set(ei, ERR_INVALID, "%s is not known in protobuf here: send JSON",
                   kind ? kind : "an object without a kind");
}
