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
#include "cluster/forward.h"
#include "net/client.h"

/*
 * The controllers' work queue: keys (controller, namespace, name), each at most once in the queue,
 * handled one after the other from the loop. A key that is due later is handled earlier when it is
 * added again.
 */
struct work;
/* Brings the object named by the key to where it should be. The arena is freed afterwards. */
typedef void (*work_fn)(void *arg, struct arena *arena, const char *ns, const char *name);

struct work *work_new(struct loop *loop);
void work_free(struct work *work); /* pending keys are forgotten */
/* fn names the controller: keys of different functions are different. */
void work_add_after(struct work *work, work_fn fn, void *arg, const char *ns, const char *name,
                    int64_t delay_ms);

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
    KIND_NODE,
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
bool context_merge_status(struct cluster *cluster, struct arena *arena, enum kind kind,
                          const char *ns, const char *name, struct json_object *patch);
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

/* The parts. Each stops when the loop drains, and is freed after the loop has ended. */

/*
 * pod.c: what a kubelet does: runs the pods of the store, probes them, restarts what ends, ends what
 * is deleted, and writes their status. See cluster.h for which pods are processes.
 *
 * A readiness probe by HTTP or TCP is done as written; until the first success it is tried several
 * times a second, since people wait for it. A probe by command cannot run here: GET /readyz takes
 * its place. A pod that is being deleted leaves its Services first and gets TERM a moment later, so
 * that no client is sent to it any more.
 */
struct pods *pods_new(struct cluster *cluster);
void pods_stop(struct pods *pods); /* ends all processes; the objects stay */
void pods_free(struct pods *pods);

/* work_fn of one pod; arg is the cluster. */
void pods_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* Appends what the pod has written, see api_pod_log_fn. */
void pods_log(struct pods *pods, const char *ns, const char *name, struct buf *out);

/*
 * service.c: gives each Service an address when it is made, listens there, forwards to its ready
 * pods, and writes Endpoints. A headless Service gets an address too, for the gateway; its name
 * leads to the pods themselves.
 */
/* Also hooks into the admission of Services. on_sync: a Service is as it should be now; others: it
 * has come or gone, and routes may have waited for its address. */
struct services *services_new(struct cluster *cluster,
                              void (*on_sync)(struct cluster *cluster, bool others));
void services_stop(struct services *services); /* stops listening, resets connections */
void services_free(struct services *services);

/* work_fn of one Service; arg is the cluster. */
void services_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* Queues every Service of a namespace: a pod there has changed. */
void services_touch(struct cluster *cluster, const char *ns);
/* Where a Service listens; NULL when there is no such Service (yet). Borrowed. */
const char *services_address(const struct services *services, const char *ns, const char *name);

/* The pods that the selector of a Service matches, at most ENDPOINTS_MAX. */
size_t services_pods(struct cluster *cluster, struct arena *arena, struct json_object *service,
                     struct json_object ***pods);

/* endpoints.c: whom a Service leads to, as targets of its ports and as an Endpoints object. Pure. */
enum { ENDPOINTS_MAX = 1000 };

bool endpoints_headless(struct json_object *service);

/* A pod serves: it is ready, has an address and is not being deleted; publish_unready lifts the
 * first. */
bool endpoints_serves(struct json_object *pod, bool publish_unready);

/* The targets of spec.ports[index] among pods; returns their number. targets has room for count. */
size_t endpoints_targets(struct json_object *service, size_t index, struct json_object **pods,
                         size_t count, struct forward_target *targets);
/* The same from an Endpoints object that somebody wrote, for a Service without selector; at most
 * max. */
size_t endpoints_given(struct json_object *service, size_t index, struct json_object *endpoints,
                       struct forward_target *targets, size_t max);

/* pods: those that the selector matches. Owned by the arena. */
struct json_object *endpoints_object(struct arena *arena, struct json_object *service,
                                     struct json_object **pods, size_t count);

/*
 * gateway.c: HAProxy as a supervised child, made to do what the HTTPRoutes say.
 *
 * Changes are applied one after the other: weights by a request to HAProxy, everything else by a
 * reload that hands the listening sockets over, so that no request is dropped. The status of the
 * routes is written when the change is live.
 */
/* ERR_DENIED when port 80 may not be bound and no other port is given. */
enum err gateway_new(struct cluster *cluster, struct gateway **out, struct errinfo *ei) MUST_USE;
void gateway_stop(struct gateway *gateway);
void gateway_free(struct gateway *gateway);

/* work_fn without object: something about routes or their Services has changed; arg is the cluster.
 */
void gateway_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* Hosts lines: gateway.NS in every namespace without a Service of that name, and each Gateway
 * object. */
void gateway_add_names(struct cluster *cluster, struct arena *arena, struct buf *text);
const char *gateway_address(const struct gateway *gateway); /* "" when port 80 is not served */
bool gateway_live(const struct gateway *gateway);

/* hosts.c */

/* work_fn without object: writes the hosts file; arg is the cluster. */
void hosts_sync(void *arg, struct arena *arena, const char *ns, const char *name);
/* The line of a Service: NAME.NS, NAME.NS.svc, NAME.NS.svc.cluster.local, and NAME alone in the
 * namespaces default and test. */
void hosts_add(struct buf *text, const char *address, const char *ns, const char *name);
/*
 * The hosts file lets the daemons, curl and hey find Services by name. It may be bind-mounted over
 * /etc/hosts, so it is changed in place: one write covers it whole, old bytes behind the new ones
 * are first blanked, then cut off. Makes the file when it is missing.
 */
enum { HOSTS_MAX = 1024 * 1024 };
enum err hosts_write(const char *path, const struct buf *text, struct errinfo *ei) MUST_USE;

/*
 * prometheus.c: a real Prometheus that scrapes the pods (those that are processes, unless annotated
 * prometheus.io/scrape: "false"; prometheus.io/port and prometheus.io/path are honoured) and the
 * daemons that were registered.
 */
enum err prometheus_new(struct cluster *cluster, struct prometheus **out,
                        struct errinfo *ei) MUST_USE;
void prometheus_stop(struct prometheus *prometheus);
void prometheus_free(struct prometheus *prometheus);
bool prometheus_ready(const struct prometheus *prometheus); /* it has answered once */

/* work_fn without object: pods or registered Services have changed; arg is the cluster. */
void prometheus_sync(void *arg, struct arena *arena, const char *ns, const char *name);

/* The configuration file. */
void prometheus_config(struct buf *out, const char *directory, int64_t scrape_ms);
/* The entry of the targets file for a pod, NULL when it is not scraped. Owned by the arena. Pure.
 */
struct json_object *prometheus_target(struct arena *arena, struct json_object *pod);

#endif
