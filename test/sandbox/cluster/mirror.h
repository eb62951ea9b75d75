/* The configuration of nginx, which copies the requests of rules with a RequestMirror filter. Pure.
 */
#ifndef CLUSTER_MIRROR_H
#define CLUSTER_MIRROR_H

#include "base/buf.h"
#include "cluster/route.h"

/*
 * directory is for sockets and temporary files. root: it runs as root, and keeps that for the
 * sockets' sake. Returns the number of rules with mirrors.
 */
size_t mirror_config(const struct route_table *table, const char *directory, bool root,
                     struct arena *arena, struct buf *out);

/*
 * `next`, and the rules of `live` that are not in it any more, since somebody may still send to
 * them. Both are of mirror_config(), or "". Returns how many of `live` were kept (0: *out is next).
 */
size_t mirror_keep(const char *live, const char *next, struct arena *arena, struct buf *out);

#endif
