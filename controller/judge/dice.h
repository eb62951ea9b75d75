/* Random numbers from a seed: the same on every machine. */
#ifndef JUDGE_DICE_H
#define JUDGE_DICE_H

#include <stdint.h>

struct dice {
    uint64_t state;
};

struct dice dice_of(uint64_t seed);
double dice_unit(struct dice *dice);                 /* above 0, below 1 */
double dice_poisson(struct dice *dice, double mean); /* number of events at random times */
double dice_binomial(struct dice *dice, double n, double share);
double dice_geometric(struct dice *dice, double mean); /* at least 1 */

#endif
