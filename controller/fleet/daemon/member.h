/*
 * One member cluster: its kubeconfig, connection, watches and reachability. An unreachable member
 * is retried forever, independently of others; its cache is kept in the meantime. If the Secret
 * changes, everything starts again.
 *
 *   READING      its Secret is being read
 *   BARRED       there is no Secret, or no usable kubeconfig in it
 *   CONNECTING   its Canaries are being listed for the first time
 *   REACHED      the cache is up to date
 *   UNREACHABLE  the cache may be out of date
 *
 * The management cluster may be a member as well, without a Secret.
 */
#ifndef MEMBERS_MEMBER_H
#define MEMBERS_MEMBER_H

#include <sys/queue.h>

#include "fleet/daemon/caches.h"
#include "fleet/daemon/fleet_daemon.h"
#include "kube/rate_limit.h"

enum member_state {
    MEMBER_NEW,
    MEMBER_READING,
    MEMBER_BARRED,
    MEMBER_CONNECTING,
    MEMBER_REACHED,
    MEMBER_UNREACHABLE,
    MEMBER_STATES
};

struct member;
/* All are called from the loop; none may free the member. */
struct member_owner {
    /* The state has changed; if `anew`, the connection was replaced or closed. */
    void (*turned)(void *arg, struct member *member, bool anew);
    void (*changed)(void *arg, struct member *member, const struct kube_resource *resource,
                    const struct member_object *before, const struct member_object *after);
    bool (*wants)(void *arg, struct member *member, const struct kube_resource *resource,
                  const char *namespace_, const char *name);
    /* All watched kinds have been listed. */
    void (*settled)(void *arg, struct member *member);
    void *arg;
};

struct place;

struct member {
    struct members_context *context;
    const struct member_owner *owner;
    char *namespace_, *access; /* the Secret: "NAME" or "NAME/KEY"; both "" for the own cluster */
    enum member_state state;
    char *why; /* why it is unreachable, one sentence; NULL if it is reachable or not known yet */
    bool lost; /* there is no such Secret */
    struct arena *arena; /* holds the kubeconfig in use */
    uint64_t text_hash;  /* hash of the kubeconfig's text */
    struct kube_client *kube;
    struct member_cache *cache; /* NULL, like kube, while not connected */
    struct claim *claim;
    struct tracked_request *ask; /* a read of the Secret, or a probe */
    struct timer *timer;         /* until its next attempt */
    struct backoff backoff;
    int64_t doubted_ms; /* monotonic: time of an unanswered request; 0 if none */
    int64_t heard_ms;   /* wall clock: last contact */
    unsigned needs;     /* kinds that are watched, as bits in the order of members_kinds */
    int users;          /* reference count */
    /* Used by the owner. */
    TAILQ_HEAD(, place) places, waiting;
    TAILQ_ENTRY(member) ring;
    bool in_ring;
    int running;
};

struct member *member_new(struct members_context *context, const struct member_owner *owner,
                          const char *namespace_, const char *access);
void member_free(struct member *member); /* the owner must have removed its places and watchers */

/* Its Secret may have changed. */
void member_look_again(struct member *member);
/* Checks its reachability without a request; to be called about once a second. */
void member_check(struct member *member);
/* Reports that a request made elsewhere was not answered. */
void member_doubt(struct member *member, const char *text);
/* Watches this kind from now on, also after a new connection. */
void member_need(struct member *member, const struct kube_resource *resource);
bool member_is_reached(const struct member *member);
const char *member_state_name(enum member_state state);

/*
 * --- The claim on a member cluster: a Lease there, held by one management cluster. It is acquired
 * before the first write and checked before later ones. It is never renewed, so an idle fleet costs
 * nothing. A cluster that another fleet holds is never written to. Deleting the Lease hands the
 * cluster over to the next fleet that wants it.
 */

#define CLAIM_NAME "flagger-fleet"
/* The name of the holder, for readers. */
#define CLAIM_NOTE "flagger.app/claimed-by"

/* A waiter, embedded in its owner. */
struct claim_wait {
    TAILQ_ENTRY(claim_wait) link;
    /* Called once, from the loop. ERR_OK: the cluster is ours. ERR_DENIED: another fleet holds it,
     * or the Lease must not be read; info says which. */
    void (*done)(void *arg, enum err err, const struct errinfo *info);
    void *arg;
    unsigned round; /* private, as is the link */
};

struct claim;
/* kube: the member's, must outlive the claim. name: the cluster's, for sentences; copied. */
struct claim *claim_new(struct members_context *context, struct kube_client *kube,
                        const char *name);
void claim_free(struct claim *claim); /* cancels all waiters */
/* True if a recent check has shown that the claim is ours. False: done will be called, unless the
 * waiter leaves. */
bool claim_enter(struct claim *claim, struct claim_wait *wait);
void claim_leave(struct claim *claim, struct claim_wait *wait);

#endif
