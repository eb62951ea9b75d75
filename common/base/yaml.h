/*
 * YAML from outside as JSON trees, the way Kubernetes reads it (YAML 1.1 scalars as
 * sigs.k8s.io/yaml resolves them: plain true/false/null/numbers are typed, everything quoted is a
 * string; string keys; anchors and aliases allowed with a bound on the expanded size; merge keys
 * `<<` allowed).
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

/*
 * Parses every document of text into a JSON array owned by the arena; empty documents are left out.
 * Errors name `name` (a file name or URL) with line and column: "canary.yaml:12:3: duplicate key
 * \"spec\"".
 */
enum err yaml_parse(struct arena *arena, const char *name, const char *text, size_t len, size_t max,
                    struct json_object **out_docs, struct errinfo *ei) MUST_USE;
/* Reads a whole file of at most max bytes first. ERR_NOT_FOUND, ERR_DENIED or ERR_INVALID. */
enum err yaml_parse_file(struct arena *arena, const char *path, size_t max,
                         struct json_object **out_docs, struct errinfo *ei) MUST_USE;

#endif
