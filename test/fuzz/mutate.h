/*
 * Random changes of whole files: documents, fields, elements and lines are taken away, doubled,
 * exchanged and replaced. Everything lives in the arena; the same random state makes the same
 * change.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stdint.h>

#include "base/json.h"

struct mutate_random {
    uint64_t state;
};
/* A number from 0 to n - 1; n is above 0. */
unsigned mutate_below(struct mutate_random *random, unsigned n);

struct mutant {
    const char *text;    /* the file, NUL-terminated */
    const char *changes; /* "[1].spec.port: 0; [2] taken away" */
};

/*
 * One to three changes of a file: of its lines, or of the documents in it (docs, an array, which is
 * not changed). others: documents of all files, from which values are taken.
 */
struct mutant mutate(struct arena *arena, struct mutate_random *random, const char *text,
                     struct json_object *docs, struct json_object *others);

#endif
