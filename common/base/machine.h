/*
 * State machines: the names of the states, and the transitions between them, as a table.
 *
 *     static const struct machine_state states[] = {
 *         [LEASE_NEW] = {.name = "new", .next = 1u << LEASE_FOLLOWING},
 *         ...
 *     };
 *     static const struct machine machine = {MACHINE_STATES(states), .event = "leader_election"};
 *
 * An object keeps its state in a field of its own enum and changes it in one function,
 * x_set_state(), which calls machine_step() first. A transition that is not in the table is a bug
 * and ends the process; every other one is logged.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include "base/log.h"

struct machine_state {
    const char *name;
    unsigned next; /* possible next states: bits 1 << state */
};

struct machine {
    const struct machine_state *states;
    int count;
    const char *event; /* event name of the log lines */
    enum log_level level;
};
#define MACHINE_STATES(table) .states = (table), .count = (int)(sizeof(table) / sizeof((table)[0]))

/* The name of a state, which must be one of the machine's. */
const char *machine_name(const struct machine *machine, int state);
/* Ends the process unless `to` may follow `from`. */
void machine_check(const struct machine *machine, int from, int to);

/* Checks and logs a transition. canary and msg as for log_debug(); the caller's fields come before
 * `from` and `to`. */
#define machine_step(machine_, from_, to_, canary, msg, ...)                                       \
    do {                                                                                           \
        machine_check((machine_), (int)(from_), (int)(to_));                                       \
        LOG_AT_((machine_)->level, (machine_)->event, canary, msg, ##__VA_ARGS__,                  \
                LOG_STR("from", machine_name((machine_), (int)(from_))),                           \
                LOG_STR("to", machine_name((machine_), (int)(to_))));                              \
    } while (0)

#endif
