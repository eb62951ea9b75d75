/*
 * The language of cases that are data (test/golden/README.md, "Subjects" and "Tables"): what a value is expected to be,
 * and names that stand for values. Trees and texts live in the arena, or are borrowed.
 */
#ifndef TEST_EXPECT_H
#define TEST_EXPECT_H

#include "base/json.h"

/* The first difference from the expected value, in a sentence that begins with the path; NULL: all is. Maps may have more keys
 * than are named, a null in one is for what is not there. */
const char *expect_differs(struct arena *arena, const char *path, struct json_object *got,
                           struct json_object *want);
/* "[2]" of a list, or a key of a map */
struct json_object *expect_part(struct json_object *of, const char *key);

/*
 * Each row of this group of a file of rows: `run` returns what comes of the row, of which `want` must hold; or a row
 * with `wrong` must be refused: {error: a sentence that has it}. Returns why a row does not hold; NULL: all do.
 */
const char *expect_rows(struct arena *arena, const char *path, const char *group,
                        struct json_object *(*run)(struct arena *arena, struct json_object *row));
/* The result of a row that is refused. */
struct json_object *expect_error(struct arena *arena, const char *sentence);

struct expect_names {
    struct arena *arena;
    /* The value of a name; MUST NOT return where there is none. */
    struct json_object *(*find)(void *arg, const char *name);
    /* MUST NOT return. */
    void (*refuse)(void *arg, const char *why);
    void *arg;
};

/* A copy in which names are replaced: "$name" or "$name.key" by a value of any type, "${name}" inside of a text or of a
 * key by a text. */
struct json_object *expect_named(const struct expect_names *names, struct json_object *given);

#endif
