/*
 * An Application: selects its clusters, has a place for each policy on each of them (place.h), and
 * keeps its inventory and its status. An Application without any rollout is never touched, and one
 * managed by Kurator is left to it.
 *
 * The inventory and the finalizer are written together, before anything is made on a cluster;
 * clusters added at the same time share a write. At most one write of the inventory and one of the
 * status are under way; later changes are in the next one.
 */
#ifndef MEMBERS_APP_H
#define MEMBERS_APP_H

#include "fleet/daemon/place.h"

/* The finalizer of Kurator's own controller. */
#define APP_KURATOR "apps.kurator.dev"

struct app;
struct app *app_new(struct fleet_daemon *fleet, const char *namespace_, const char *name);
void app_free(struct app *app);
/* Reconciles it. False if it is gone and must be freed. */
bool app_settle(struct app *app) MUST_USE;

const char *app_namespace(const struct app *app);
const char *app_name(const struct app *app);
const char *app_label(const struct app *app); /* "namespace/name" */

/* Iterates over its places, for plans of its releases; place is NULL at first. */
struct place *app_next_place(const struct app *app, const struct place *place);

/* Snapshot for /debug. */
struct app_snapshot {
    const char *trouble; /* cause of blocking, in whole or in part; NULL if none */
    size_t places;
    bool writes;
};
void app_snapshot(const struct app *app, struct app_snapshot *out);

#endif
