/* The objects of files, in place of a cluster. */
#ifndef CTL_MANIFESTS_H
#define CTL_MANIFESTS_H

#include "ctl/ctl.h"
#include "kube/resource.h"

struct manifests {
    struct arena *arena;
    struct json_object *objects; /* a list */
    const char *namespace_;      /* -n: of what names none; NULL or "": of any */
};

enum { MANIFESTS_MAX_BYTES = 4 * 1024 * 1024 }; /* of a file */

/* Adds the documents of a file, or the items of a List in it. */
enum err manifests_add(struct manifests *manifests, const char *file, struct errinfo *ei) MUST_USE;
/* One without a namespace is of any, and has the one that is asked for then; whatever the version of
 * its group. NULL: it is not there. The first argument is a struct manifests. */
struct json_object *manifests_find(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_, const char *name);
/* All of that kind, an object with "items". */
struct json_object *manifests_list(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_);

#endif
