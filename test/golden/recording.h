/*
 * Releases that were recorded with the reference on a real API server (test/data/recordings);
 * recordings.yaml names them, and how ours differs. Trees live in the arena.
 */
#ifndef GOLDEN_RECORDING_H
#define GOLDEN_RECORDING_H

#include "world.h"

/* {NAME: [{path, row} or {put, object}]}. */
struct json_object *recording_declared(struct arena *arena);
struct json_object *recording_read(struct arena *arena, const char *name);
/* "networking.istio.io/v1beta1/virtualservices/podinfo" is "virtualservices/podinfo" here. */
const char *recording_key(const char *path);
/* Only routes are compared: workloads and Services have defaults of the server in them, and tests of
 * their own. */
bool recording_is_route(const char *key);
/* The Canary's spec, and what was there of others before: also what only recordings.yaml has, in
 * another namespace, say. */
void recording_begin(struct world *world, struct json_object *recording,
                     struct json_object *declared);

#endif
