/* Suggests the nearest known word for a misspelled one. */
#ifndef BASE_GUESS_H
#define BASE_GUESS_H

#include <stdbool.h>
#include <stddef.h>

/* Edit distance: insertions, deletions, changes, and swaps of neighbours. Ignores case and the
 * difference between '_' and '-'. A word of more than 64 bytes is far from every other word. */
int guess_distance(const char *a, const char *b);

struct guess {
    const char *word; /* as written */
    const char *best; /* NULL if none is near */
    int distance;
};
/* Considers a known word: keeps the nearest one, and the first of equally near ones. */
void guess_consider(struct guess *guess, const char *known);

#endif
