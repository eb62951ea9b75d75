/*
 * By how much bad requests come in clumps.
 *
 * The ratio of one look takes requests for independent, given their shares. They are not where one
 * client repeats a request ten times, or a connection dies with all that is on it: then ten bad
 * requests say as much as one. It is learned from the looks themselves: of two looks in a row, the
 * bad requests of both divide among them by chance, as their totals do, so
 *     (bad2 - bad * total2 / total)^2   has the mean   bad * total1 * total2 / total^2,
 * about, and clumps of G requests make it G times that. The sum of the left over the sum of the
 * right, over all pairs of looks of the primary and of the canary, is the estimate. Drift and daily
 * changes hardly count, for neighbours are compared; a sudden change of both versions does count,
 * which costs power but gives no false alarm.
 *
 * What a bet has won is then taken to the power of 1/G. Of requests in clumps of at most G, that are
 * independent of each other and as frequent per request in both versions, it is a supermartingale
 * again (to first order in the share of bad requests: by convexity
 * E[x^(c/G)] - 1 <= E[c]/G * (x - 1) of a clump of c <= G).
 *
 * Where that ends: clumps larger than any seen so far, and clumps that only the canary has, count as
 * what they are, evidence against the canary.
 */
#ifndef JUDGE_SPREAD_H
#define JUDGE_SPREAD_H

#include "judge/judge.h"

/* Takes in what a look shows beside the one before it, and keeps it as the last one. */
void judge_spread_look(struct judge_evidence *evidence, struct judge_counts canary,
                       struct judge_counts primary);

#endif
