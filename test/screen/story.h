/*
 * The stories of the demo: releases one after the other, each with the end it must have, and what
 * was seen of them.
 */
#ifndef STORY_STORY_H
#define STORY_STORY_H

#include "kube/kube_client.h"
#include "screen/observe.h"
#include "screen/screen.h"
#include "screen/traffic.h"

struct release {
    const char *tag;     /* of the image */
    const char *version; /* what the app then says it is */
    const char *title;
    enum phase outcome; /* Succeeded or Failed */
    bool gated;         /* waits at the gate, which is opened with curl */
    /* what happened */
    int64_t began_ms, ended_ms; /* monotonic; ended 0 if not yet */
    enum phase ended_as;
    size_t first_step, last_step; /* of the observer's steps: [first, last] */
};

struct story_options {
    struct loop *loop;
    const char *kubeconfig, *namespace_, *canary, *container, *image; /* image without the tag */
    const char *gate_url;     /* base URL of the gate, as it is seen from here */
    const char *gate_headers; /* file of what to send with it; NULL if nothing */
    struct kube_client *kube; /* also tells how many requests the sandbox was sent */
    struct observe *observe;
    struct traffic *traffic;
    struct screen *screen;
    struct release *releases;
    int n_releases;
    int64_t idle_ms;     /* how long the idle canary is watched before the first release */
    int64_t deadline_ms; /* of each release */
    void (*done)(void *arg);
    void *arg;
};

struct story;
struct story *story_new(const struct story_options *options);
void story_free(struct story *story);
/* The Canary changed, or an event came. */
void story_changed(struct story *story);
/* Why it could not go on, "" when all was well so far. */
const char *story_trouble(const struct story *story);
/* API requests of the controller, watches apart, while the canary was idle; -1 when not counted. */
int64_t story_idle_requests(const struct story *story);

#endif
