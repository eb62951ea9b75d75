/*
 * Whose a member cluster is: a Lease there, whose holder is the identity of one management cluster
 * (context.h). It is taken before the first write, and looked at again before later ones; it is not
 * renewed, so that an idle fleet costs nothing. Of a cluster that another one holds nothing is
 * written. Who removes the Lease hands the cluster over to the next that wants it.
 */
#ifndef MEMBERS_CLAIM_H
#define MEMBERS_CLAIM_H

#include <sys/queue.h>

#include "members/context.h"

#define CLAIM_NAME "flagger-fleet"
/* What people call the holder. */
#define CLAIM_NOTE "flagger.app/claimed-by"

/* One that waits; part of what its owner keeps. */
struct claim_wait {
    TAILQ_ENTRY(claim_wait) link;
    /* ERR_OK: the cluster is ours. ERR_DENIED: another one's, and info says whose; or nobody may look.
     * Once, from the loop. */
    void (*done)(void *arg, enum err err, const struct errinfo *info);
    void *arg;
    unsigned round; /* private, as the link */
};

struct claim;
/* kube: of the member, must outlive it. name: of the cluster, for sentences; copied. */
struct claim *claim_new(struct members_context *context, struct kube_client *kube,
                        const char *name);
void claim_free(struct claim *claim); /* nobody waits any more */
/* True: it is ours, by a look not long ago. False: done follows, unless it leaves. */
bool claim_enter(struct claim *claim, struct claim_wait *wait);
void claim_leave(struct claim *claim, struct claim_wait *wait);

#endif
