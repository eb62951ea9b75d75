/*
 * The controllers' work queue: keys (controller, namespace, name), each at most once in the queue,
 * handled one after the other from the loop. A key that is due later is handled earlier when it is
 * added again.
 */
#ifndef CLUSTER_WORK_H
#define CLUSTER_WORK_H

#include <stdint.h>

#include "base/arena.h"
#include "net/loop.h"

struct work;
/* Brings the object named by the key to where it should be. The arena is freed afterwards. */
typedef void (*work_fn)(void *arg, struct arena *arena, const char *ns, const char *name);

struct work *work_new(struct loop *loop);
void work_free(struct work *work); /* pending keys are forgotten */
/* fn names the controller: keys of different functions are different. */
void work_add_after(struct work *work, work_fn fn, void *arg, const char *ns, const char *name,
                    int64_t delay_ms);

#endif
