/* The metrics of the process itself that Prometheus' client libraries have; part of expo_write().
 */
#ifndef BASE_EXPO_PROCESS_H
#define BASE_EXPO_PROCESS_H

#include "base/buf.h"

/* A value that /proc does not give is left out. */
void expo_process_write(struct buf *out);

#endif
