/* What a daemon asks of the kernel for itself at its start. */
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
 * Short turns on the processor, which come soon where many want it: for who does little at a time
 * and is waited for. False gives turns of the usual length again, as a command needs that was
 * forked off. Kernels before 6.12 know one length only, and this changes nothing.
 */
void process_short_turns(bool wanted);

#endif
