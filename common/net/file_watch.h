/*
 * Watches files that are replaced while the program runs, such as mounted Secrets: a callback reads
 * the new content. The content is compared every 10 seconds and at SIGHUP. (Time stamps do not
 * suffice: a mounted Secret is a link to a link, and some tools keep the time stamp of a file that
 * they write in place.)
 */
#ifndef NET_FILE_WATCH_H
#define NET_FILE_WATCH_H

#include <stdbool.h>

#include "net/loop.h"

enum { FILE_WATCH_MS = 10000, FILE_WATCH_MAX_FILE = 1024 * 1024 };

struct watch;

/* Called if the content differs from the one accepted last, or cannot be read. Returns true to
 * accept it; false if it cannot be used: fn is called again at each check. */
typedef bool (*file_watch_fn)(void *arg);

/* Accepts the content at this moment: read the files after this call, so that no change is missed.
 * `n` paths, which are copied and may be NULL. */
struct file_watch *file_watch_start(struct loop *loop, const char *const *paths, int n,
                                    file_watch_fn fn, void *arg);
/* Stops checking, so that the loop can end, and frees. NULL is allowed. */
void file_watch_stop(struct file_watch *watch);
/* Checks now; for tests. */
void file_watch_check(struct file_watch *watch);

#endif
