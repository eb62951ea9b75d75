/* The end of what a container wrote. Offsets count from its first byte, also when the beginning is
 * gone. */
#ifndef CLUSTER_PODLOG_H
#define CLUSTER_PODLOG_H

#include "base/buf.h"

enum { PODLOG_KEEP = 256 * 1024 };

struct podlog {
    struct buf text;
    size_t dropped;
};

void podlog_init(struct podlog *log);
void podlog_fini(struct podlog *log);
void podlog_add(struct podlog *log, const char *data, size_t len);
/* Appends what there is from offset on, as far as it fits. */
void podlog_read(const struct podlog *log, size_t offset, struct buf *out);
/* to becomes what from was; from becomes empty. */
void podlog_move(struct podlog *to, struct podlog *from);

#endif
