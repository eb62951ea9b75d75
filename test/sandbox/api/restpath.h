/*
 * The parts of a request's path: /api/v1/..., /apis/GROUP/VERSION/..., with namespace, resource,
 * name and subresource. Pure; the texts are percent-decoded and live in the arena.
 */
#ifndef SANDBOX_RESTPATH_H
#define SANDBOX_RESTPATH_H

#include <stdbool.h>

#include "base/arena.h"

struct restpath {
    const char *full;    /* as sent */
    bool resource;       /* names a resource: group, version and plural are set */
    const char *group;   /* "" for core; NULL when there is none */
    const char *version; /* NULL: discovery of a group */
    const char *plural;  /* NULL: discovery of a version */
    const char *ns;      /* NULL: none */
    const char *name;    /* NULL: the collection */
    const char *sub;     /* NULL: none; "status", "scale", "log" */
    bool excess;         /* more parts than anything has: 404 */
};

struct restpath restpath_parse(struct arena *arena, const char *path);

#endif
