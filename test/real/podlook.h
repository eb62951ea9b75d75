/* What the pretend node reads of a pod, and when such a pod is ready. Pure. */
#ifndef REAL_PODLOOK_H
#define REAL_PODLOOK_H

#include "base/json.h"

struct podlook {
    const char *node; /* NULL: bound to none yet */
    /* The node that its affinity names, as a DaemonSet's pods have it; or NULL. */
    const char *wants;
    bool deleting;
    bool running, ready; /* as its status says */
    bool never;          /* its image crashes */
    bool held;           /* an annotation says that it is not ready */
    const char *image;   /* of its first container; or NULL */
    int64_t delay_ms;    /* of the readiness probe */
    int64_t grace_ms;    /* that it is given to end, once it is deleted */
};

/* Texts are borrowed from the pod. */
void podlook_read(struct arena *arena, struct json_object *pod, struct podlook *out);
/* Whether it is ready after it has run for so long. */
bool podlook_ready(const struct podlook *look, int64_t running_for_ms);

#endif
