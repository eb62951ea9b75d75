/* The limits of a command: as text for its supervisor, and those that the kernel enforces. */
#ifndef NET_CHILD_LIMITS_H
#define NET_CHILD_LIMITS_H

#include <stdbool.h>

#include "net/child/child.h"

enum { CHILD_LIMITS_TEXT = 256 };

/* One argument for the supervisor; limits NULL is none. Returns text. */
char *child_limits_text(const struct child_limits *limits, char text[CHILD_LIMITS_TEXT]);
/* False when the text is not one that child_limits_text() made. */
bool child_limits_read(const char *text, struct child_limits *out);

/* Becomes the user and groups of the limits, for good; uid 0: stays. Returns 0, or -1 with errno. */
int child_limits_become(const struct child_limits *limits);

/*
 * In the forked child, last before the command is executed: sets what the kernel holds. Returns 0,
 * or -1 with errno; after that nothing may be executed.
 */
int child_limits_apply(const struct child_limits *limits);

#endif
