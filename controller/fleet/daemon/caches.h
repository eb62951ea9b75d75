/*
 * The caches of the fleet: one for each member cluster, and one for the management cluster.
 *
 * The cache of a member cluster holds, for Canaries, the fields that the rules and the status need,
 * and the compressed object; for other objects that an Application needs, the compressed object;
 * for all the rest only the fact that they exist.
 *
 * A kind is watched once member_cache_need() was called. Deployments, MetricTemplates and Ingresses
 * are watched only with our label (fleet/rules/fleet.h): an object that is not in the cache may
 * still exist, and is read.
 */
#ifndef MEMBERS_CACHES_H
#define MEMBERS_CACHES_H

#include "fleet/daemon/fleet_daemon.h"
#include "fleet/rules/select.h"
#include "kube/store.h"
#include "proto/phase.h"

/* The digest of a cached object. */
struct member_object {
    struct digest digest;
    uint64_t content; /* hash without status and bookkeeping metadata */
    uint64_t mark;    /* member_cache_mark() of the object's mark; 0 if none */
};

struct member_canary {
    struct member_object seen;
    enum phase phase;
    int weight, failed_checks, iterations;
    bool suspended, deleting;
    /* "" if none; all are in `texts`. */
    const char *applied, *promoted, *transition, *held_by, *manager;
    char *texts;
    uint64_t *labels; /* name_hash() of each key and value */
    int n_labels;
};

struct member_cache;
struct member_cache_owner {
    /* before is NULL for a new object, after for a deleted one; for Canaries both are struct
     * member_canary. Must not free the cache. */
    void (*changed)(void *arg, const struct kube_resource *resource,
                    const struct member_object *before, const struct member_object *after);
    /* True if the object itself must be kept. Not called for Canaries. */
    bool (*wants)(void *arg, const struct kube_resource *resource, const char *namespace_,
                  const char *name);
    /* A kind has been listed, or listing it has failed. */
    void (*settled)(void *arg);
    void *arg;
};

/* Starts to watch the Canaries. */
struct member_cache *member_cache_new(struct members_context *context, struct kube_client *kube,
                                      const struct member_cache_owner *owner);
void member_cache_free(struct member_cache *cache);
void member_cache_need(struct member_cache *cache, const struct kube_resource *resource);

/* The object, in the arena, or NULL if it certainly does not exist. False if it must be read. */
bool member_cache_find(const struct member_cache *cache, struct arena *arena,
                       const struct kube_resource *resource, const char *namespace_,
                       const char *name, struct json_object **out);
/* Stores the result of a read or a write; calls changed() if it is new. */
void member_cache_learn(struct member_cache *cache, const struct kube_resource *resource,
                        struct json_object *object);
void member_cache_learn_gone(struct member_cache *cache, const struct kube_resource *resource,
                             const char *namespace_, const char *name, const char *uid);

/* NULL if there is none. Borrowed until the next loop iteration. */
const struct member_canary *member_cache_canary(const struct member_cache *cache,
                                                const char *namespace_, const char *name);
/* Iterates over the Canaries, in no order; index starts at 0. NULL after the last. */
const struct member_canary *member_cache_next(const struct member_cache *cache, size_t *index);
bool member_cache_has_label(const struct member_canary *canary, const char *key, const char *value);

uint64_t member_cache_mark(const char *mark);
/* Calls fn for each watched object with the mark. */
void member_cache_marked(const struct member_cache *cache, uint64_t mark,
                         void (*fn)(void *arg, const struct kube_resource *resource,
                                    const struct digest *digest),
                         void *arg);

bool member_cache_synced(const struct member_cache *cache); /* the Canaries have been listed */
bool member_cache_settled(
    const struct member_cache *cache); /* true if no kind is being listed for the first time */
/* Why the cache of Canaries is out of date; NULL if it is not. *missing is set if their CRD is not
 * installed. */
const char *member_cache_trouble(const struct member_cache *cache, bool *missing);
int64_t member_cache_heard_ms(const struct member_cache *cache); /* monotonic; 0 if never */
size_t member_cache_canaries(const struct member_cache *cache);

/* A copy, as a new reference that shares the rest, without the managed fields and, if `status`,
 * without the status. */
struct json_object *content_without(struct json_object *object, bool status);
/* Hash of everything except the status and the metadata that each write changes. */
uint64_t content_hash(struct json_object *object);

/*
 * --- The management cluster: Applications, ReleasePlans, and the objects that define the
 * member clusters. A kind whose CRD is not installed has no objects, and is listed again once a
 * minute. Secrets are watched as metadata only.
 */

extern const struct kube_resource fleet_plans_resource;

struct management_cache;
struct management_cache_owner {
    /* An Application or a plan was added, changed or deleted. */
    void (*app)(void *arg, const char *namespace_, const char *name);
    void (*plan)(void *arg, const char *namespace_, const char *name);
    /* The set of clusters in that namespace may have changed. */
    void (*clusters)(void *arg, const char *namespace_);
    void (*secret)(void *arg, const char *namespace_, const char *name);
    /* Called once, when everything has been listed. */
    void (*synced)(void *arg);
    void *arg;
};

/* namespaces: NULL-terminated, borrowed; NULL for all. */
struct management_cache *management_cache_new(struct members_context *context,
                                              const char *const *namespaces,
                                              const struct management_cache_owner *owner);
void management_cache_free(struct management_cache *management);
/* True if everything has been listed; nothing may be deleted before. */
bool management_cache_synced(const struct management_cache *management);
/* The reason, one sentence; NULL if nothing has failed. */
const char *management_cache_trouble(const struct management_cache *management);

enum management_found { MANAGEMENT_NONE, MANAGEMENT_FOUND, MANAGEMENT_LATER };
/* The object, in the arena. MANAGEMENT_LATER: there is not enough memory for it now. */
enum management_found management_cache_app(const struct management_cache *management,
                                           struct arena *arena, const char *namespace_,
                                           const char *name, struct json_object **out);
enum management_found management_cache_plan(const struct management_cache *management,
                                            struct arena *arena, const char *namespace_,
                                            const char *name, struct json_object **out);
/* Stores the object that a write returned. */
void management_cache_learn_app(struct management_cache *management, struct json_object *object);
void management_cache_learn_plan(struct management_cache *management, struct json_object *object);
/* Hash of an Application or a plan without status and bookkeeping metadata; 0 if there is none. */
uint64_t management_cache_app_content(const struct management_cache *management,
                                      const char *namespace_, const char *name);

/* The objects that define the clusters of the namespace; borrowed until management_cache_forget().
 */
const struct fleet_known *management_cache_known(struct management_cache *management,
                                                 const char *namespace_);
void management_cache_forget(struct management_cache *management);

/* Calls fn for each plan. */
void management_cache_each_plan(const struct management_cache *management,
                                void (*fn)(void *arg, const char *namespace_, const char *name),
                                void *arg);

#endif
