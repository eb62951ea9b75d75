/*
 * The children whose supervisors are alive. They must not be taken for orphans, and each is told to
 * count its processes when there may be too many. Embedded in struct child.
 */
#ifndef NET_CHILD_LIVE_H
#define NET_CHILD_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/loop.h"

struct child_live {
    struct child_live *next, *prev;
    pid_t supervisor; /* 0: it has not said it yet, or has ended */
    int64_t patience; /* so many processes may be made before it looks; 0: it never needs */
    int64_t number;   /* child_watch_number() when it looked last */
    void (*look)(void *child); /* tells it to count */
    void *child;
};

void child_live_add(struct loop *loop, struct child_live *live);
void child_live_remove(struct child_live *live); /* at most once, after child_live_add() */
/* A supervisor was waited for: its number may be somebody else's from now on. */
void child_live_ended(pid_t supervisor);
/* Kills every descendant of ours but supervisors and what they have; returns how many were alive.
 */
int child_live_kill_orphans(void);

#endif
