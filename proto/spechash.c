/*
 * The grammar of the dump, as Flagger's printer writes it:
 *
 *   a value      strings raw, numbers decimal, true/false; {F:v F:v} for structs, [v v] for slices,
 *                map[k:v k:v] with sorted keys for maps; <nil> for nil pointers, slices and maps
 *   a field      the name, ":", the type in parentheses, the value
 *   a pointer    the value that it points to; the type before it is the pointer's
 *   an element   just the value
 *
 * A value that is missing or null in the tree is the type's zero value.
 */
#include "proto/spechash.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/quantity.h"

/* --- quantities */

static const char *const format_names[] = {
    [QUANTITY_DECIMAL_SI] = "DecimalSI",
    [QUANTITY_BINARY_SI] = "BinarySI",
    [QUANTITY_DECIMAL_EXPONENT] = "DecimalExponent",
};

static void put(struct buf *out, int64_t value, int scale, const char *decimal, const char *text,
                const char *format)
{
    buf_printf(out,
               "{i:(resource.int64Amount){value:(int64)%" PRId64 " scale:(resource.Scale)%d} "
               "d:(resource.infDecAmount){Dec:(*inf.Dec)%s} s:(string)%s "
               "Format:(resource.Format)%s}",
               value, scale, decimal, text, format);
}

/* The decimal: its amount in 64-bit words, lowest first, and the negated scale. */
static void put_decimal(struct buf *out, const struct quantity *q)
{
    unsigned __int128 amount =
        q->wide < 0 ? -(unsigned __int128)q->wide : (unsigned __int128)q->wide;
    uint64_t low = (uint64_t)amount, high = (uint64_t)(amount >> 64);
    char words[64] = "<nil>";
    if (high > 0)
        snprintf(words, sizeof words, "[%" PRIu64 " %" PRIu64 "]", low, high);
    else if (low > 0)
        snprintf(words, sizeof words, "[%" PRIu64 "]", low);
    char decimal[160];
    snprintf(decimal, sizeof decimal,
             "{unscaled:(big.Int){neg:(bool)%s abs:(big.nat)%s} scale:(inf.Scale)%d}",
             q->wide < 0 ? "true" : "false", words, -q->scale);
    put(out, 0, 0, decimal, "", format_names[q->format]);
}

enum err spechash_quantity(struct buf *out, const char *text, struct errinfo *ei)
{
    struct quantity q;
    if (text == NULL) {
        put(out, 0, 0, "<nil>", "", "");
        return ERR_OK;
    }
    enum err err = quantity_parse(text, &q, ei);
    if (err != ERR_OK)
        return err;
    if (q.decimal)
        put_decimal(out, &q);
    else
        put(out, q.value, q.scale, "<nil>", q.source, format_names[q.format]);
    return ERR_OK;
}

/* --- the dump */

/* Limit, far above the dump of a PodTemplateSpec of 1 MiB, which is the limit of etcd. */
enum { MAX_DUMP = 64 * 1024 * 1024, PIECE = 1024 };

struct field {
    const char *owner;
    const char *name;
    const char *type;
    const char *key;
    const char *head; /* text that the dump has before the value */
};

static const struct field fields[] = {
#define SPECHASH_FIELD(owner, name, type, key) {owner, name, type, key, name ":(" type ")"},
#include "proto/spechash_types.def"
#undef SPECHASH_FIELD
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

/* Position in the tree, for error messages. */
struct place {
    const struct place *parent;
    const char *key; /* NULL: the element `index` */
    size_t index;
};

struct dumper {
    struct arena *arena;
    struct buf out; /* text that is not hashed yet */
    bool sums;      /* the text itself is not needed */
    uint32_t sum;   /* FNV-1a-32 of the text removed from `out` */
    size_t summed;  /* number of bytes hashed */
    enum err err;
    struct errinfo *ei;
};

static void dump_value(struct dumper *d, const char *type, struct json_object *obj,
                       const struct place *place);

static const char *place_text(struct arena *arena, const struct place *place)
{
    if (place == NULL)
        return "";
    const char *parent = place_text(arena, place->parent);
    if (place->key == NULL)
        return arena_printf(arena, "%s[%zu]", parent, place->index);
    return arena_printf(arena, "%s%s%s", parent, parent[0] != '\0' ? "." : "", place->key);
}

static void fail(struct dumper *d, const struct place *place, const char *expected,
                 struct json_object *found)
{
    if (d->err == ERR_OK)
        d->err = err_set(d->ei, ERR_INVALID, "%s: expected %s, found %.80s",
                         place_text(d->arena, place), expected, json_text(d->arena, found));
}

static const uint32_t fnv_start = 2166136261U;

static uint32_t fnv_add(uint32_t sum, const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        sum = (sum ^ (unsigned char)text->data[i]) * 16777619U;
    return sum;
}

static bool is_too_large(const struct dumper *d)
{
    return d->out.truncated || d->summed + d->out.len > MAX_DUMP;
}

/* A template is hashed in every tick: its text is hashed in pieces instead of being kept. */
static void sum_up(struct dumper *d)
{
    d->sum = fnv_add(d->sum, &d->out);
    d->summed += d->out.len;
    if (!d->out.truncated)
        buf_clear(&d->out);
}

/* Index of the first field of a struct, N_FIELDS if there is no such struct. */
static size_t first_field(const char *owner)
{
    size_t low = 0, high = N_FIELDS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(fields[middle].owner, owner) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < N_FIELDS && strcmp(fields[low].owner, owner) == 0 ? low : N_FIELDS;
}

static void dump_struct(struct dumper *d, size_t first, struct json_object *obj,
                        const struct place *place)
{
    const char *owner = fields[first].owner;
    if (obj != NULL && !json_object_is_type(obj, json_type_object)) {
        fail(d, place, "an object", obj);
        return;
    }
    buf_puts(&d->out, "{");
    for (size_t i = first; i < N_FIELDS && strcmp(fields[i].owner, owner) == 0; i++) {
        const struct field *f = &fields[i];
        bool embedded = f->key[0] == '\0';
        struct place at = {.parent = place, .key = f->key};
        if (i > first)
            buf_puts(&d->out, " ");
        buf_puts(&d->out, f->head);
        dump_value(d, f->type, embedded ? obj : json_at(obj, f->key, NULL), embedded ? place : &at);
        if (d->sums && d->out.len > PIECE)
            sum_up(d);
    }
    buf_puts(&d->out, "}");
}

static void dump_slice(struct dumper *d, const char *element, struct json_object *obj,
                       const struct place *place)
{
    if (obj == NULL) {
        buf_puts(&d->out, "<nil>");
        return;
    }
    if (!json_object_is_type(obj, json_type_array)) {
        fail(d, place, "an array", obj);
        return;
    }
    buf_puts(&d->out, "[");
    for (size_t i = 0; i < json_len(obj); i++) {
        struct place at = {.parent = place, .index = i};
        if (i > 0)
            buf_puts(&d->out, " ");
        dump_value(d, element, json_elem(obj, i), &at);
    }
    buf_puts(&d->out, "]");
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void dump_map(struct dumper *d, const char *element, struct json_object *obj,
                     const struct place *place)
{
    if (obj == NULL) {
        buf_puts(&d->out, "<nil>");
        return;
    }
    if (!json_object_is_type(obj, json_type_object)) {
        fail(d, place, "an object", obj);
        return;
    }
    size_t n = (size_t)json_object_object_length(obj), i = 0;
    const char **keys = arena_array(d->arena, n, sizeof *keys);
    json_object_object_foreach(obj, key, ignored)
    {
        (void)ignored;
        keys[i++] = key;
    }
    qsort(keys, n, sizeof *keys, compare_keys);
    buf_puts(&d->out, "map[");
    for (i = 0; i < n; i++) {
        struct place at = {.parent = place, .key = keys[i]};
        buf_puts(&d->out, i > 0 ? " " : "");
        buf_puts(&d->out, keys[i]);
        buf_puts(&d->out, ":");
        dump_value(d, element, json_at(obj, keys[i], NULL), &at);
    }
    buf_puts(&d->out, "]");
}

static void dump_integer(struct dumper *d, const char *expected, int64_t min, int64_t max,
                         struct json_object *obj, const struct place *place)
{
    int64_t value = 0;
    if (obj != NULL && (!json_to_int(obj, &value) || value < min || value > max))
        fail(d, place, expected, obj);
    buf_printf(&d->out, "%" PRId64, value);
}

static void dump_int32(struct dumper *d, struct json_object *obj, const struct place *place)
{
    dump_integer(d, "a whole number of 32 bits", INT32_MIN, INT32_MAX, obj, place);
}

static void dump_int64(struct dumper *d, struct json_object *obj, const struct place *place)
{
    dump_integer(d, "a whole number", INT64_MIN, INT64_MAX, obj, place);
}

static void dump_bool(struct dumper *d, struct json_object *obj, const struct place *place)
{
    if (obj != NULL && !json_object_is_type(obj, json_type_boolean))
        fail(d, place, "true or false", obj);
    buf_puts(&d->out, json_object_get_boolean(obj) ? "true" : "false");
}

static void dump_string(struct dumper *d, struct json_object *obj, const struct place *place)
{
    if (obj == NULL)
        return;
    if (json_object_is_type(obj, json_type_string))
        buf_add(&d->out, json_object_get_string(obj), (size_t)json_object_get_string_len(obj));
    else
        fail(d, place, "a string", obj);
}

static void dump_int_or_string(struct dumper *d, struct json_object *obj, const struct place *place)
{
    bool text = json_object_is_type(obj, json_type_string);
    buf_printf(&d->out, "{Type:(intstr.Type)%d IntVal:(int32)", text ? 1 : 0);
    dump_int32(d, text ? NULL : obj, place);
    buf_puts(&d->out, " StrVal:(string)");
    dump_string(d, text ? obj : NULL, place);
    buf_puts(&d->out, "}");
}

static void dump_quantity(struct dumper *d, struct json_object *obj, const struct place *place)
{
    bool number =
        json_object_is_type(obj, json_type_int) || json_object_is_type(obj, json_type_double);
    struct errinfo ei;
    if (obj != NULL && !number && !json_object_is_type(obj, json_type_string))
        fail(d, place, "a quantity such as \"500m\" or \"1.5Gi\"", obj);
    else if (spechash_quantity(&d->out,
                               obj == NULL ? NULL
                               : number    ? json_text(d->arena, obj)
                                           : json_object_get_string(obj),
                               &ei) != ERR_OK &&
             d->err == ERR_OK)
        d->err = err_set(d->ei, ERR_INVALID, "%s: %s", place_text(d->arena, place), ei.text);
}

/* A time is printed in the local zone of the process, which is UTC in Flagger's image. */
static void dump_time(struct dumper *d, struct json_object *obj, const struct place *place)
{
    const int64_t seconds_before_1970 = INT64_C(62135596800);
    int64_t ms = 0;
    if (obj == NULL) {
        buf_puts(&d->out,
                 "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}");
        return;
    }
    if (!json_object_is_type(obj, json_type_string) ||
        clock_parse(json_object_get_string(obj), &ms, NULL) != ERR_OK)
        fail(d, place, "a time such as 2026-01-02T03:04:05Z", obj);
    int64_t part = ((ms % 1000) + 1000) % 1000;
    buf_printf(&d->out,
               "{Time:(time.Time){wall:(uint64)%" PRId64 " ext:(int64)%" PRId64
               " loc:(*time.Location){name:(string)UTC zone:([]time.zone)<nil> "
               "tx:([]time.zoneTrans)<nil> extend:(string) cacheStart:(int64)0 cacheEnd:(int64)0 "
               "cacheZone:(*time.zone)<nil>}}}",
               part * 1000000, (ms - part) / 1000 + seconds_before_1970);
}

/* FieldsV1 keeps the JSON text byte by byte. */
static void dump_raw(struct dumper *d, struct json_object *obj)
{
    buf_puts(&d->out, "{Raw:([]uint8)");
    if (obj == NULL) {
        buf_puts(&d->out, "<nil>}");
        return;
    }
    const char *text = json_text(d->arena, obj);
    for (const char *p = text; *p != '\0'; p++)
        buf_printf(&d->out, "%s%u", p == text ? "[" : " ", (unsigned)(unsigned char)*p);
    buf_puts(&d->out, "]}");
}

static void dump_value(struct dumper *d, const char *type, struct json_object *obj,
                       const struct place *place)
{
    size_t first;

    /* Frequent types first: nil pointers, and strings. */
    if (d->err != ERR_OK)
        return;
    if (type[0] == '*' && obj == NULL)
        buf_puts(&d->out, "<nil>");
    else if (type[0] == '*')
        dump_value(d, type + 1, obj, place);
    else if (strcmp(type, "string") == 0)
        dump_string(d, obj, place);
    else if (strncmp(type, "[]", 2) == 0)
        dump_slice(d, type + 2, obj, place);
    else if ((first = first_field(type)) < N_FIELDS)
        dump_struct(d, first, obj, place);
    else if (strcmp(type, "map[string]string") == 0)
        dump_map(d, "string", obj, place);
    else if (strcmp(type, "v1.ResourceList") == 0)
        dump_map(d, "resource.Quantity", obj, place);
    else if (strcmp(type, "int32") == 0)
        dump_int32(d, obj, place);
    else if (strcmp(type, "int64") == 0)
        dump_int64(d, obj, place);
    else if (strcmp(type, "bool") == 0)
        dump_bool(d, obj, place);
    else if (strcmp(type, "intstr.IntOrString") == 0)
        dump_int_or_string(d, obj, place);
    else if (strcmp(type, "resource.Quantity") == 0)
        dump_quantity(d, obj, place);
    else if (strcmp(type, "v1.Time") == 0)
        dump_time(d, obj, place);
    else if (strcmp(type, "v1.FieldsV1") == 0)
        dump_raw(d, obj);
    else
        dump_string(d, obj, place);
}

/* The FNV-1a-32 sum in decimal, with digits replaced by characters that are safe in Kubernetes
 * names. */
static void encode(uint32_t sum, char hash[SPECHASH_TEXT])
{
    snprintf(hash, SPECHASH_TEXT, "%" PRIu32, sum);
    for (char *p = hash; *p != '\0'; p++)
        *p = "456789bcdf"[*p - '0'];
}

/* The caller frees d->out, even after an error. */
static enum err dump(struct dumper *d, const char *type, struct json_object *obj)
{
    buf_init(&d->out, MAX_DUMP);
    buf_printf(&d->out, "(%s)", type);
    dump_value(d, type, obj, NULL);
    if (d->err == ERR_OK && is_too_large(d))
        d->err = err_set(d->ei, ERR_INVALID, "%s: too large to be hashed", type);
    return d->err;
}

static enum err hash_of(struct arena *arena, const char *type, struct json_object *obj,
                        char hash[SPECHASH_TEXT], struct errinfo *ei)
{
    struct dumper d = {.arena = arena, .sums = true, .sum = fnv_start, .ei = ei};

    hash[0] = '\0';
    if (dump(&d, type, obj) == ERR_OK)
        encode(fnv_add(d.sum, &d.out), hash);
    buf_fini(&d.out);
    return d.err;
}

enum err spechash_pod_template(struct arena *arena, struct json_object *pod_template,
                               char hash[SPECHASH_TEXT], struct errinfo *ei)
{
    return hash_of(arena, "v1.PodTemplateSpec", pod_template, hash, ei);
}

enum err spechash_service(struct arena *arena, struct json_object *spec, char hash[SPECHASH_TEXT],
                          struct errinfo *ei)
{
    return hash_of(arena, "v1.ServiceSpec", spec, hash, ei);
}

void spechash_string(const char *text, char hash[SPECHASH_TEXT])
{
    struct buf out;
    buf_init(&out, MAX_DUMP);
    buf_printf(&out, "(string)%s", text);
    encode(fnv_add(fnv_start, &out), hash);
    buf_fini(&out);
}

void spechash_checksum(struct arena *arena, struct json_object *tracked_configs,
                       const char *last_applied_spec, char hash[SPECHASH_TEXT])
{
    struct dumper d = {.arena = arena};
    buf_init(&d.out, MAX_DUMP);
    buf_puts(&d.out, "(struct { TrackedConfigs *map[string]string; LastAppliedSpec string }){");
    buf_puts(&d.out, "TrackedConfigs:(*map[string]string)");
    dump_value(&d, "*map[string]string", tracked_configs, NULL);
    buf_printf(&d.out, " LastAppliedSpec:(string)%s}", last_applied_spec);
    encode(fnv_add(fnv_start, &d.out), hash);
    buf_fini(&d.out);
}

enum err spechash_dump(struct arena *arena, const char *type, struct json_object *obj,
                       const char **out, struct errinfo *ei)
{
    struct dumper d = {.arena = arena, .ei = ei};

    if (dump(&d, type, obj) == ERR_OK)
        *out = arena_strndup(arena, d.out.data, d.out.len);
    buf_fini(&d.out);
    return d.err;
}

/* --- configs */

enum { MAX_TEXT = 64 * 1024 * 1024 };

/* A string as Go's encoding/json writes it: <, >, & and JavaScript's two line separators are
 * escaped as well. */
static void put_string(struct buf *out, const char *text, size_t len)
{
    static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    buf_puts(out, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *escape = NULL;
        for (const char *p = short_escapes; *p != '\0'; p += 2) {
            if ((unsigned char)*p == c)
                escape = p + 1;
        }
        if (escape != NULL) {
            buf_printf(out, "\\%c", *escape);
        } else if (c < 0x20 || c == '<' || c == '>' || c == '&') {
            buf_printf(out, "\\u%04x", c);
        } else if (c == 0xe2 && len - i >= 3 && (unsigned char)text[i + 1] == 0x80 &&
                   ((unsigned char)text[i + 2] & 0xfe) == 0xa8) {
            buf_printf(out, "\\u20%02x", (unsigned char)text[i + 2] & 0x7f);
            i += 2;
        } else {
            buf_add(out, &text[i], 1);
        }
    }
    buf_puts(out, "\"");
}

static void put_map(struct arena *arena, struct buf *out, struct json_object *data)
{
    size_t n = json_count(data), i = 0;
    const char **keys = arena_array(arena, n, sizeof *keys);
    json_object_object_foreach(data, key, ignored)
    {
        (void)ignored;
        keys[i++] = key;
    }
    qsort(keys, n, sizeof *keys, compare_keys);
    buf_puts(out, "{");
    for (i = 0; i < n; i++) {
        struct json_object *value = json_at(data, keys[i], NULL);
        buf_puts(out, i > 0 ? "," : "");
        put_string(out, keys[i], strlen(keys[i]));
        buf_puts(out, ":");
        if (json_object_is_type(value, json_type_string))
            put_string(out, json_object_get_string(value),
                       (size_t)json_object_get_string_len(value));
        else
            buf_puts(out, "\"\"");
    }
    buf_puts(out, "}");
}

void confighash(struct arena *arena, struct json_object *data, char hash[CONFIG_HASH_TEXT])
{
    struct buf out;
    buf_init(&out, MAX_TEXT);
    if (json_count(data) == 0)
        buf_puts(&out, data == NULL ? "null" : "{}");
    else
        put_map(arena, &out, data);

    char hex[SHA256_TEXT];
    (void)sha256_hex(out.data, out.len, hex);
    buf_fini(&out);
    memcpy(hash, hex, CONFIG_HASH_TEXT - 1);
    hash[CONFIG_HASH_TEXT - 1] = '\0';
}
