/*
 * JSON from outside, parsed strictly and within limits, and field access with paths in errors.
 *
 * A tree is a json-c object. json_parse() and other functions that take an arena leave the
 * reference with the arena: the caller borrows the tree and never calls json_object_put() on it. To
 * keep a tree longer, take a reference with json_object_get().
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* JSON_MAX_BYTES is for the Kubernetes API. For other servers, pass a limit that fits the
 * expected answers. */
enum {
    JSON_MAX_DEPTH = 64,
    JSON_MAX_BYTES = 16 * 1024 * 1024,
    JSON_TREE_SHARE = 32, /* bytes of tree per byte of text; ordinary text takes 16 to 24 */
    JSON_LEAST_TREE = 64 * 1024,
};

/*
 * Parses RFC 8259 and nothing more: one value, no trailing bytes, comments, single quotes or NaN,
 * valid UTF-8, no duplicate keys, no NUL in a key, at most JSON_MAX_DEPTH deep and max bytes long.
 * The tree takes at most max * JSON_TREE_SHARE bytes of memory, or JSON_LEAST_TREE if that is more:
 * a text of only "{}," takes 264 times its length. ERR_INVALID with line and column. A number with
 * a fraction or exponent, or beyond 64 bits, keeps its text when written again. *out is NULL for
 * null.
 */
enum err json_parse(struct arena *arena, const char *text, size_t len, size_t max,
                    struct json_object **out, struct errinfo *ei) MUST_USE;

/* Limits of json_parse_within(), and the size that it found. */
struct json_bounds {
    size_t max_text, max_tree; /* bytes of text, and of memory for the tree */
    bool outline;              /* see below */
    size_t tree;               /* size of the parsed tree; if > max_tree, it was too large */
    /*
     * If set, each element of the outermost object's list "items" is passed to item() as it is
     * read, and is not in the tree: max_tree is then the limit for each element. The element is
     * borrowed; `whole` is false for the outline of an element above the limit. Returning false
     * ends the parsing with ERR_CANCELLED. The rest may still be invalid JSON.
     */
    bool (*item)(void *arg, struct json_object *item, bool whole);
    void *arg;
};

/*
 * Like json_parse() with the caller's limits. With outline, lists and objects are skipped without
 * being checked, except those under the keys items, object and metadata. An outline suffices to
 * name an object that is too large to be read.
 */
enum err json_parse_within(struct arena *arena, const char *text, size_t len,
                           struct json_bounds *bounds, struct json_object **out,
                           struct errinfo *ei) MUST_USE;

/* Compact text, owned by the arena. Slashes are not escaped. Keys are in the tree's order. */
const char *json_text(struct arena *arena, struct json_object *obj);
/* The same with object keys sorted bytewise: equal trees give equal text. */
const char *json_text_sorted(struct arena *arena, struct json_object *obj);
/* The value as shown in a sentence: its text, cut after max bytes and followed by "...", or
 * "null", "an object", "an array". */
const char *json_describe(struct arena *arena, struct json_object *value, size_t max);

/* Appends text as a JSON string with its quotes: control characters escaped, bad UTF-8 replaced by
 * U+FFFD. */
void json_quote(struct buf *out, const char *text, size_t len);

/* Moves the caller's reference to the arena; returns obj, for `json_own(arena,
 * json_object_new_object())`. */
struct json_object *json_own(struct arena *arena, struct json_object *obj);
/* A deep copy, owned by the caller; NULL returns NULL. */
struct json_object *json_dup(struct json_object *obj);
/* A deep copy, owned by the arena; NULL returns NULL. */
struct json_object *json_copy(struct arena *arena, struct json_object *obj);
/* Deep equality; numbers are compared by value, object keys in any order. */
bool json_same(struct json_object *a, struct json_object *b);

/* Walks object keys: json_at(obj, "spec", "targetRef", NULL). NULL if a key is missing or null,
 * or its parent is not an object; obj may be NULL. Borrowed from obj. */
struct json_object *json_at(struct json_object *obj, ...) __attribute__((sentinel));
const char *json_str_at(struct json_object *obj, ...)
    __attribute__((sentinel)); /* NULL unless a string without NUL */
int64_t json_int_at(struct json_object *obj, int64_t missing, ...) __attribute__((sentinel));
bool json_bool_at(struct json_object *obj, bool missing, ...) __attribute__((sentinel));
/* Returns true for an integer that fits, even if written with a zero fraction (1.0). obj may be
 * NULL. */
bool json_to_int(struct json_object *obj, int64_t *out);
/* Number of elements; 0 for NULL and for other types. */
size_t json_len(struct json_object *array);
struct json_object *json_elem(struct json_object *array, size_t index); /* NULL past the end */
/* The first element whose member `key` equals `text`, such as the condition of a given type.
 * NULL if there is none. *index: its position; index may be NULL. */
struct json_object *json_find(struct json_object *array, const char *key, const char *text,
                              size_t *index);

/* Setters. json_set() takes its own reference. A NULL value sets JSON null. Nothing is set if
 * obj is NULL or not an object. */
void json_set(struct json_object *obj, const char *key, struct json_object *value);
void json_set_str(struct json_object *obj, const char *key,
                  const char *value); /* NULL if nothing is set */
void json_set_int(struct json_object *obj, const char *key, int64_t value);
void json_set_bool(struct json_object *obj, const char *key, bool value);
void json_del(struct json_object *obj, const char *key);
size_t json_count(struct json_object *obj); /* number of fields; 0 for NULL and for other types */
/* The object under the key, created if missing or not an object. Borrowed. NULL if obj is not an
 * object. */
struct json_object *json_sub(struct json_object *obj, const char *key);

/* RFC 7386: applies patch to a copy of target (either may be NULL), owned by the arena. */
struct json_object *json_merge(struct arena *arena, struct json_object *target,
                               struct json_object *patch);
/* The RFC 7386 patch that turns `from` into `to`; NULL if they are equal. A null inside `to` cannot
 * be expressed. */
struct json_object *json_merge_diff(struct arena *arena, struct json_object *from,
                                    struct json_object *to);

/*
 * Strict field reading. A reader collects the first error, with the field's full path, and makes
 * all later reads no-ops, so that a decoder is a straight list of reads with one check at the end.
 *
 *     struct json_reader r = {.arena = arena};
 *     struct json_object *spec = json_read_obj(&r, root, "spec", JSON_REQUIRED);
 *     const char *name = json_read_str(&r, spec, "name", JSON_REQUIRED);
 *     if (r.err != ERR_OK) ...  r.info.text is "spec.name: expected a string, found 3"
 *
 * The path of an object is known because the reader handed it out; array elements are fetched with
 * json_read_elem().
 */
enum json_need { JSON_OPTIONAL, JSON_REQUIRED };

struct json_reader {
    struct arena *arena;
    enum err err;
    struct errinfo info;
    struct json_path *paths; /* private */
};

struct json_object *json_read_obj(struct json_reader *r, struct json_object *obj, const char *key,
                                  enum json_need need);
struct json_object *json_read_array(struct json_reader *r, struct json_object *obj, const char *key,
                                    enum json_need need);
struct json_object *json_read_elem(struct json_reader *r, struct json_object *array, size_t index);
/* NULL if missing. Borrowed from the tree. */
const char *json_read_str(struct json_reader *r, struct json_object *obj, const char *key,
                          enum json_need need);
int64_t json_read_int(struct json_reader *r, struct json_object *obj, const char *key, int64_t min,
                      int64_t max, int64_t missing);
double json_read_num(struct json_reader *r, struct json_object *obj, const char *key,
                     double missing);
bool json_read_bool(struct json_reader *r, struct json_object *obj, const char *key, bool missing);
/* Go duration text ("1m30s") in milliseconds; returns `missing` if absent. */
int64_t json_read_duration(struct json_reader *r, struct json_object *obj, const char *key,
                           int64_t missing);
/* Records the caller's own error about obj.key (key may be NULL): "path: text". Only the first
 * is kept. */
void json_reader_fail(struct json_reader *r, struct json_object *obj, const char *key,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The path of obj.key as in errors, e.g. "spec.analysis.metrics[0].name"; key may be NULL. */
const char *json_reader_path(struct json_reader *r, struct json_object *obj, const char *key);

#endif
