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

struct app *app_new(struct hub *hub, const char *namespace_, const char *name);
void app_free(struct app *app);
/* Looks at it anew. False: it is gone, and is to be freed. */
bool app_settle(struct app *app) MUST_USE;
/* A place has something else to tell. */
void app_changed(struct app *app);
/* The place has set `records`: place_recorded() follows when it is written. */
void app_record(struct app *app);

struct hub *app_hub(const struct app *app);
const char *app_namespace(const struct app *app);
const char *app_name(const struct app *app);
const char *app_label(const struct app *app); /* "namespace/name" */
uint64_t app_hash(const struct app *app);     /* name_hash() of both */

/* As it was last read; counted, so that a run keeps what it has begun with. */
struct app_view {
    int uses;
    struct arena *arena;
    struct application app;
};
/* NULL: it cannot be read. */
struct app_view *app_view_take(struct app *app);
void app_view_drop(struct app_view *view); /* NULL is allowed */

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
