/* What every part of the daemon works with; made by members.c, lives as long as the daemon. */
#ifndef MEMBERS_CONTEXT_H
#define MEMBERS_CONTEXT_H

#include <sys/queue.h>

#include "fleet/grants.h"
#include "kube/client.h"
#include "kube/event.h"
#include "kube/pack.h"
#include "net/client.h"

enum { STOCK_KINDS = 6 }; /* stock.h */

struct members_settings {
    const char *loader_image;    /* of load testers */
    const char *claim_namespace; /* of the Lease on each member that says whose it is */
    const char *name;            /* of this management cluster, for people */
    const char *agent;           /* as the API servers of members see this process */
    const struct grants *grants; /* where Applications and ReleasePlans may act on a member */
    bool own_cluster;   /* this cluster is a member as well, of this process's own rights */
    bool adopt_kurator; /* Kurator's own controller of Applications does not run any more */
    int64_t abandon_ms; /* a deletion waits so long for clusters that nobody reaches */
    double qps;         /* to each API server */
    int burst;
    int max_runs;     /* on one member at once */
    int64_t retry_ms; /* the first wait after a failure; 0: two seconds */
};

struct ask;

struct members_context {
    struct loop *loop;
    struct kube_client *kube;      /* of the management cluster */
    struct http_client *api;       /* the connections to all members */
    struct http_client *outside;   /* to gates */
    struct event_recorder *events; /* in the management cluster */
    const struct members_settings *settings;
    struct packer *packers[STOCK_KINDS]; /* shared by the members' stores of a kind */
    const char *identity; /* the uid of the namespace kube-system here; NULL: not read yet */
    /* Asked before every write: a process that is not the leader writes nothing. */
    bool (*may_write)(void *arg);
    void *may_write_arg;
    LIST_HEAD(, ask) asks;    /* that are under way: ask.h */
    int writes;               /* sent and not answered yet, to whichever cluster */
    void (*wrote)(void *arg); /* called when that becomes 0 */
};

/* The sentence about a destination that is this cluster, where that is no member. */
#define MEMBERS_NOT_OWN                                                                            \
    "spec.destination: expected a fleet, found none: this cluster itself is a member only with "   \
    "--own-cluster of the fleet"

static inline int64_t members_retry_ms(const struct members_context *context)
{
    return context->settings->retry_ms > 0 ? context->settings->retry_ms : 2000;
}

#endif
