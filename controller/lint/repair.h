/*
 * The reader of a Canary and the rules say one mistake at a time, or what they see at once. To
 * find the others, what is wrong is replaced in a copy by something that is right, and they are
 * asked again: so no rule needs to be written for the sake of this search.
 */
#ifndef LINT_REPAIR_H
#define LINT_REPAIR_H

#include "lint/document.h"

/* What is wrong with an object, in sentences that begin with a place. */
struct verdicts {
    struct arena *arena;
    const char **sentences;
    size_t count, room;
    bool unread; /* the object could not even be read; there is one sentence then */
};
void verdicts_add(struct verdicts *verdicts, const char *sentence);

/* Asks what is wrong with an object; everything that it makes lives in the arena of `out`. */
typedef void repair_ask(void *arg, struct json_object *object, struct verdicts *out);

/* Tells all that is wrong with the object, a copy, which is changed on the way. */
void repair_tell_all(struct document *document, struct json_object *schema,
                     struct json_object *object, repair_ask *ask, void *arg);

#endif
