/* The objects of files, in place of a cluster. */
#ifndef CTL_MANIFESTS_H
#define CTL_MANIFESTS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctl/ctl.h"
#include "kube/resource.h"

struct manifests {
    struct arena *arena;
    struct json_object *objects; /* a list */
    const char *namespace_;      /* -n: of objects without one; NULL or "" if any matches */
};

enum { MANIFESTS_MAX_BYTES = 4 * 1024 * 1024 }; /* of a file */

/* Adds the documents of a file, or the items of a List in it. */
enum err manifests_add(struct manifests *manifests, const char *file, struct errinfo *ei) MUST_USE;
/* The object, of any version of its group; one without a namespace matches any, and gets the
 * requested one. NULL if there is none. The first argument is a struct manifests. */
struct json_object *manifests_find(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_, const char *name);
/* All of that kind, an object with "items". */
struct json_object *manifests_list(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_);

/* --- files named by a person: also pipes, and "-" for the standard input */

/* The name in messages: "-" is "<stdin>". */
const char *input_name(const char *file);
/* The whole of it, NUL-terminated and owned by the arena; waits for its end. More than max bytes
 * are ERR_INVALID. */
enum err input_read(struct arena *arena, const char *file, size_t max, char **out, size_t *len,
                    struct errinfo *ei) MUST_USE;

#endif
