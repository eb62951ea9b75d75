/* What a supervisor is to run, on its way to it: one text of at most ORDER_MAX bytes. */
#ifndef NET_CHILD_ORDER_H
#define NET_CHILD_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "net/child/child.h"

enum { ORDER_MAX = 16 * 1024 * 1024 };

struct child_order {
    int64_t grace_ms;
    const char *cwd; /* "": the supervisor's own */
    struct child_limits limits;
    char **argv, **env; /* NULL-ended */
    char *text;         /* which holds all of them */
    size_t text_len;
};

/* Owned by the arena, with its own length at its start; NULL when it would be too long. env NULL in
 * the spec is ours. */
const char *child_order_text(struct arena *arena, const struct child_spec *spec, int64_t grace_ms,
                             size_t *len);
/* Waits for an order on a blocking socket. False: the other side has gone, or it is none; then
 * nothing is freed before the process ends. */
bool child_order_receive(int fd, struct child_order *out);
/* The environment may name passwords: nothing of the order is left in memory. */
void child_order_fini(struct child_order *order);

#endif
