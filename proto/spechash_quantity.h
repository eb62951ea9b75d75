/* resource.Quantity as a Go program holds it in memory, for the dump of spechash.c. */
#ifndef PROTO_SPECHASH_QUANTITY_H
#define PROTO_SPECHASH_QUANTITY_H

#include "base/buf.h"
#include "base/err.h"

/* Appends "{i:(resource.int64Amount){...} d:... s:... Format:...}"; text NULL is the zero value.
 * ERR_INVALID as from quantity_parse(). */
enum err spechash_quantity(struct buf *out, const char *text, struct errinfo *ei) MUST_USE;

#endif
