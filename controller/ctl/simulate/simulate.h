/*
 * Simulates a release: the rules of the controller run in a cluster in memory. Pods are ready at
 * once, metrics and webhooks pass, gates are opened, no rollback is requested, and time jumps to the next wake-up.
 * The Canary is initialised, then its target gets a new revision. Pure: nothing is written or
 * asked.
 */
#ifndef SIMULATE_SIMULATE_H
#define SIMULATE_SIMULATE_H

#include "tick/tick.h"

enum { SIMULATE_MAX_RUNS = 1000 };

/* The initial cluster: objects with their status, borrowed for the simulation. */
struct simulation_source {
    /* NULL if there is none; objects that the Canary needs are then assumed, if possible. */
    struct json_object *(*find)(void *arg, const struct kube_resource *resource,
                                const char *namespace_, const char *name);
    /* All of a namespace, an object with "items"; NULL if none. */
    struct json_object *(*list)(void *arg, const struct kube_resource *resource,
                                const char *namespace_);
    void *arg;
};

/* A run of the rules with a visible result. */
struct simulation_step {
    struct simulation_step *next;
    int64_t at_ms; /* since the new revision came */
    enum phase phase;
    int primary, canary; /* shares of the traffic that are routed after it (proto/weight.h) */
    bool mirrored, matched;
    const char *hooks;   /* names of webhooks that were asked, "gate, load"; "" */
    const char *metrics; /* names of metrics that were asked, the same */
    const char *said;    /* events, a line for each; "" */
};

struct simulation {
    const struct simulation_step *steps; /* of the release */
    const char *refused;                 /* why nothing begins; NULL if it does */
    bool unfinished;                     /* it would go on after SIMULATE_MAX_RUNS */
    const char *provider;
    const char *strategy; /* as it is really run: "canary", "blue-green", "ab-testing" */
    int64_t interval_ms;
    struct json_object *made;    /* the objects that the initialisation makes, a list */
    struct json_object *changed; /* those of the source that it changes, as they are then */
    struct json_object *assumed; /* assumptions: "deployments test/podinfo", a list of texts */
};

/* All of it lives in the arena, and so must the Canary. ERR_INVALID: it cannot be read. */
enum err simulate(struct arena *arena, const struct settings *settings, struct json_object *canary,
                  const struct simulation_source *source, struct simulation *out,
                  struct errinfo *ei) MUST_USE;

#endif
