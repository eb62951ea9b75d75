/*
 * Texts for logs and lists without what looks like a credential: what follows Authorization,
 * Cookie and the like, Bearer and Basic, flags and settings whose names speak of a token, password,
 * secret or key, and the user of a URL.
 */
#ifndef LOADTESTER_MASK_H
#define LOADTESTER_MASK_H

#include "base/arena.h"

#define MASK "***"

/* The text itself when there is nothing to mask, else a copy in the arena. */
const char *mask_credentials(struct arena *arena, const char *text);

#endif
