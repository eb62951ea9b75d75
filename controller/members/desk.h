/*
 * What the watches of the management cluster have brought: Applications, ReleasePlans, and what says
 * which clusters there are. A kind whose CRD is not installed has no objects, and is asked for again
 * once a minute. Of Secrets only metadata is watched.
 */
#ifndef MEMBERS_DESK_H
#define MEMBERS_DESK_H

#include "fleet/select.h"
#include "kube/store.h"
#include "members/context.h"

extern const struct kube_resource desk_plans;

struct desk;
struct desk_owner {
    /* An Application or a plan is new, another one, or gone. */
    void (*app)(void *arg, const char *namespace_, const char *name);
    void (*plan)(void *arg, const char *namespace_, const char *name);
    /* Other clusters may be meant there. */
    void (*clusters)(void *arg, const char *namespace_);
    void (*secret)(void *arg, const char *namespace_, const char *name);
    /* All has been listed; once. */
    void (*synced)(void *arg);
    void *arg;
};

/* namespaces: NULL-ended, borrowed; NULL: all. */
struct desk *desk_new(struct members_context *context, const char *const *namespaces,
                      const struct desk_owner *owner);
void desk_free(struct desk *desk);
/* Whether all is known that says what is to be done: until then nothing may be taken away. */
bool desk_synced(const struct desk *desk);
/* Why not, one sentence; NULL: nothing has failed. */
const char *desk_trouble(const struct desk *desk);

enum desk_found { DESK_NONE, DESK_FOUND, DESK_LATER };
/* The object, owned by the arena. DESK_LATER: there is no room for it in memory now. */
enum desk_found desk_app(const struct desk *desk, struct arena *arena, const char *namespace_,
                         const char *name, struct json_object **out);
enum desk_found desk_plan(const struct desk *desk, struct arena *arena, const char *namespace_,
                          const char *name, struct json_object **out);
/* What a write of ours has brought. */
void desk_learn_app(struct desk *desk, struct json_object *object);
void desk_learn_plan(struct desk *desk, struct json_object *object);
/* Hash of all of an Application or a plan but its status and bookkeeping metadata; 0: there is none. */
uint64_t desk_app_content(const struct desk *desk, const char *namespace_, const char *name);

/* What says which clusters there are in the namespace; borrowed until desk_forget(). */
const struct fleet_known *desk_known(struct desk *desk, const char *namespace_);
void desk_forget(struct desk *desk);

/* Calls fn for each. */
void desk_each_app(const struct desk *desk,
                   void (*fn)(void *arg, const char *namespace_, const char *name), void *arg);
void desk_each_plan(const struct desk *desk,
                    void (*fn)(void *arg, const char *namespace_, const char *name), void *arg);

#endif
