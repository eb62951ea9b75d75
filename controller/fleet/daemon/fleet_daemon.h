/*
 * The daemon as its parts see it: the settings and clients that all of them share, the members, and
 * the queues of work. Created by members.c, lives as long as the daemon. Nothing here calls back
 * synchronously: all work is done from one timer, a few milliseconds at a time.
 */
#ifndef FLEET_DAEMON_H
#define FLEET_DAEMON_H

#include <sys/queue.h>

#include "fleet/rules/select.h"
#include "kube/event.h"
#include "kube/kept_object.h"
#include "kube/kube_client.h"
#include "net/client.h"

enum { MEMBER_CACHE_KINDS = 6 }; /* caches.h */

struct members_settings {
    const char *loader_image;    /* image of load testers */
    const char *claim_namespace; /* namespace of the Lease on each member (member.h) */
    const char *name;            /* name of this management cluster, for messages */
    const char *agent;           /* User-Agent for the API servers of members */
    const struct grants *grants; /* where Applications and ReleasePlans may act on a member */
    bool own_cluster;   /* this cluster is a member as well, with the rights of this process */
    bool adopt_kurator; /* Kurator's own controller of Applications no longer runs */
    int64_t abandon_ms; /* how long a deletion waits for unreachable clusters */
    double qps;         /* limit of requests per second to each API server */
    int burst;
    int max_runs;     /* limit on one member at the same time */
    int64_t retry_ms; /* first delay after a failure; 0: two seconds */
};

struct tracked_request;

struct members_context {
    struct loop *loop;
    struct kube_client *kube;      /* client of the management cluster */
    struct http_client *api;       /* the connections to all members */
    struct http_client *outside;   /* to gates */
    struct event_recorder *events; /* recorded in the management cluster */
    const struct members_settings *settings;
    /* Shared by all the members' stores of a kind. */
    struct object_compressor *object_compressors[MEMBER_CACHE_KINDS];
    const char *identity; /* uid of this cluster's namespace kube-system; NULL if not read yet */
    /* Called before every write: only the leader writes. */
    bool (*may_write)(void *arg);
    void *may_write_arg;
    LIST_HEAD(, tracked_request) requests; /* under way */
    int writes;                            /* sent and not answered yet, to all clusters */
    void (*wrote)(void *arg);              /* called when `writes` becomes 0 */
};

/* The sentence about a destination that is this cluster, if this cluster is not a member. */
#define MEMBERS_NOT_OWN                                                                            \
    "spec.destination: expected a fleet, found none: this cluster itself is a member only with "   \
    "--own-cluster of the fleet"

static inline int64_t members_retry_ms(const struct members_context *context)
{
    return context->settings->retry_ms > 0 ? context->settings->retry_ms : 2000;
}

/*
 * A request to a cluster that its owner may abandon before it is answered. A write checks
 * may_write() at the moment it is sent, and counts as under way until it is answered, even if it
 * was abandoned.
 */
struct tracked_request;
/* done is as in kube_send(), but is not called after tracked_free(). ERR_CANCELLED: this process is
 * not the leader, or the client was freed. */
struct tracked_request *tracked_send(struct members_context *context, struct kube_client *kube,
                                     const struct kube_request *request, kube_done_fn done,
                                     void *arg);
void tracked_free(struct tracked_request *tracked); /* NULL is allowed */
/* Abandons all requests under way. */
void tracked_end_all(struct members_context *context);

struct management_cache;
struct member;
struct place;
struct wave;

struct fleet_daemon {
    struct members_context context;
    struct management_cache *management;
};

/* The member with this kubeconfig; valid until fleet_daemon_let_go(). */
struct member *fleet_daemon_member(struct fleet_daemon *fleet, const char *namespace_,
                                   const char *access);
void fleet_daemon_let_go(struct fleet_daemon *fleet, struct member *member);

/* Queues app_settle() of this Application. */
void fleet_daemon_wake_app(struct fleet_daemon *fleet, const char *namespace_, const char *name);
/* Queues place_run(); the place must have a member. */
void fleet_daemon_wake_place(struct fleet_daemon *fleet, struct place *place);
/* Removes it from the queue, or ends its run; must be called before its state changes. */
void fleet_daemon_drop_place(struct fleet_daemon *fleet, struct place *place);

/* Queues wave_settle(). */
void fleet_daemon_wake_wave(struct fleet_daemon *fleet, struct wave *wave);
/* Iterates over the members in use, in no order; index starts at 0. NULL after the last. */
struct member *fleet_daemon_next_member(struct fleet_daemon *fleet, size_t *index);

#endif
