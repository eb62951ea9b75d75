/*
 * Simulates a release: the controller's rules run in a cluster in memory. Pods are ready at once,
 * metrics and webhooks pass, gates are opened, no rollback is requested, and time jumps to the next
 * wake-up. The Canary is initialised, and then its target gets a new revision. Pure: no request is
 * made and nothing is written.
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
    /* All objects in a namespace, an object with "items"; NULL if none. */
    struct json_object *(*list)(void *arg, const struct kube_resource *resource,
                                const char *namespace_);
    void *arg;
};

/* A run of the rules that had a visible result. */
struct simulation_step {
    struct simulation_step *next;
    int64_t at_ms; /* since the new revision was pushed */
    enum phase phase;
    int primary, canary; /* shares of the traffic after it (proto/weight.h) */
    bool mirrored, matched;
    const char *hooks;   /* names of the webhooks that were called, "gate, load"; "" */
    const char *metrics; /* names of the metrics that were queried, the same */
    const char *said;    /* events, one line each; "" */
};

struct simulation {
    const struct simulation_step *steps; /* steps of the release */
    const char *refused;                 /* why nothing starts; NULL if it does */
    bool unfinished;                     /* it would go on after SIMULATE_MAX_RUNS */
    const char *provider;
    const char *strategy; /* the one that is really used: "canary", "blue-green", "ab-testing" */
    int64_t interval_ms;
    struct json_object *made;    /* the objects that the initialisation creates, a list */
    struct json_object *changed; /* objects of the source that it changes, as they are afterwards */
    struct json_object *assumed; /* assumed objects: "deployments test/podinfo", a list of texts */
};

/* Everything lives in the arena, and the Canary must, too. ERR_INVALID: the Canary cannot be
 * read. */
enum err simulate(struct arena *arena, const struct settings *settings, struct json_object *canary,
                  const struct simulation_source *source, struct simulation *out,
                  struct errinfo *ei) MUST_USE;

#endif
