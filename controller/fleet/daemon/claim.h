/*
 * The claim on a member cluster: a Lease there, held by one management cluster (context.h). It is
 * taken before the first write and checked before later ones. It is never renewed, so an idle fleet
 * costs nothing. A cluster held by another fleet is never written to. Deleting the Lease hands the
 * cluster over to the next fleet that wants it.
 */
#ifndef MEMBERS_CLAIM_H
#define MEMBERS_CLAIM_H

#include <sys/queue.h>

#include "fleet/daemon/context.h"

#define CLAIM_NAME "flagger-fleet"
/* The holder's name for people. */
#define CLAIM_NOTE "flagger.app/claimed-by"

/* A waiter, embedded in its owner. */
struct claim_wait {
    TAILQ_ENTRY(claim_wait) link;
    /* Called once, from the loop. ERR_OK: the cluster is ours. ERR_DENIED: another fleet holds it,
     * or the Lease may not be read; info says which. */
    void (*done)(void *arg, enum err err, const struct errinfo *info);
    void *arg;
    unsigned round; /* private, like the link */
};

struct claim;
/* kube: of the member, must outlive it. name: of the cluster, for sentences; copied. */
struct claim *claim_new(struct members_context *context, struct kube_client *kube,
                        const char *name);
void claim_free(struct claim *claim); /* cancels all waiters */
/* True if it is ours by a recent check. False: done follows, unless the waiter leaves. */
bool claim_enter(struct claim *claim, struct claim_wait *wait);
void claim_leave(struct claim *claim, struct claim_wait *wait);

#endif
