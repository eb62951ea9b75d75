/*
 * One request to a cluster, whose owner may go away before it is answered. A write asks for the
 * lease at the very moment it is sent, and counts as under way until it is answered even when nobody
 * waits for it any more.
 */
#ifndef MEMBERS_ASK_H
#define MEMBERS_ASK_H

#include "members/context.h"

struct ask;
/* done as of kube_send(), but not after ask_free(). ERR_CANCELLED: this process does not lead, or the
 * client was freed. */
struct ask *ask_start(struct members_context *context, struct kube_client *kube,
                      const struct kube_request *request, kube_done_fn done, void *arg);
void ask_free(struct ask *ask); /* NULL is allowed */
/* The context goes: nobody is told of those that are still under way. */
void ask_end_all(struct members_context *context);

#endif
