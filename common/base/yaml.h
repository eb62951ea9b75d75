/*
 * YAML from outside as JSON trees, the way Kubernetes reads it (YAML 1.1 scalars as
 * sigs.k8s.io/yaml resolves them: plain true/false/null/numbers are typed, everything quoted is a
 * string; string keys; anchors and aliases allowed with a bound on the expanded size; merge keys
 * `<<` allowed).
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

/* Where the keys and elements of documents stand in their text; lives in the arena of the parse. */
struct yaml_marks;
struct yaml_place {
    size_t line, column; /* the first is 1; columns count characters */
};

/*
 * Parses every document of text into a JSON array owned by the arena; empty documents are left out.
 * Errors name `name` (a file name or URL) with line and column: "canary.yaml:12:3: duplicate key
 * \"spec\"".
 */
enum err yaml_parse(struct arena *arena, const char *name, const char *text, size_t len, size_t max,
                    struct json_object **out_docs, struct errinfo *ei) MUST_USE;
/* ... and keeps where everything stands. */
enum err yaml_parse_marked(struct arena *arena, const char *name, const char *text, size_t len,
                           size_t max, struct json_object **out_docs, struct yaml_marks **out_marks,
                           struct errinfo *ei) MUST_USE;
/*
 * Where the member `key` of a map begins (its key), or with key NULL element `index` of a list; a
 * document is an element of the list of documents. False for what an alias or a merge key has
 * brought, which stands elsewhere.
 */
bool yaml_mark(const struct yaml_marks *marks, struct json_object *parent, const char *key,
               size_t index, struct yaml_place *out);
/* Reads a whole file of at most max bytes first. ERR_NOT_FOUND, ERR_DENIED or ERR_INVALID. */
enum err yaml_parse_file(struct arena *arena, const char *path, size_t max,
                         struct json_object **out_docs, struct errinfo *ei) MUST_USE;

#endif
