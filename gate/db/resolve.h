/*
 * The host names of a libpq connection string, resolved on the loop: libpq itself would block on
 * the name service. libpq still gets every name, for the verification of certificates, and tries
 * the addresses in order.
 */
#ifndef GATE_RESOLVE_H
#define GATE_RESOLVE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/loop.h"

struct resolve;

/* Replacements for those of the connection string; comma-separated lists of the same length. All
 * NULL if nothing needs to be replaced (one socket or address, a service file). */
struct resolved {
    const char *host, *hostaddr, *port;
};

/* Called exactly once, never before resolve_start() has returned, not after resolve_free().
 * `resolved` is valid during the call. ERR_RETRY if no name could be resolved. */
typedef void (*resolve_fn)(void *arg, enum err err, const struct errinfo *info,
                           const struct resolved *resolved);

/*
 * The dsn must have passed resolve_check(). first: index of the first address to try, counted over
 * all hosts, modulo their number; libpq stays with an address that does not answer.
 */
struct resolve *resolve_start(struct loop *loop, const char *dsn, int first, resolve_fn fn,
                              void *arg);
void resolve_free(struct resolve *resolve); /* NULL is allowed */

/* ERR_INVALID if libpq cannot parse the connection string, which the message does not show. */
enum err resolve_check(const char *dsn, struct errinfo *ei) MUST_USE;

#endif
