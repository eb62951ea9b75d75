/* What a daemon asks of the kernel for itself at its start. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

/* Raises the soft limit of open files to the hard one: the soft one is small for the sake of
 * programs that use select(). Returns what now holds; children inherit it. */
long process_raise_files(void);

/* Memory that holds secrets is not for others of the same user: no core file, no debugger, no
 * /proc/PID/environ or /proc/PID/mem. A program that is started anew by exec is visible again. */
void process_hide(void);

#endif
