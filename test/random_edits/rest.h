/*
 * A time of rest: nobody edits anything. Every release must come to its end, or say what it waits
 * for, and then the controller must be quiet: no request but its watches.
 */
#ifndef EDITS_REST_H
#define EDITS_REST_H

#include "random_edits/judge.h"

struct rest_options {
    struct arena *arena;
    struct kube_client *kube;
    const struct view *view;
    struct judge *judge;
    const struct app *const *apps;
    size_t n_apps;
    int64_t since_ms; /* the last edit, monotonic */
};

struct rest;
struct rest *rest_new(const struct rest_options *options);
/* To be called a few times a second. */
void rest_step(struct rest *rest);
bool rest_done(const struct rest *rest);

#endif
