/* An object written as YAML with comments above its fields. */
#ifndef CONVERT_COMMENTED_H
#define CONVERT_COMMENTED_H

#include "base/json.h"

enum { COMMENT_WIDTH = 100 };

struct commented {
    struct commented *next;
    struct json_object *object;    /* owned by the arena */
    struct comment *first, **last; /* private */
};

/* Lives in the arena. The object may be changed until it is written. */
struct commented *commented_new(struct arena *arena, struct json_object *object);
/* A comment above the field, "spec.analysis.interval"; "" or a field that is not there: above the
 * nearest one that is. Several of a field stand in their order. */
void commented_add(struct arena *arena, struct commented *commented, const char *path,
                   const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Appends the YAML; base/yaml.h reads the same object from it. */
void commented_write(struct arena *arena, const struct commented *commented, struct buf *out);

/* Appends the text as comment lines, wrapped, behind as many blanks. A line of the text that begins
 * with two blanks is not wrapped. Control characters become blanks. */
void comment_write(struct arena *arena, struct buf *out, int indent, const char *text);

#endif
