/*
 * Cache of the management cluster: Applications, ReleasePlans, and the objects that define the
 * member clusters. A kind whose CRD is not installed has no objects, and is listed again once a
 * minute. Secrets are watched as metadata only.
 */
#ifndef MEMBERS_MANAGEMENT_CACHE_H
#define MEMBERS_MANAGEMENT_CACHE_H

#include "fleet/daemon/fleet_daemon.h"
#include "fleet/rules/select.h"
#include "kube/store.h"

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

/* namespaces: NULL-ended, borrowed; NULL for all. */
struct management_cache *management_cache_new(struct members_context *context,
                                              const char *const *namespaces,
                                              const struct management_cache_owner *owner);
void management_cache_free(struct management_cache *management);
/* True if everything has been listed; nothing may be deleted before. */
bool management_cache_synced(const struct management_cache *management);
/* The reason, one sentence; NULL if nothing has failed. */
const char *management_cache_trouble(const struct management_cache *management);

enum management_found { MANAGEMENT_NONE, MANAGEMENT_FOUND, MANAGEMENT_LATER };
/* The object, in the arena. MANAGEMENT_LATER: there is no memory for it now. */
enum management_found management_cache_app(const struct management_cache *management,
                                           struct arena *arena, const char *namespace_,
                                           const char *name, struct json_object **out);
enum management_found management_cache_plan(const struct management_cache *management,
                                            struct arena *arena, const char *namespace_,
                                            const char *name, struct json_object **out);
/* Takes over the object that a write returned. */
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

/* Calls fn for each. */
void management_cache_each_plan(const struct management_cache *management,
                                void (*fn)(void *arg, const char *namespace_, const char *name),
                                void *arg);

#endif
