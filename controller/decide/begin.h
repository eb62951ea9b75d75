/* The target of a release that begins. */
#ifndef DECIDE_BEGIN_H
#define DECIDE_BEGIN_H

#include "decide/release/release.h"

/* The target gets its replicas, as many as its scaler or the primary say. */
enum verdict begin_scale_up(struct release *r);

#endif
