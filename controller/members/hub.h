/*
 * What the parts of the daemon ask of the whole (members.c): which clusters there are, and whose turn
 * it is. Nothing here calls back at once: all work is done from one timer, a few milliseconds at a
 * time.
 */
#ifndef MEMBERS_HUB_H
#define MEMBERS_HUB_H

#include "members/desk.h"
#include "members/member.h"

struct hub;
struct place;
struct wave;

/* Private: how members.c does what the functions below say. */
struct hub_ways {
    struct member *(*member)(struct hub *hub, const char *namespace_, const char *access);
    void (*let_go)(struct hub *hub, struct member *member);
    void (*wake_app)(struct hub *hub, const char *namespace_, const char *name);
    void (*wake_place)(struct hub *hub, struct place *place);
    void (*drop_place)(struct hub *hub, struct place *place);
    void (*wake_wave)(struct hub *hub, struct wave *wave);
    struct member *(*next_member)(struct hub *hub, size_t *index);
};

struct hub {
    struct members_context context;
    struct desk *desk;
    const struct hub_ways *ways;
};

/* The cluster with this kubeconfig; it stays until hub_let_go(). */
static inline struct member *hub_member(struct hub *hub, const char *namespace_, const char *access)
{
    return hub->ways->member(hub, namespace_, access);
}
static inline void hub_let_go(struct hub *hub, struct member *member)
{
    hub->ways->let_go(hub, member);
}

/* app_settle() of this Application is called as soon as there is time. */
static inline void hub_wake_app(struct hub *hub, const char *namespace_, const char *name)
{
    hub->ways->wake_app(hub, namespace_, name);
}
/* place_run() of one that has a member. */
static inline void hub_wake_place(struct hub *hub, struct place *place)
{
    hub->ways->wake_place(hub, place);
}
/* It waits no longer, or its run has ended; before it has another state. */
static inline void hub_drop_place(struct hub *hub, struct place *place)
{
    hub->ways->drop_place(hub, place);
}

/* wave_settle() is called as soon as there is time. */
static inline void hub_wake_wave(struct hub *hub, struct wave *wave)
{
    hub->ways->wake_wave(hub, wave);
}
/* Each member that anybody uses, in no order; index begins with 0. NULL: that was the last. */
static inline struct member *hub_next_member(struct hub *hub, size_t *index)
{
    return hub->ways->next_member(hub, index);
}

#endif
