/* Kernel settings of the process. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>

/* Raises the soft limit of open files to the hard one: the soft limit is low for the sake of
 * programs that use select(). Returns the new limit, which children inherit. */
long process_raise_files(void);

/* Protects secrets in memory from other processes of the same user: no core file, no debugger,
 * no /proc/PID/environ or /proc/PID/mem. Does not last beyond exec. */
void process_hide(void);

/*
 * Switches a thread to SCHED_BATCH or back: it gets its share of the processors, but does not
 * preempt the running thread when it is woken. For work without a waiting client. Inherited by new
 * threads and processes.
 */
void process_set_batch(bool batch);

#endif
