/*
 * Where log lines wait until they are written. A thread of its own writes them, so that a reader
 * that has stalled stops that thread and nothing else. (stderr may be shared with other processes
 * and so cannot be made non-blocking, and not every kernel can write to a pipe without waiting.)
 * Lines that do not fit are dropped and counted; the number is logged when the reader is back.
 */
#ifndef BASE_LOG_QUEUE_H
#define BASE_LOG_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_QUEUE_BYTES = 1024 * 1024, LOG_END_MS = 1000 };

/* Lines go to fd, by a thread from now on. */
void log_queue_start(int fd);
/* Takes one line with its end, or drops it. */
void log_queue_add(const char *line, size_t len);
/* Writes what waits, for at most LOG_END_MS, and ends. False: a reader holds it still. */
bool log_queue_stop(void);
/* Lines that were dropped since the start of the process. */
uint64_t log_queue_dropped(void);

#endif
