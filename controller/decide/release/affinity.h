/* The cookies of session affinity. */
#ifndef DECIDE_AFFINITY_H
#define DECIDE_AFFINITY_H

#include "decide/release/release.h"

/* The cookies that go with this share of the canary. */
struct cookies affinity_cookies(struct release *r, int canary);

#endif
