/* Checks an object against the schema of its CRD, with sentences for people. */
#ifndef LINT_SCHEMA_H
#define LINT_SCHEMA_H

#include "base/json.h"
#include "ctl/lint/document.h"

/*
 * Tells each mistake. `object` is a copy of the document's, and is changed into one that the schema
 * accepts, as far as that is possible, so that the rules can be asked about the rest of it; the
 * places that were changed are added to document->changed.
 */
void schema_check(struct document *document, struct json_object *schema,
                  struct json_object *object);

/* The same of a part of an object, by its part of the schema. */
void schema_check_part(struct document *document, struct json_object *schema,
                       struct json_object *object);

/* That of the document's kind, which is one of ours. */
struct json_object *schema_of(struct document *document);

/* The schemas of our own kinds, as the CRDs say them (proto/crd). */

/* The openAPIV3Schema of "Canary", owned by the arena. NULL: not a kind of ours. */
struct json_object *crd_schema(struct arena *arena, const char *kind);
/* The kinds, NULL-ended. */
extern const char *const crd_kinds[];

/* The schema of a member of what `node` describes; NULL if unknown. */
struct json_object *crd_member(struct json_object *node, const char *key);
/* Whatever stands below it is not looked at. */
bool crd_is_open(struct json_object *node);
/* The whole text matches the schema's pattern, or it has none. */
bool crd_pattern_fits(struct json_object *node, const char *text);
/* The pattern in words: "a duration such as 30s or 1m30s". */
const char *crd_pattern_words(struct arena *arena, struct json_object *node);
/*
 * The smallest value that the schema takes, owned by the arena; there are some, which `variant`
 * counts from 0. NULL if there are no more.
 */
struct json_object *crd_sample(struct arena *arena, struct json_object *node, int variant);

#endif
