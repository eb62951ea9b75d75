/* Random numbers of a seed: the same on each machine. */
#ifndef JUDGE_DICE_H
#define JUDGE_DICE_H

#include <stdint.h>

struct dice {
    uint64_t state;
};

struct dice dice_of(uint64_t seed);
double dice_unit(struct dice *dice);                 /* above 0, below 1 */
double dice_poisson(struct dice *dice, double mean); /* how many of what comes at any time */
double dice_binomial(struct dice *dice, double n, double share);
double dice_geometric(struct dice *dice, double mean); /* at least 1 */

#endif
