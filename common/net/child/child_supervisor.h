/*
 * The process between us and a command, and what is said over its socket.
 *
 * We say: an order (net/child/child_order.h), then SUPERVISOR_LOOK (processes were made; are there
 * too many?). Ending our side of the socket, or dying, means: end everything. It says: HERE (value: its process id), then
 * exactly one of CHDIR_FAILED, EXEC_FAILED, FORK_FAILED, LIMITS_FAILED (value: errno) or STARTED
 * (value: process id of the command), after which follow at most one OVER_LIMIT (value: enum
 * child_limit), at most one EXITED (the command has ended, what it left behind has the grace
 * period), at most one LEFT (value: how many processes could not be killed) or STAYS (the process
 * does not end with the socket, but takes another command) and one ENDED (value: the status of
 * waitpid).
 */
#ifndef NET_CHILD_SUPERVISOR_H
#define NET_CHILD_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "net/child/child.h"

enum supervisor_kind {
    SUPERVISOR_LOOK = 1,
    SUPERVISOR_HERE,
    SUPERVISOR_FORK_FAILED,
    SUPERVISOR_CHDIR_FAILED,
    SUPERVISOR_EXEC_FAILED,
    SUPERVISOR_STARTED,
    SUPERVISOR_LIMITS_FAILED,
    SUPERVISOR_OVER_LIMIT,
    SUPERVISOR_EXITED,
    SUPERVISOR_LEFT,
    SUPERVISOR_STAYS,
    SUPERVISOR_ENDED,
};

struct supervisor_msg {
    int32_t kind;
    int32_t value;
};

/* In a process that is to be a supervisor, before there is something to do: the descriptor of its
 * signals, -1 on failure. */
int child_supervisor_ready(void);
/* What makes a supervisor one of those that are ready. Closing both makes room for a new one. */
struct supervisor_place {
    int lifeline, socket;
};
/*
 * Runs the command of the order that comes over the socket, with these as its stdout and stderr.
 * The place is given up, once the command runs, for one that lasts or when others wait: the next
 * supervisor is made then, and not while this command waits for the processor. Returns true when
 * the place was kept, the command has ended by itself and nothing of it is left; else ends the
 * process.
 */
bool child_supervise(int signal_fd, int socket, int out, int err,
                     const struct supervisor_place *place);

#endif
