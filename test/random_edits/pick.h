/* A list of edits by chance. The same seed gives the same list. */
#ifndef EDITS_PICK_H
#define EDITS_PICK_H

#include "random_edits/edit.h"

struct pick; /* of one app, or of the controller (app NULL); each is a stream of chance of its own
              */
/* without: names of edits that are never chosen, NULL-ended; NULL if none. Kept. */
struct pick *pick_new(struct arena *arena, const struct app *app, uint64_t seed,
                      const char *const *without);
/* The next edit. Its strings are the arena's. */
struct line pick_next(struct pick *pick, struct arena *arena);

#endif
