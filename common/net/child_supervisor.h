/*
 * The process between us and a command, and what is said over its socket (descriptor CHILD_SOCKET).
 *
 * We say: SUPERVISOR_SIGNAL (value: signal for the command's group). Ending our side of the socket,
 * or dying, means: end everything. It says: exactly one of CHDIR_FAILED, EXEC_FAILED, FORK_FAILED,
 * LIMITS_FAILED (value: errno) or STARTED (value: process id), after which follow at most one
 * OVER_LIMIT (value: enum child_limit), at most one LEFT (value: how many processes could not be
 * killed) and one ENDED (value: the status of waitpid).
 *
 * Arguments: CHILD_SUPERVISOR GRACE_MS CWD LIMITS COMMAND [ARGUMENT...]; an empty CWD is the
 * supervisor's own, LIMITS is the text of child_limits_text().
 */
#ifndef NET_CHILD_SUPERVISOR_H
#define NET_CHILD_SUPERVISOR_H

#include <stdint.h>

#include "net/child.h"

enum { CHILD_SOCKET = 3 };
enum child_limit { CHILD_LIMIT_NONE, CHILD_LIMIT_MEMORY, CHILD_LIMIT_PROCESSES };

enum supervisor_kind {
    SUPERVISOR_SIGNAL = 1,
    SUPERVISOR_FORK_FAILED,
    SUPERVISOR_CHDIR_FAILED,
    SUPERVISOR_EXEC_FAILED,
    SUPERVISOR_STARTED,
    SUPERVISOR_LIMITS_FAILED,
    SUPERVISOR_OVER_LIMIT,
    SUPERVISOR_LEFT,
    SUPERVISOR_ENDED,
};

struct supervisor_msg {
    int32_t kind;
    int32_t value;
};

#endif
