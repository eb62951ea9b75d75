/*
 * The edits of one app, one after the other: each waits for its moment, is made, and its requests
 * are answered before the next one begins to wait.
 */
#ifndef EDITS_TRACK_H
#define EDITS_TRACK_H

#include "random_edits/judge.h"
#include "random_edits/pick.h"
#include "random_edits/stage.h"

struct track_options {
    struct arena *arena;
    struct kube_client *kube;
    struct http_client *http; /* to pods */
    const struct view *view;
    struct judge *judge;
    struct stage *stage;
    const struct app *app;    /* NULL: the controller's */
    struct pick *pick;        /* where the edits come from, or: */
    const struct line *lines; /* those of this app are taken */
    size_t n_lines;
    int64_t until_ms; /* monotonic; no edit begins later. 0: when the lines are through */
    /* Told of each edit when it is made; returns its number. */
    int (*made)(void *arg, const struct line *line);
    /* ... and when a request of it was refused. */
    void (*refused)(void *arg, const struct line *line, const char *text);
    void *arg;
};

struct track;
struct track *track_new(const struct track_options *options);
/* To be called a few times a second. */
void track_step(struct track *track);
bool track_done(const struct track *track);
/* The last edit was made then, monotonic. */
int64_t track_last_ms(const struct track *track);
/* No further edits. */
void track_end(struct track *track);

#endif
