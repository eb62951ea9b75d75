/* The target of a release that begins. */
#ifndef DECIDE_SCALE_UP_H
#define DECIDE_SCALE_UP_H

#include "decide/release/release.h"

/* The target gets its replicas, as many as its scaler or the primary say. */
enum verdict scale_up_target(struct release *r);

#endif
