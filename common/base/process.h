/* What a process asks of the kernel for itself. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>

/* Raises the soft limit of open files to the hard one: the soft one is small for the sake of
 * programs that use select(). Returns what now holds; children inherit it. */
long process_raise_files(void);

/* Memory that holds secrets is not for others of the same user: no core file, no debugger, no
 * /proc/PID/environ or /proc/PID/mem. A program that is started anew by exec is visible again. */
void process_hide(void);

/*
 * A thread that waits its turn (SCHED_BATCH) gets as much of the processors as any other, but does
 * not interrupt who runs when it is woken: for work that nobody waits for. False makes it as usual
 * again. What the thread starts inherits it.
 */
void process_wait_turn(bool waits);

#endif
