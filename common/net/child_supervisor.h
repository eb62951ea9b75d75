/*
 * The process between us and a command, and what is said over its socket (descriptor CHILD_SOCKET).
 *
 * We say: SUPERVISOR_SIGNAL (value: signal for the command's group). Ending our side of the socket,
 * or dying, means: end everything. It says: exactly one of CHDIR_FAILED, EXEC_FAILED, FORK_FAILED
 * (value: errno) or STARTED (value: process id), after which follow at most one LEFT (value: how
 * many processes could not be killed) and one ENDED (value: the status of waitpid).
 *
 * Arguments: CHILD_SUPERVISOR GRACE_MS CWD COMMAND [ARGUMENT...]; an empty CWD is the supervisor's
 * own.
 */
#ifndef NET_CHILD_SUPERVISOR_H
#define NET_CHILD_SUPERVISOR_H

#include <stdint.h>

enum { CHILD_SOCKET = 3 };

enum supervisor_kind {
    SUPERVISOR_SIGNAL = 1,
    SUPERVISOR_FORK_FAILED,
    SUPERVISOR_CHDIR_FAILED,
    SUPERVISOR_EXEC_FAILED,
    SUPERVISOR_STARTED,
    SUPERVISOR_LEFT,
    SUPERVISOR_ENDED,
};

struct supervisor_msg {
    int32_t kind;
    int32_t value;
};

#endif
