/*
 * What a pod runs where pods must answer: the demo app, a process of its own at the pod's address,
 * with the pod's image. The machine must take these addresses for its own.
 */
#ifndef REAL_PODSERVE_H
#define REAL_PODSERVE_H

#include "net/loop.h"

enum { PODSERVE_PORT = 9898 };

struct podserve;

/* Starts the program (flagger-demo-app). A process that ends by itself is told as an error. */
struct podserve *podserve_new(struct loop *loop, const char *program, const char *address,
                              const char *image, const char *pod);
/* Whether it has said that it listens. */
bool podserve_listens(const struct podserve *serve);
/* Ends the process; serve is freed when that has happened. NULL is nothing. */
void podserve_end(struct podserve *serve);

#endif
