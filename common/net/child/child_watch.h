/*
 * What the descendants of a supervisor use together, for the limits that the kernel does not
 * enforce.
 *
 * A look at them costs some ten system calls for each process, so it is taken only when it matters.
 * The kernel numbers processes and threads one after the other: while fewer were made on the whole
 * machine than a command has left, it cannot have too many. Where the kernel does not tell that
 * number (a virtual /proc), every look is a full one.
 */
#ifndef NET_CHILD_WATCH_H
#define NET_CHILD_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/child/child.h"

enum child_limit { CHILD_LIMIT_NONE, CHILD_LIMIT_MEMORY, CHILD_LIMIT_PROCESSES };
enum { CHILD_WATCH_FILES = 16 };

struct child_watch {
    int64_t memory, processes; /* at the last full look; memory also at quick ones */
    int64_t number;            /* before the last full look */
    bool numbered;             /* the kernel tells numbers */
    bool looked;
    int files[CHILD_WATCH_FILES]; /* of processes, to read their memory again */
    int n_files;                  /* CHILD_WATCH_FILES + 1: there were too many */
};

/* Some limit is one to watch. */
bool child_watch_needed(const struct child_limits *limits);
/* The number that the kernel gave last to a process or thread in our view; -1: it is not told. */
int64_t child_watch_number(void);
/* Full looks need /proc/PID/task/TID/children, which a kernel may not have (CONFIG_PROC_CHILDREN).
 */
bool child_watch_possible(void);

/* Before the command is started, and after it was; the end closes what it has opened. */
void child_watch_begin(struct child_watch *watch);
void child_watch_started(struct child_watch *watch, pid_t command);
void child_watch_end(struct child_watch *watch);
/* What the descendants of `ancestor` use now is more than they may. */
enum child_limit child_watch_look(struct child_watch *watch, const struct child_limits *limits,
                                  pid_t ancestor);

#endif
