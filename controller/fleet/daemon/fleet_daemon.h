/*
 * The daemon as its parts see it (members.c): the members, and the queues of work. Nothing here
 * calls back synchronously: all work is done from one timer, a few milliseconds at a time.
 */
#ifndef FLEET_DAEMON_H
#define FLEET_DAEMON_H

#include "fleet/daemon/management_cache.h"
#include "fleet/daemon/member.h"

struct fleet_daemon;
struct place;
struct wave;

struct fleet_daemon {
    struct members_context context;
    struct management_cache *management;
};

/* The cluster with this kubeconfig; valid until fleet_daemon_let_go(). */
struct member *fleet_daemon_member(struct fleet_daemon *fleet, const char *namespace_,
                                   const char *access);
void fleet_daemon_let_go(struct fleet_daemon *fleet, struct member *member);

/* Queues app_settle() of this Application. */
void fleet_daemon_wake_app(struct fleet_daemon *fleet, const char *namespace_, const char *name);
/* Queues place_run(); the place must have a member. */
void fleet_daemon_wake_place(struct fleet_daemon *fleet, struct place *place);
/* Removes it from the queue, or ends its run; to be called before its state changes. */
void fleet_daemon_drop_place(struct fleet_daemon *fleet, struct place *place);

/* Queues wave_settle(). */
void fleet_daemon_wake_wave(struct fleet_daemon *fleet, struct wave *wave);
/* Iterates over the members in use, in no order; index starts at 0. NULL after the last. */
struct member *fleet_daemon_next_member(struct fleet_daemon *fleet, size_t *index);

#endif
