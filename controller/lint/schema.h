/* What the schema of a CRD finds in an object, with sentences for people. */
#ifndef LINT_SCHEMA_H
#define LINT_SCHEMA_H

#include "lint/document.h"

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

#endif
