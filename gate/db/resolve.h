/*
 * The host names of a libpq connection string, resolved on the loop: libpq itself would block on
 * the name service. Nothing is decided here but addresses: libpq still gets every name, for the
 * verification of certificates, and tries the addresses in order.
 */
#ifndef GATE_RESOLVE_H
#define GATE_RESOLVE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/loop.h"

struct resolve;

/* What stands in for the connection string's own; comma-separated lists of the same length. All
 * NULL: nothing to replace (one socket or address, a service file). */
struct resolved {
    const char *host, *hostaddr, *port;
};

/* Exactly once, never before resolve_start() has returned, not after resolve_free().
 * `resolved` is valid only inside. ERR_RETRY: no name could be resolved. */
typedef void (*resolve_fn)(void *arg, enum err err, const struct errinfo *info,
                           const struct resolved *resolved);

/*
 * The dsn must have passed resolve_check(). first: the address to begin with, counted over all of
 * them and round again; libpq does not leave one that is silent by itself.
 */
struct resolve *resolve_start(struct loop *loop, const char *dsn, int first, resolve_fn fn,
                              void *arg);
void resolve_free(struct resolve *resolve); /* NULL is allowed */

/* ERR_INVALID when libpq cannot read the connection string; the sentence shows nothing of it. */
enum err resolve_check(const char *dsn, struct errinfo *ei) MUST_USE;

#endif
