/*
 * Files that are replaced while the program runs, as mounted Secrets are: their owner is called and
 * takes the new content. The content is compared every 10 seconds and at a SIGHUP. (Time stamps are
 * not enough: a mounted Secret is a link to a link, and some tools keep the time stamp of a file
 * that they write in place.)
 */
#ifndef NET_ROTATION_H
#define NET_ROTATION_H

#include <stdbool.h>

#include "net/loop.h"

enum { ROTATION_LOOK_MS = 10000, ROTATION_MAX_FILE = 1024 * 1024 };

struct rotation;

/* Called when the content differs from what was taken last, or cannot be read. True: taken. False:
 * it cannot be used; fn is called again at each check until it can. */
typedef bool (*rotation_fn)(void *arg);

/* The content at this moment counts as taken: read the files after this call, so that no change is
 * missed. `n` paths, which are copied and may be NULL. */
struct rotation *rotation_start(struct loop *loop, const char *const *paths, int n, rotation_fn fn,
                                void *arg);
/* Stops checking, so that the loop can end, and frees; NULL is allowed. */
void rotation_stop(struct rotation *rotation);
/* Checks now; for tests. */
void rotation_look(struct rotation *rotation);

#endif
