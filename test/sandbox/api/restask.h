/*
 * What a request brings: the parts of its path, what its Accept header wants back, and bodies in
 * Kubernetes' protobuf encoding. Pure; texts live in the arena.
 */
#ifndef SANDBOX_RESTASK_H
#define SANDBOX_RESTASK_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum restas {
    REST_AS_ITSELF,
    REST_AS_TABLE,
    REST_AS_PARTIAL, /* PartialObjectMetadata(List) */
};

struct restaccept {
    bool acceptable; /* false: 406 */
    enum restas as;
    const char *version; /* of as, "v1" */
};

/* NULL or empty: JSON. The first media type in the list that can be served wins. */
struct restaccept restaccept_parse(struct arena *arena, const char *header);

/* /api/v1/..., /apis/GROUP/VERSION/..., with namespace, resource, name and subresource, percent-decoded.
 */
struct restpath {
    const char *full;    /* as sent */
    bool resource;       /* names a resource: group, version and plural are set */
    const char *group;   /* "" for core; NULL when there is none */
    const char *version; /* NULL: discovery of a group */
    const char *plural;  /* NULL: discovery of a version */
    const char *ns;      /* NULL if none */
    const char *name;    /* NULL: the collection */
    const char *sub;     /* NULL if none; "status", "scale", "log" */
    bool excess;         /* more parts than anything has: 404 */
};

struct restpath restpath_parse(struct arena *arena, const char *path);

/*
 * kubectl's typed commands (create namespace, create configmap, auth can-i, ...) send nothing but
 * protobuf since 1.32, so the kinds that they make are known here; answers are always JSON, which
 * every client takes. *out is the body as a tree.
 * ERR_INVALID: damaged, of an unknown kind, or with a field that is not known here (the text names
 * it).
 */
enum err restproto_read(struct arena *arena, const void *data, size_t len, struct json_object **out,
                        struct errinfo *ei) MUST_USE;

#endif
