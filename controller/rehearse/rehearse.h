/*
 * How a release would go: the rules of the controller play it in a cluster that is only pretended.
 * Pods are ready at once, metrics are fine, webhooks pass and nobody asks for a rollback; time
 * goes as fast as the rules wait. First the Canary is initialised, then its target gets a new
 * revision. Pure; nothing is written and nobody is asked.
 */
#ifndef REHEARSE_REHEARSE_H
#define REHEARSE_REHEARSE_H

#include "tick/tick.h"

enum { REHEARSE_MAX_RUNS = 1000 };

/* The cluster as it is before: objects with their status, borrowed for the rehearsal. */
struct rehearse_source {
    /* NULL: there is none; what a Canary needs is then made up, where that can be done. */
    struct json_object *(*find)(void *arg, const struct kube_resource *resource,
                                const char *namespace_, const char *name);
    /* All of a namespace, an object with "items"; NULL: none. */
    struct json_object *(*list)(void *arg, const struct kube_resource *resource,
                                const char *namespace_);
    void *arg;
};

/* A run of the rules in which something was to be seen. */
struct rehearsal_step {
    struct rehearsal_step *next;
    int64_t at_ms; /* since the new revision came */
    enum phase phase;
    int primary, canary; /* percent of the traffic that is routed after it */
    bool mirrored, matched;
    const char *hooks;   /* names of webhooks that were asked, "gate, load"; "" */
    const char *metrics; /* names of metrics that were asked, the same */
    const char *said;    /* events, a line for each; "" */
};

struct rehearsal {
    const struct rehearsal_step *steps; /* of the release */
    const char *refused;                /* why nothing begins; NULL: it does */
    bool unfinished;                    /* it would go on after REHEARSE_MAX_RUNS */
    const char *provider;
    const char *strategy; /* as it is really run: "canary", "blue-green", "ab-testing" */
    int64_t interval_ms;
    struct json_object *made;    /* the objects that the initialisation makes, a list */
    struct json_object *changed; /* those of the source that it changes, as they are then */
    struct json_object *assumed; /* what was made up: "deployments test/podinfo", a list of texts */
};

/* All of it lives in the arena, and so must the Canary. ERR_INVALID: it cannot be read. */
enum err rehearse(struct arena *arena, const struct settings *settings, struct json_object *canary,
                  const struct rehearse_source *source, struct rehearsal *out,
                  struct errinfo *ei) MUST_USE;

#endif
