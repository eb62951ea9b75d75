/*
 * A policy of an Application on one member cluster: it is woken by whatever it depends on, makes a
 * plan (fleet/fleet.h), carries it out, and makes another until there is nothing left to do. It has a
 * deadline and tries again by itself; no other cluster waits for it.
 *
 *   RESTING      nothing is to be done, or nobody is there
 *   QUEUED       waits for its turn on that cluster
 *   LOOKING      reads what the plan asks for
 *   RECORDING    waits until the Application has it in its inventory
 *   CLAIMING     waits to hear that the cluster is ours
 *   WRITING      a step is under way
 *   BACKING_OFF  the last try has failed
 */
#ifndef MEMBERS_PLACE_H
#define MEMBERS_PLACE_H

#include "fleet/report.h"
#include "kube/backoff.h"
#include "members/hub.h"
#include "members/view.h"

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

/* The Application, as its places know it. */
struct place_owner {
    struct hub *hub;
    const char *namespace_, *name, *label;
    /* A place has something else to tell. */
    void (*changed)(struct place_owner *owner);
    /* It has set `records`: place_recorded() follows when that is written. */
    void (*record)(struct place_owner *owner);
    /* One that leaves may be forgotten. */
    void (*wake)(struct place_owner *owner);
    /* An event of the Application. */
    void (*warn)(struct place_owner *owner, const char *reason, const char *text);
    /* With a use of the caller's; NULL: it cannot be read. */
    struct view *(*view)(struct place_owner *owner);
};

struct place {
    TAILQ_ENTRY(place) link;  /* of its member */
    TAILQ_ENTRY(place) queue; /* of those that wait for a turn there */
    TAILQ_ENTRY(place) of_app;
    struct place_owner *owner;
    struct member *member; /* NULL: see mistake */
    char *policy, *cluster, *access;
    char *namespace_, *name; /* of its Canary; "" while that is not known */
    char *objects;           /* as the inventory has them; fleet/inventory.h */
    char *records;           /* as it is to have them; NULL: so */
    char *sent;              /* app_record.c: of the write under way; NULL: it has nothing of it */
    char *mistake;           /* why nobody can connect to the cluster; NULL: somebody can */
    uint64_t keys[4];        /* of what it depends on, see place_concerns() */
    enum place_state state;
    bool due;    /* something has changed since the last run began */
    bool leaves; /* it is not wanted any more */
    bool wanted; /* app.c: by the Application as it is now */
    bool marked; /* its inventory was lost: what has our mark there is ours */
    bool learns; /* what is told now is its own doing */
    enum report_state told;
    char *says; /* NULL: nothing */
    struct backoff backoff;
    struct timer *timer;
    struct run *run;
};

struct place *place_new(struct place_owner *owner, const char *policy, const char *cluster);
void place_free(struct place *place);
/* access NULL: mistake says why nobody can connect. */
void place_reach(struct place *place, const char *access, const char *mistake);
/* What it depends on; NULL: nothing but what was made. */
void place_aim(struct place *place, const struct rollout *rollout);
/* Something that it depends on has changed. */
void place_wake(struct place *place);
/* This object is one of those that its plans look at. */
bool place_concerns(const struct place *place, const struct kube_resource *resource,
                    const char *namespace_, const char *name);
void place_run(struct place *place);
/* The inventory has what it is to have; or it could not be written. */
void place_recorded(struct place *place, const struct errinfo *failure);
/* The connection goes: whatever is under way there ends. */
void place_abort(struct place *place);
/* Its cluster is reached, or not any more. */
void place_turned(struct place *place);
/* A row of a status; texts are borrowed. */
void place_report(const struct place *place, struct report_row *out);
const char *place_state_name(enum place_state state);

#endif
