/*
 * The environment and arguments of a container: env, envFrom, references to ConfigMaps, Secrets and
 * the pod's own fields, $(NAME) expansion.
 */
#ifndef CLUSTER_PODENV_H
#define CLUSTER_PODENV_H

#include "base/json.h"

struct podenv_in {
    struct json_object *pod;
    struct json_object *container;
    const char *address; /* the pod's */
    /* A ConfigMap or Secret of the pod's namespace, NULL if there is none; borrowed for as long as
     * the arena. */
    struct json_object *(*lookup)(void *arg, struct arena *arena, bool secret, const char *name);
    void *arg;
};

/*
 * *env: a NULL-ended list "NAME=value", owned by the arena; later entries win. ERR_NOT_FOUND says
 * which ConfigMap, Secret or key is missing (it may come later); optional references may miss.
 */
enum err podenv_make(struct arena *arena, const struct podenv_in *in, const char *const **env,
                     struct errinfo *ei) MUST_USE;
/* container.args with $(NAME) replaced from env; NULL-ended. */
const char *const *podenv_args(struct arena *arena, struct json_object *container,
                               const char *const *env);

#endif
