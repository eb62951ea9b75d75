/*
 * The daemon of the fleet: looks after every Application of the management cluster that has a rollout,
 * and carries out every ReleasePlan, on all their clusters. All I/O of the fleet happens in this
 * folder; what to do is decided in fleet/.
 */
#ifndef MEMBERS_MEMBERS_H
#define MEMBERS_MEMBERS_H

#include "members/hub.h"

struct members;

struct members_options {
    struct loop *loop;
    struct kube_client *kube;    /* of the management cluster */
    struct http_client *api;     /* of the members' */
    struct http_client *outside; /* of gates */
    const struct members_settings *settings;
    const char *const *namespaces; /* NULL-ended; NULL: all */
    /* Asked before every write; NULL: the only replica, always the leader. Otherwise the daemon
     * connects to no cluster before members_lead(). */
    bool (*is_leader)(void *arg);
    void *arg;
};

struct members *members_new(const struct members_options *options);
/* After members_stop() has called done. The clients are to be freed afterwards. */
void members_free(struct members *members);
void members_lead(struct members *members, bool leads);
/* All that is in the management cluster has been listed. */
bool members_ready(const struct members *members);
/* Begins no new write. done: from the loop, when those under way are answered, or after max_ms: then
 * not quiet. */
void members_stop(struct members *members, int64_t max_ms, void (*done)(void *arg, bool quiet),
                  void *arg);

/* For those who look into the process; borrowed. */
struct members_look {
    const struct hub *hub;
    size_t apps, plans, members;
    int of[MEMBER_STATES]; /* members, by their state */
    int waiting, running;  /* places */
    size_t canaries;       /* that are watched */
    bool leads, stopping;
};
void members_look(const struct members *members, struct members_look *out);
/* Each in turn, in no order; index begins with 0. NULL: that was the last. */
const struct member *members_next(const struct members *members, size_t *index);
const struct wave *members_next_plan(const struct members *members, size_t *index);
const struct app *members_next_app(const struct members *members, size_t *index);

#endif
