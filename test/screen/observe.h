/*
 * What the cluster says of the Canary: its phase and weight as they change, and its events.
 */
#ifndef STORY_OBSERVE_H
#define STORY_OBSERVE_H

#include "kube/watch.h"
#include "proto/phase.h"

enum { OBSERVE_MAX_STEPS = 256, OBSERVE_TEXT = 200 };

/* The status at one moment; the next step's time is its end. */
struct step {
    int64_t at_ms; /* monotonic */
    enum phase phase;
    int weight;
    int failed_checks;
};

struct observe;
/* changed is called after every step and event. */
struct observe *observe_new(struct loop *loop, struct kube_client *kube, const char *namespace_,
                            const char *name, void (*changed)(void *arg), void *arg);
/* Watches no more; what was seen stays. */
void observe_stop(struct observe *observe);
void observe_free(struct observe *observe);

/* The last step; phase PHASE_NONE before the first. */
struct step observe_now(const struct observe *observe);
const struct step *observe_steps(const struct observe *observe, size_t *count);
/* The target has lost its traffic, and keeps its pods for a while. */
bool observe_draining(const struct observe *observe);
const char *observe_last_event(const struct observe *observe);
/* Events seen so far, to notice a new one. */
unsigned observe_events(const struct observe *observe);

#endif
