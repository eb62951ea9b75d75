/*
 * resource.Quantity as a Go program holds it in memory, for the dump of spechash.c.
 *
 * base/quantity.h knows the value of a quantity. The dump shows more than that: whether the text was canonical (it is
 * then kept), and the decimal of arbitrary size that apimachinery falls back to for 100Ti and above.
 */
#ifndef PROTO_SPECHASH_QUANTITY_H
#define PROTO_SPECHASH_QUANTITY_H

#include "base/buf.h"
#include "base/err.h"

/* Appends "{i:(resource.int64Amount){...} d:... s:... Format:...}"; text NULL is the zero value. ERR_INVALID for what
 * is no quantity, and for more digits than anybody's disk has bytes (38). */
enum err spechash_quantity(struct buf *out, const char *text, struct errinfo *ei) MUST_USE;

#endif
