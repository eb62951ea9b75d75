/*
 * One cluster with one real controller: an API server, the actors, a Prometheus and webhooks in
 * this process, the controller in a process of its own, which is killed at one chosen write and
 * started again. Ends when the release has ended, or when it takes too long.
 *
 * At each change it looks whether traffic goes to those who can answer (safety.h).
 *
 * A world is alone in its process: it has the loop, and leaves by itself (run.h).
 */
#ifndef TORTURE_WORLD_H
#define TORTURE_WORLD_H

#include "crash/scenario.h"

/* A request of the controller: the number-th with this key. */
struct kill_point {
    const char *key; /* "patch canaries/podinfo/status", "create event Advance ...", "ask metric" */
    int number;      /* from 1 on */
    bool applied;    /* it is applied before the controller dies, though never answered */
    int late; /* not applied before the next controller's write with this number; 0: never then */
};

struct world_options {
    const struct scenario *scenario;
    const char *controller; /* program */
    const char *crds;       /* directories with CRDs, with commas between */
    const char *directory;  /* for files; must exist */
    const char *snapshot;
    int64_t watch_delay_ms; /* so late the controller sees what happens */
    bool prepare; /* makes the snapshot: all that is there when the release begins. Otherwise begins
                     with it. */
    const struct kill_point *point; /* NULL: undisturbed */
    const char *expected;           /* outcome to wait for; NULL: any with the scenario's phase */
};

/*
 * What happened, owned by the arena: {"trouble": sentence, or absent when the release has ended as
 * it should, "killed": bool, "outcome": text, "milliseconds": n, "writes": [{"key", "number",
 * "what", "call": true for metrics and webhooks}]}.
 */
struct json_object *world_run(struct arena *arena, const struct world_options *options);

#endif
