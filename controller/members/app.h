/*
 * An Application: finds the clusters that it means, has a place for each policy on each of them
 * (place.h), keeps the inventory of what was made where, and its status. An Application without any
 * rollout is never touched, and one that Kurator looks after is left to it.
 *
 * The inventory and the finalizer are written together, before anything is made on a cluster; several
 * clusters that come at the same time share a write. At most one write of the inventory and one of the
 * status are under way; what changes meanwhile is in the next one.
 */
#ifndef MEMBERS_APP_H
#define MEMBERS_APP_H

#include "members/place.h"

/* The finalizer of Kurator's own controller. */
#define APP_KURATOR "apps.kurator.dev"

struct app;
struct app *app_new(struct hub *hub, const char *namespace_, const char *name);
void app_free(struct app *app);
/* Looks at it anew. False: it is gone, and is to be freed. */
bool app_settle(struct app *app) MUST_USE;

const char *app_namespace(const struct app *app);
const char *app_name(const struct app *app);
const char *app_label(const struct app *app); /* "namespace/name" */
/* The status of a Canary of it is another one. */
void app_changed(struct app *app);

/* For the plans of its releases: each place in turn, NULL first. */
struct place *app_next_place(const struct app *app, const struct place *place);

/* For those who look into the process. */
struct app_look {
    const char *trouble; /* why nothing is done, or not all; NULL: all is */
    size_t places;
    bool writes;
};
void app_look(const struct app *app, struct app_look *out);

#endif
