/* Commands to a proxy over its Unix socket: connect, write, read to the end. */
#ifndef CLUSTER_CTL_H
#define CLUSTER_CTL_H

#include <stddef.h>

#include "base/err.h"
#include "net/loop.h"

struct ctl;
/* reply is NUL-terminated, at most 64 KiB; info is set unless err is ERR_OK. */
typedef void (*ctl_done_fn)(void *arg, enum err err, const char *reply, const struct errinfo *info);

/* done is called exactly once, never before ctl_send() has returned; ERR_RETRY when the other side
 * is not there. */
struct ctl *ctl_send(struct loop *loop, const char *path, const char *command, int64_t timeout_ms,
                     ctl_done_fn done, void *arg);
/* done is not called any more. NULL is allowed. */
void ctl_forget(struct ctl *ctl);

#endif
