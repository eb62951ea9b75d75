/* The place of a field in an object, and its text: "spec.analysis.metrics[0].name". */
#ifndef LINT_PLACE_H
#define LINT_PLACE_H

#include "base/json.h"

enum { PLACE_DEPTH = JSON_MAX_DEPTH + 2 };

struct place {
    int depth;
    struct place_step {
        const char *key; /* NULL: an index */
        size_t index;
    } steps[PLACE_DEPTH];
};

/* As the reader of JSON writes it (base/json.h); owned by the arena. */
const char *place_text(struct arena *arena, const struct place *place);
/*
 * Reads the place at the beginning of a sentence, and where the rest of it begins. False: it begins
 * with no field of an object. Keys are owned by the arena.
 */
bool place_parse(struct arena *arena, const char *sentence, struct place *out, const char **rest);
/* The place one level down; a key is borrowed, NULL: an index. Too deep a one stays what it is. */
struct place place_in(const struct place *place, const char *key, size_t index);
struct place place_above(const struct place *place);
/* What stands there; NULL: nothing, or null. */
struct json_object *place_get(const struct place *place, struct json_object *root);
/* One is the other, or above or below it. */
bool place_is_near(const struct place *a, const struct place *b);

/* A set, which has copies of its own. */
struct places_item {
    struct places_item *next;
    struct place place;
};
struct places {
    struct places_item *first;
};
void places_add(struct arena *arena, struct places *places, const struct place *place);
bool places_have(const struct places *places, const struct place *place);       /* just this one */
bool places_have_above(const struct places *places, const struct place *place); /* or one above */
bool places_have_near(const struct places *places, const struct place *place);

#endif
