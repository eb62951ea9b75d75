/* Worlds in processes of their own, several at a time. */
#ifndef TORTURE_RUN_H
#define TORTURE_RUN_H

#include "crash/world.h"

struct run {
    struct world_options options; /* directory is filled in */
    struct json_object *result;   /* as world_run() tells; never NULL afterwards */
};

/*
 * Runs all of them, `jobs` at a time, each with a directory of its own below `directory`; those of
 * runs without trouble are removed. Results are the arena's. done is told of each that has ended.
 */
void run_all(struct arena *arena, struct run *runs, size_t count, int jobs, const char *directory,
             void (*done)(void *arg, const struct run *run), void *arg);
/* Removes what a run with trouble has left. */
void run_forget(struct arena *arena, const struct run *run);

#endif
