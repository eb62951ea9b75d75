/*
 * The end of a round for one app: a person puts everything right again and releases a last version,
 * which every client must get.
 */
#ifndef EDITS_HEAL_H
#define EDITS_HEAL_H

#include "random_edits/clients.h"
#include "random_edits/judge.h"
#include "random_edits/stage.h"

struct heal_options {
    struct arena *arena;
    struct kube_client *kube;
    const struct view *view;
    struct judge *judge;
    struct stage *stage;
    const struct clients *clients;
    const struct app *app;
};

struct heal;
struct heal *heal_new(const struct heal_options *options);
/* To be called a few times a second. */
void heal_step(struct heal *heal);
bool heal_done(const struct heal *heal); /* or the app is broken */

#endif
