/* What Prometheus' client libraries tell about the process itself; a part of expo_write(). */
#ifndef BASE_EXPO_PROCESS_H
#define BASE_EXPO_PROCESS_H

#include "base/buf.h"

/* A value that /proc does not give is left out. */
void expo_process_write(struct buf *out);

#endif
