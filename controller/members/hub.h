/*
 * What the parts of the daemon ask of the whole (members.c): which clusters there are, and whose turn
 * it is. Nothing here calls back at once: all work is done from one timer, a few milliseconds at a
 * time.
 */
#ifndef MEMBERS_HUB_H
#define MEMBERS_HUB_H

#include "members/desk.h"
#include "members/member.h"

struct app;
struct place;

struct hub {
    struct members_context context;
    struct desk *desk;
};

/* The cluster with this kubeconfig; it stays until hub_let_go(). */
struct member *hub_member(struct hub *hub, const char *namespace_, const char *access);
void hub_let_go(struct hub *hub, struct member *member);

/* It is called as soon as there is time: app_settle(), place_run(). The place's member must be set. */
void hub_wake_app(struct hub *hub, struct app *app);
void hub_wake_place(struct hub *hub, struct place *place);
/* It waits no longer, or its run has ended. */
void hub_drop_place(struct hub *hub, struct place *place);

#endif
