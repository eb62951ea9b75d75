/*
 * The daemon of the fleet: manages every Application with a rollout and carries out every
 * ReleasePlan of the management cluster, on all their clusters. All I/O of the fleet is in this
 * folder; the decisions are in fleet/rules.
 */
#ifndef MEMBERS_MEMBERS_H
#define MEMBERS_MEMBERS_H

#include "fleet/daemon/caches.h"
#include "fleet/daemon/fleet_daemon.h"
#include "fleet/daemon/member.h"

struct members;

struct members_options {
    struct loop *loop;
    struct kube_client *kube;    /* client of the management cluster */
    struct http_client *api;     /* connections to the members' API servers */
    struct http_client *outside; /* connections to gates */
    const struct members_settings *settings;
    const char *const *namespaces; /* NULL-terminated; NULL for all */
    /* Called before every write; NULL if this is the only replica. If set, the daemon connects to
     * no cluster before members_lead() is called. */
    bool (*is_leader)(void *arg);
    void *arg;
};

struct members *members_new(const struct members_options *options);
/* To be called after members_stop() has called done, and before the clients are freed. */
void members_free(struct members *members);
void members_lead(struct members *members, bool leads);
/* True if the management cluster has been listed. */
bool members_ready(const struct members *members);
/* Starts no new writes. Calls done from the loop once the writes under way have been answered, or
 * after max_ms; in the latter case quiet is false. */
void members_stop(struct members *members, int64_t max_ms, void (*done)(void *arg, bool quiet),
                  void *arg);

/* Snapshot for /debug; valid until the next loop iteration. */
struct members_snapshot {
    const struct fleet_daemon *fleet;
    size_t apps, plans, members;
    int of[MEMBER_STATES]; /* number of members in each state */
    int waiting, running;  /* number of places */
    size_t canaries;       /* number of watched Canaries */
    bool leads, stopping;
};
void members_snapshot(const struct members *members, struct members_snapshot *out);
/* Iterates, in no order; index starts at 0. NULL after the last. */
const struct member *members_next(const struct members *members, size_t *index);
const struct wave *members_next_plan(const struct members *members, size_t *index);
const struct app *members_next_app(const struct members *members, size_t *index);

/* --- the page */

/* "NAMESPACE/NAME" of all ReleasePlans, sorted, in the arena. False until all have been listed. */
bool members_plans(const struct members *members, struct arena *arena, const char ***out,
                   size_t *count);
/* The plan as last watched; NULL if there is none. */
struct json_object *members_plan(const struct members *members, struct arena *arena,
                                 const char *namespace_, const char *name);

/* Makes the metrics describe this daemon; NULL: none. */
void members_export(const struct members *members);

#endif
