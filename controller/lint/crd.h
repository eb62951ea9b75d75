/* The schemas of our own kinds, as the CRDs say them (proto/crd). */
#ifndef LINT_CRD_H
#define LINT_CRD_H

#include "base/json.h"

/* The openAPIV3Schema of "Canary", owned by the arena. NULL: not a kind of ours. */
struct json_object *crd_schema(struct arena *arena, const char *kind);
/* The kinds, NULL-ended. */
extern const char *const crd_kinds[];

/* The schema of a member of what `node` describes; NULL: it is not known. */
struct json_object *crd_member(struct json_object *node, const char *key);
/* Whatever stands below it is not looked at. */
bool crd_is_open(struct json_object *node);
/* The whole text matches the schema's pattern, or it has none. */
bool crd_pattern_fits(struct json_object *node, const char *text);
/* What such a text is, for people: "a duration such as 30s or 1m30s". */
const char *crd_pattern_words(struct arena *arena, struct json_object *node);
/*
 * The smallest value that the schema takes, owned by the arena; there are some, which `variant`
 * counts from 0. NULL: there are no more.
 */
struct json_object *crd_sample(struct arena *arena, struct json_object *node, int variant);

#endif
