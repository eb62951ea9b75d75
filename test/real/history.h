/*
 * The history of a namespace, as the recorder wrote it, and what must hold at every revision of it:
 *
 *   weights   the weights of a route's rule add up to 100
 *   pods      once it has had one, a Service that users call, or that a route gives weight to,
 *             always selects a ready pod
 *   endpoints the same of the endpoints that it is served from: one of them is a ready pod
 *   status    at the end, a Canary's status says the weight that its route has
 *   rest      at the end, every Canary has come to rest
 *   owner     no Service of a Canary selects a pod of another workload
 *   capacity  no step of the controller leads to a side with fewer pods than its share
 *   number    the controller writes no number of replicas that an autoscaler of others owns
 *   gate      no hook is asked about a revision that confirm-rollout has not let in
 *   told      a write that is refused is not told at every tick
 *   health    tools that know nothing of releases can read every status
 *
 * The last six are those of releases.h; that no side has a share and no ready pod is `pods`.
 * Users call a Service that is not one of Flagger's, "-primary" or "-canary". Endpoints follow the
 * pods a little later, in every cluster: only what lasts longer than HISTORY_LAG_MS counts there.
 *
 * Pure but for history_read().
 */
#ifndef REAL_HISTORY_H
#define REAL_HISTORY_H

#include "base/json.h"

enum { HISTORY_LAG_MS = 2000 };

/* An array of lines, sorted by revision; owned by the arena. */
enum err history_read(struct arena *arena, const char *path, struct json_object **out,
                      struct errinfo *ei) MUST_USE;
/* Sorts the lines by revision; lines of one revision keep their order. */
void history_sort(struct json_object *lines);

/* Calls fn for each violation, with the rule's name and a sentence. Returns their number. */
size_t history_check(struct json_object *lines,
                     void (*fn)(void *arg, const char *rule, const char *sentence), void *arg);

#endif
