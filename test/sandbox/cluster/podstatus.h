/* The status of a pod as a kubelet writes it. Pure. */
#ifndef CLUSTER_PODSTATUS_H
#define CLUSTER_PODSTATUS_H

#include "base/json.h"

enum pod_state {
    POD_WAITING,  /* cannot start yet: something it refers to is missing */
    POD_RUNNING,  /* its process runs, or the simulation says so */
    POD_BACKOFF,  /* ended, and will be started again */
    POD_STOPPING, /* is being deleted */
};

struct podstatus_in {
    struct json_object *pod;
    enum pod_state state;
    const char *container; /* name of the one that is the process or the simulation */
    const char *address;
    bool ready;
    int64_t ready_changed_ms; /* wall clock, as all times here */
    int64_t started_ms;       /* of the pod */
    int64_t running_ms;       /* of the container's present run */
    int restarts;
    const char *reason, *message; /* while waiting or backing off */
    bool has_last;                /* the container ended before */
    int last_exit, last_signal;
    int64_t last_ended_ms;
};

/* Owned by the arena. */
struct json_object *podstatus_make(struct arena *arena, const struct podstatus_in *in);

#endif
