/*
 * Sends a letter on one of the loop's worker threads: curl waits for some answers of a mail server
 * without returning, and would hold up the loop.
 */
#ifndef NET_CLIENT_POST_H
#define NET_CLIENT_POST_H

#include "net/client_request.h"

struct client_post;
/* Nobody else may touch the handle until done, which comes from the loop, once. */
struct client_post *client_post_start(struct loop *loop, CURL *easy,
                                      void (*done)(void *arg, CURLcode code), void *arg);
/* done will not come. The transfer ends within a second; what it works with is the post's now. */
void client_post_abandon(struct client_post *post, const struct client_lists *lists,
                         struct arena *arena);

#endif
