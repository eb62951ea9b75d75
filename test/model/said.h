/* What the spec says of the objects is there at the end of every run, and what it says no longer is
 * not. */
#ifndef MODEL_SAID_H
#define MODEL_SAID_H

#include "model.h"

/* The rule that does not hold; NULL: all do. */
const char *said_wrong(struct model *model, const struct canary *canary,
                       const struct cluster *cluster);
/* NULL: the status has none of that type, or there is no Canary. */
struct json_object *said_condition(const struct canary *canary, const char *type);
bool said_initialising(const struct canary *canary);
bool said_analysing(const struct canary *canary);
/* It waits for the primary or the mesh, and has told so. */
bool said_holds(const struct canary *canary);
/* Pods of others are in the way of a share, until its deadline. */
bool said_impossible(const struct canary *canary);
/* A revision waits for a window of its spec to open. */
bool said_scheduled(const struct canary *canary);
/* It has told that it neither moves nor waits. */
bool said_stalled(const struct canary *canary);
/* It is analysed, and has been since before time passed: where it has a limit, that may be over. */
bool said_late(const struct canary *canary);
/* Its target has lost its traffic, and keeps its pods for a while. */
bool said_drains(const struct canary *canary);
/* Whoever looks at a release that waits sees for what: its phase says so, or a condition. */
bool said_why(const struct canary *canary);

/* The API server refuses a write for good; NULL: no Canary. */
bool said_refused(const struct canary *canary);

#endif
