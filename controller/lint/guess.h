/* What somebody meant who wrote a word that is not known. */
#ifndef LINT_GUESS_H
#define LINT_GUESS_H

#include <stdbool.h>
#include <stddef.h>

/* The edits that make one word of the other: a character put in, left out, changed, or two
 * exchanged. Case does not count. More than 64 bytes are far from everything. */
int guess_distance(const char *a, const char *b);

struct guess {
    const char *word; /* that was written */
    const char *best; /* NULL: nothing is near */
    int distance;
};
/* Looks at one that is known: the nearest stays, the first of equals. */
void guess_consider(struct guess *guess, const char *known);

#endif
