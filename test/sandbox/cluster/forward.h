/*
 * One port of a Service: listens on its address while there is somebody to serve, and joins each
 * connection to one of the targets, round robin. A target that refuses is passed over for the next.
 * Connections live on when their target is taken off the list, until either side ends them.
 */
#ifndef CLUSTER_FORWARD_H
#define CLUSTER_FORWARD_H

#include <stddef.h>

#include "base/err.h"
#include "net/loop.h"

struct forward;

struct forward_target {
    char address[16]; /* IPv4 */
    int port;
};

/* Does not listen yet. */
struct forward *forward_new(struct loop *loop, const char *address, int port);
/* Stops listening and resets what is open. NULL is allowed. */
void forward_free(struct forward *forward);
/*
 * The targets from now on (copied). None: connections are refused. ERR_DENIED or ERR_CONFLICT when
 * the port cannot be listened on; the next call tries again.
 */
enum err forward_set(struct forward *forward, const struct forward_target *targets, size_t count,
                     struct errinfo *ei) MUST_USE;
/* The port listened on, 0 while it is not; for tests with port 0. */
int forward_port(const struct forward *forward);

#endif
