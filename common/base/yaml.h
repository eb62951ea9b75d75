/*
 * YAML from outside as JSON trees, as in Kubernetes (YAML 1.1 scalars as sigs.k8s.io/yaml resolves
 * them: plain true/false/null/numbers are typed, everything quoted is a string; string keys;
 * anchors and aliases within a limit of the expanded size; merge keys `<<`).
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

/* Positions of keys and elements in the text; lives in the arena of the parse. */
struct yaml_marks;
struct yaml_place {
    size_t line, column; /* from 1; columns count characters */
};

/* Parses all documents into a JSON array owned by the arena; empty documents are skipped. Errors
 * begin with `name` (a file name or URL), line and column: "canary.yaml:12:3: duplicate key
 * \"spec\"". */
enum err yaml_parse(struct arena *arena, const char *name, const char *text, size_t len, size_t max,
                    struct json_object **out_docs, struct errinfo *ei) MUST_USE;
/* The same with positions. */
enum err yaml_parse_marked(struct arena *arena, const char *name, const char *text, size_t len,
                           size_t max, struct json_object **out_docs, struct yaml_marks **out_marks,
                           struct errinfo *ei) MUST_USE;
/* Position of the key of the member `key` of a map, or with key NULL of element `index` of a list;
 * documents are elements of the list of documents. Returns false for values from an alias or a
 * merge key, which are elsewhere. */
bool yaml_mark(const struct yaml_marks *marks, struct json_object *parent, const char *key,
               size_t index, struct yaml_place *out);
/* Reads and parses a file of at most max bytes. ERR_NOT_FOUND, ERR_DENIED or ERR_INVALID. */
enum err yaml_parse_file(struct arena *arena, const char *path, size_t max,
                         struct json_object **out_docs, struct errinfo *ei) MUST_USE;

/*
 * The value of a YAML 1.1 scalar, for tests; *out is a new reference, NULL for null. tag is NULL or
 * "" if absent; then a quoted scalar is a string. Returns NULL, or a description of what was
 * expected, to follow "expected ".
 */
const char *yaml_scalar(struct arena *arena, const char *text, size_t len, const char *tag,
                        bool plain, struct json_object **out);

#endif
