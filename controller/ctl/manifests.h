/* The objects of files, in place of a cluster. */
#ifndef CTL_MANIFESTS_H
#define CTL_MANIFESTS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctl/inputs.h"
#include "kube/resource.h"

struct manifests {
    struct arena *arena;
    struct json_object *objects; /* a list */
    const char *namespace_;      /* -n: of objects without one; NULL or "" if any matches */
};

/* Adds the documents of a file, or the items of a List in it. */
enum err manifests_add(struct manifests *manifests, const struct input *input,
                       struct errinfo *ei) MUST_USE;
/* Adds all files of a command line (inputs.h). */
enum err manifests_read(struct manifests *manifests, const struct inputs *inputs,
                        const char *const *args, int n_args, struct errinfo *ei) MUST_USE;
/* The object, of any version of its group; one without a namespace matches any, and gets the
 * requested one. NULL if there is none. The first argument is a struct manifests. */
struct json_object *manifests_find(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_, const char *name);
/* All of that kind, an object with "items". */
struct json_object *manifests_list(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_);

#endif
