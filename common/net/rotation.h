/*
 * Files that are replaced while the program runs, as mounted Secrets are: what was made of them
 * follows. Their content is compared every 10 seconds, and at a SIGHUP (a Secret is a link to a
 * link, and tools that write in place keep the time stamp now and then).
 */
#ifndef NET_ROTATION_H
#define NET_ROTATION_H

#include <stdbool.h>

#include "net/loop.h"

enum { ROTATION_LOOK_MS = 10000, ROTATION_MAX_FILE = 1024 * 1024 };

struct rotation;

/* Called when the files hold something else than what was taken last, or cannot be read. True:
 * taken. False: not fit for use; it is called again at the next look, until it is. */
typedef bool (*rotation_fn)(void *arg);

/* What the files hold now counts as taken: read them afterwards, so that no change is missed. paths
 * end with `n`, are copied, and may be NULL. */
struct rotation *rotation_start(struct loop *loop, const char *const *paths, int n, rotation_fn fn,
                                void *arg);
/* No more looks, so that the loop can end. Also frees; NULL is allowed. */
void rotation_stop(struct rotation *rotation);
/* Looks now; for tests. */
void rotation_look(struct rotation *rotation);

#endif
