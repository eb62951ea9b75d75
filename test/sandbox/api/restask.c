#include "api/restask.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "base/encoding.h"
#include "base/json.h"

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
    enum err *err; /* the first thing that is wrong ends the reading */
    struct errinfo *ei;
};

struct field {
    uint64_t number, value;     /* the value of a varint */
    const unsigned char *bytes; /* NULL: a varint */
    size_t len;
};

#define FAIL(r, ...)                                                                               \
    do {                                                                                           \
        if (*(r)->err == ERR_OK)                                                                   \
            *(r)->err = err_set((r)->ei, ERR_INVALID, __VA_ARGS__);                                \
    } while (0)

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

/* False at the end, and when something is wrong. */
static bool next_field(struct reader *r, struct field *out)
{
    uint64_t key, len;
    *out = (struct field){0};
    if (*r->err != ERR_OK || r->at == r->end)
        return false;
    if (!read_varint(r, &key)) {
        FAIL(r, "the protobuf body ends within a field");
        return false;
    }
    out->number = key >> 3;
    if ((key & 7) == WIRE_VARINT && read_varint(r, &out->value))
        return true;
    if ((key & 7) == WIRE_BYTES && read_varint(r, &len) && len <= (uint64_t)(r->end - r->at)) {
        out->bytes = r->at;
        out->len = (size_t)len;
        r->at += len;
        return true;
    }
    FAIL(r, "the protobuf body is damaged at field %llu", (unsigned long long)out->number);
    return false;
}

static struct reader inside(const struct reader *r, const struct field *field)
{
    struct reader in = *r;
    in.at = field->bytes;
    in.end = field->bytes + field->len;
    return in;
}

static const char *text_of(struct reader *r, const struct field *field)
{
    const char *text =
        field->bytes ? arena_strndup(r->arena, (const char *)field->bytes, field->len) : "";
    if (!utf8_valid(text, strlen(text)))
        FAIL(r, "a string in the protobuf body is no UTF-8");
    return text;
}

/* A map is a list of {1: key, 2: value}. */
static void read_entry(struct reader r, bool data, struct json_object *map)
{
    struct field field, key = {0}, value = {0};
    while (next_field(&r, &field)) {
        key = field.number == 1 ? field : key;
        value = field.number == 2 ? field : value;
    }
    const char *name = text_of(&r, &key);
    const char *text = data ? base64_encode(r.arena, value.bytes, value.len) : text_of(&r, &value);
    if (*r.err == ERR_OK)
        json_set_str(map, name, text);
}

/* Recursion follows the tables above. */
static void read_message(struct reader r, const char *type, const struct known *fields,
                         struct json_object *out)
{
    struct field field;
    while (next_field(&r, &field)) {
        const struct known *known = fields;
        while (known->name && known->number != field.number)
            known++;
        if (!known->name && (field.value || field.len))
            FAIL(&r, "field %llu of %s is not known in protobuf here: send JSON",
                 (unsigned long long)field.number, type);
        if (!known->name || known->skip)
            continue;
        if (!field.bytes)
            FAIL(&r, "the protobuf field %s has another type", known->name);
        else if (known->inside)
            read_message(inside(&r, &field), known->name, known->inside,
                         json_sub(out, known->name));
        else if (known->texts || known->data)
            read_entry(inside(&r, &field), known->data, json_sub(out, known->name));
        else if (*text_of(&r, &field) && *r.err == ERR_OK)
            json_set_str(out, known->name, text_of(&r, &field));
    }
}

enum err restproto_read(struct arena *arena, const void *data, size_t len, struct json_object **out,
                        struct errinfo *ei)
{
    static const unsigned char magic[] = {'k', '8', 's', 0};
    enum err err = ERR_OK;
    struct reader r = {.arena = arena, .at = data, .err = &err, .ei = ei};
    struct field field, raw = {.bytes = data};
    if (len < sizeof(magic) || memcmp(data, magic, sizeof(magic)) != 0)
        return err_set(ei, ERR_INVALID, "the protobuf body does not begin with its magic number");
    r.end = r.at + len;
    r.at += sizeof(magic);
    *out = json_own(arena, json_object_new_object());
    while (next_field(&r, &field)) {
        if (field.number == 1 && field.bytes)
            read_message(inside(&r, &field), "TypeMeta", type_meta, *out);
        raw = field.number == 2 && field.bytes ? field : raw;
    }
    const char *kind = json_str_at(*out, "kind", NULL);
    size_t i = 0, count = sizeof(kinds) / sizeof(kinds[0]);
    while (kind && i < count && strcmp(kinds[i].kind, kind) != 0)
        i++;
    if (kind && i < count)
        read_message(inside(&r, &raw), kind, kinds[i].fields, *out);
    else
        FAIL(&r, "%s is not known in protobuf here: send JSON",
             kind ? kind : "an object without a kind");
    return err;
}
