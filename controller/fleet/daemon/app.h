/*
 * An Application: selects its clusters, has a place for each policy on each of them (below), and
 * keeps its inventory and its status. An Application without any rollout is never touched, and one
 * that Kurator manages is left to Kurator.
 *
 * The inventory and the finalizer are written together, before anything is created on a cluster;
 * clusters added at the same time share a write. At most one write of the inventory and one of the
 * status are under way; later changes go into the next write.
 */
#ifndef MEMBERS_APP_H
#define MEMBERS_APP_H

#include "fleet/daemon/caches.h"
#include "fleet/daemon/fleet_daemon.h"
#include "fleet/daemon/member.h"
#include "fleet/rules/record.h"
#include "kube/rate_limit.h"
#include "proto/application.h"

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

/* Iterates over its places, for plans that release it; place is NULL at first. */
struct place *app_next_place(const struct app *app, const struct place *place);

/* Snapshot for /debug. */
struct app_snapshot {
    const char *trouble; /* cause of blocking, partial or complete; NULL if none */
    size_t places;
    bool writes;
};
void app_snapshot(const struct app *app, struct app_snapshot *out);

/*
 * --- A place: a policy of an Application on one member cluster. Changes of its dependencies wake
 * it; it makes a plan (fleet/rules/fleet.h), carries it out, and repeats this until nothing is left
 * to do. It has its own deadline and retries; no other cluster waits for it.
 *
 *   RESTING      there is nothing to do, or no connection
 *   QUEUED       waits for a slot on that cluster
 *   LOOKING      reads the objects that the plan needs
 *   RECORDING    waits until the inventory of the Application has been written
 *   CLAIMING     waits for the claim on the cluster (member.h)
 *   WRITING      a write is under way
 *   BACKING_OFF  the last attempt has failed
 */

/* An Application as it was last read; reference-counted, so that a run keeps the version with which
 * it started. */
struct view {
    int uses;
    struct arena *arena;
    struct application app;
};

/* Copies the tree; the caller has one reference to *out. ERR_INVALID: the tree cannot be read, and
 * ei says where. */
enum err view_new(struct json_object *tree, struct view **out, struct errinfo *ei) MUST_USE;
void view_drop(struct view *view); /* NULL is allowed */

enum place_state {
    PLACE_RESTING,
    PLACE_QUEUED,
    PLACE_LOOKING,
    PLACE_RECORDING,
    PLACE_CLAIMING,
    PLACE_WRITING,
    PLACE_BACKING_OFF
};

struct run;
struct place;

/* The Application, as seen by its places. */
struct place_owner {
    struct fleet_daemon *fleet;
    const char *namespace_, *name, *label;
};

/* --- implemented by app.c */

/* The report of a place has changed. */
void place_owner_changed(struct place_owner *owner);
/* It has set `records`: place_recorded() is called once that is written. */
void place_owner_record(struct place_owner *owner);
/* A leaving place may be dropped. */
void place_owner_wake(struct place_owner *owner);
/* Records an event about the Application. */
void place_owner_warn(struct place_owner *owner, const char *reason, const char *text);
/* The view, with one reference for the caller; NULL if the spec is invalid. */
struct view *place_owner_view(struct place_owner *owner);

struct place {
    TAILQ_ENTRY(place) link;  /* in the list of its member */
    TAILQ_ENTRY(place) queue; /* in the queue for a slot there */
    TAILQ_ENTRY(place) of_app;
    struct place_owner *owner;
    struct member *member; /* NULL: see mistake */
    char *policy, *cluster, *access;
    char *namespace_, *name; /* the Canary's; "" until known */
    char *objects;           /* as in the inventory; fleet/rules/record.h */
    char *records;           /* the wanted inventory; NULL if up to date */
    char *sent;              /* app.c: its part of the write under way; NULL if it has none */
    char *mistake;           /* why the cluster cannot be connected to; NULL if it can */
    uint64_t keys[4];        /* hashes of its dependencies, see place_concerns() */
    enum place_state state;
    bool due;    /* something has changed since the last run began */
    bool leaves; /* no longer wanted: its objects are removed */
    bool wanted; /* app.c: wanted by the current Application */
    bool marked; /* its inventory was lost: objects there with our mark are ours */
    bool learns; /* changes arriving now are its own writes */
    enum report_state told;
    char *says; /* NULL if there is nothing to report */
    struct backoff backoff;
    struct timer *timer;
    struct run *run;
};

struct place *place_new(struct place_owner *owner, const char *policy, const char *cluster);
void place_free(struct place *place);
/* If access is NULL, mistake says why there is no connection. */
void place_reach(struct place *place, const char *access, const char *mistake);
/* Sets its dependencies; NULL if these are only the objects that were created. */
void place_aim(struct place *place, const struct rollout *rollout);
/* Notifies it that a dependency has changed. */
void place_wake(struct place *place);
/* True if its plans depend on this object. */
bool place_concerns(const struct place *place, const struct kube_resource *resource,
                    const char *namespace_, const char *name);
void place_run(struct place *place);
/* Notifies it that the inventory was written or, with a failure, that it could not be written. */
void place_recorded(struct place *place, const struct errinfo *failure);
/* Ends everything under way on a connection that is closing. */
void place_abort(struct place *place);
/* Notifies it that its cluster was reached or lost. */
void place_turned(struct place *place);
/* A row of a status; the texts are borrowed. */
void place_report(const struct place *place, struct report_row *out);
const char *place_state_name(enum place_state state);

#endif
