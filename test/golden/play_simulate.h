/* A release, and what people are told before of how it would go. */
#ifndef GOLDEN_PLAY_SIMULATE_H
#define GOLDEN_PLAY_SIMULATE_H

#include "play.h"

/* Before the initialisation: simulates the release of this image, then plays it, and compares. What
 * is refused must be refused by the rules with the same sentence. */
void play_simulated(struct play *play, const char *image);

#endif
