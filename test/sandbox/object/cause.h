/*
 * What is wrong with an object, as the API server says it: a list of causes, each with the field, a
 * sentence and a reason. The list and its strings belong to the arena it was started with.
 *
 *     struct causes causes = {.arena = arena};
 *     cause_add(&causes, CAUSE_REQUIRED, "spec.targetRef", "Required value");
 *     cause_text(&causes)  "spec.targetRef: Required value", or "[a: b, c: d]" when there are
 * several
 */
#ifndef OBJECT_CAUSE_H
#define OBJECT_CAUSE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum cause_reason {
    CAUSE_INVALID,       /* FieldValueInvalid */
    CAUSE_TYPE_INVALID,  /* FieldValueTypeInvalid */
    CAUSE_REQUIRED,      /* FieldValueRequired */
    CAUSE_NOT_SUPPORTED, /* FieldValueNotSupported */
    CAUSE_DUPLICATE,     /* FieldValueDuplicate */
    CAUSE_NOT_FOUND,     /* FieldValueNotFound */
    CAUSE_FORBIDDEN,     /* FieldValueForbidden */
    CAUSE_TOO_LONG,      /* FieldValueTooLong */
    CAUSE_TOO_MANY,      /* FieldValueTooMany */
};

/* More than this is counted, not kept. */
enum { CAUSE_MAX = 100 };

struct causes {
    struct arena *arena; /* set by the caller; all other fields start as zero */
    /* As details.causes of a Status: [{reason, message, field}], or NULL. */
    struct json_object *list;
    size_t count;
};

/* field: "spec.analysis.metrics[0].name"; "" or NULL when it is about the whole object. The message
 * is without it: "Required value", "Invalid value: 3: ..." */
void cause_add(struct causes *causes, enum cause_reason reason, const char *field, const char *fmt,
               ...) PRINTF_LIKE(4, 5);
/* "Invalid value: <value>: <text>", the value as JSON (long ones are cut). */
void cause_add_invalid(struct causes *causes, const char *field, struct json_object *value,
                       const char *fmt, ...) PRINTF_LIKE(4, 5);
/* A value as it stands in such a sentence: JSON, cut when long. Owned by the arena. */
const char *cause_value(struct arena *arena, struct json_object *value);
/* All causes in one line, as it stands after "is invalid: " in a Status message. "" when there is
 * none. */
const char *cause_text(const struct causes *causes);
/* Adds all of others, as they are. */
void cause_add_all(struct causes *causes, const struct causes *others);

#endif
