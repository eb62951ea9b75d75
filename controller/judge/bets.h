/*
 * The alternatives that are bet on: what the shares of bad requests might be, were the null false.
 *
 * Each bet is a rule that turns what was seen so far into the alternative for the next look, never
 * using that look itself. What a bet has won is the product of its ratios (judge/ratio.h). All bets
 * together have won the mean of that by their weights, which is a supermartingale under the null
 * like each of them. So nobody has to know beforehand how bad a bad version is: to have bet on too
 * many costs the logarithm of a weight once, not at each look.
 */
#ifndef JUDGE_BETS_H
#define JUDGE_BETS_H

#include "judge/ratio.h"

/* What the alternatives are made of: the sums of all looks, and of the last ones. */
struct judge_past {
    struct judge_counts canary, primary;
    struct judge_counts recent_canary, recent_primary;
};

/* The alternatives of all bets against the null; `above` of it says which list. Returns how many. */
int judge_bets(const struct judge_null *null, const struct judge_past *past,
               struct judge_shares alternatives[]);

/*
 * log of the mean of what the bets have won, each to the power of 1/clumps if it is a gain, or a bit
 * less. That bad requests come in clumps takes from gains only; a loss stays whole, which is never
 * too little. The factor belongs to what was won and not to each look: a clump that is found late
 * takes back what was won by it before.
 */
double judge_won(const double log_won[], bool above, double clumps);

#endif
