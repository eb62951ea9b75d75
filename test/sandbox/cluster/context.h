/*
 * What the parts of the sandbox's cluster share: the store, the kinds they work on, the queue, and
 * short forms of the store's calls that log what goes wrong. Internal to this folder; cluster.h is
 * the way in.
 */
#ifndef CLUSTER_CONTEXT_H
#define CLUSTER_CONTEXT_H

#include "api/objstore.h"
#include "cluster/address.h"
#include "cluster/cluster.h"
#include "cluster/work.h"
#include "net/client.h"

enum kind {
    KIND_NAMESPACE,
    KIND_POD,
    KIND_SERVICE,
    KIND_ENDPOINTS,
    KIND_CONFIGMAP,
    KIND_SECRET,
    KIND_DEPLOYMENT,
    KIND_REPLICASET,
    KIND_DAEMONSET,
    KIND_HPA,
    KIND_COUNT
};

struct pods;
struct services;
struct gateway;
struct prometheus;

struct cluster {
    struct loop *loop;
    struct objstore *store;
    struct cluster_options options; /* texts are the owner's */
    const struct objkind *kinds[KIND_COUNT];
    struct work *work;
    struct http_client *probes;
    struct objwatch *watch;
    struct address_pool service_addresses;
    struct address_pool pod_addresses;
    int slot_fd;
    bool draining;
    struct pods *pods;
    struct services *services;
    struct gateway *gateway;       /* NULL: none wanted */
    struct prometheus *prometheus; /* NULL: none wanted */
};

/* Queues fn for an object. */
void context_queue(struct cluster *cluster, work_fn fn, const char *ns, const char *name);
void context_queue_after(struct cluster *cluster, work_fn fn, const char *ns, const char *name,
                         int64_t delay_ms);

/* NULL if there is none. The tree stays as long as the arena. */
struct json_object *context_get(struct cluster *cluster, struct arena *arena, enum kind kind,
                                const char *ns, const char *name);
size_t context_list(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    struct json_object ***items);
/* obj is borrowed, a new reference stays the caller's. *out may be NULL. Failures are logged; false
 * then. */
bool context_create(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    struct json_object *obj, struct json_object **out);
bool context_merge(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                   const char *name, struct json_object *patch);
/* Replaces the status of an object as it is now. */
bool context_status(struct cluster *cluster, struct arena *arena, const struct objkind *kind,
                    const char *ns, const char *name, struct json_object *status);
/* At once, whatever the grace period. */
void context_remove(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    const char *name);
/* As a user's delete: pods end gracefully. */
void context_delete(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    const char *name);
/* The present time as objects carry it. Owned by the arena. */
const char *context_now(struct arena *arena);

#endif
