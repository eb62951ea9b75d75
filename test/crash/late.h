/* A write that was sent by a controller which died, and arrives when the next one is at work. */
#ifndef TORTURE_LATE_H
#define TORTURE_LATE_H

#include "api/objstore.h"

struct late {
    const char *verb, *path; /* as the API tells them */
    struct json_object *body;
};

/* Applies it as the API would; whether it was taken (a precondition may refuse it). */
bool late_apply(const struct late *late, struct arena *arena, struct objstore *store);

#endif
