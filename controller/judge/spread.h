/*
 * By how much bad requests come in clumps.
 *
 * The ratio of one look takes requests for independent, given their shares. They are not where one
 * client repeats a request ten times, or a connection dies with all that is on it: then ten bad
 * requests say as much as one. It is learned from the looks themselves: of two looks in a row, the
 * bad requests of both divide among them by chance, as their totals do, so
 *     (bad2 - bad * total2 / total)^2   has the mean   bad * total1 * total2 / total^2,
 * about, and clumps of G requests make it G times that. The sum of the left over the sum of the
 * right, over all pairs of looks of the primary and of the canary, is the estimate; beside it stands
 * one pair that nobody has seen, with clumps of two. The fewer pairs there were, the more it may be
 * too small by luck: it is raised to what it was not above, but for a chance that the caller gives
 * (the sum is as of a chi-squared distribution with as many degrees as pairs). So the first looks
 * show only what is gross. Looks at the primary alone, before the canary has requests, spare that.
 *
 * What a bet has won is taken to the power of 1/G (judge/bets.h). Of clumps of at most G, that are
 * independent of each other and as frequent per request in both versions, it is a supermartingale
 * again, to first order in the share of bad requests: E[x^(c/G)] - 1 <= E[c]/G * (x - 1) of a clump
 * of c <= G, by convexity.
 *
 * What both versions share, drift, days, outages of what they depend on, needs none of this: the
 * ratio of a look holds for any shares. That they make looks scatter costs power only.
 *
 * Where it ends: G is an estimate, so with clumps the rate is not proven, but simulated (test/judge:
 * clumps of random size with a mean of 3 and of 10, longer than the mean as often as not). Clumps
 * that only the canary has, from the first look on, count as what they are, evidence against it.
 */
#ifndef JUDGE_SPREAD_H
#define JUDGE_SPREAD_H

#include "judge/judge.h"

/* Takes in what a look shows beside the one before it, and keeps it as the last one. */
void judge_spread_look(struct judge_evidence *evidence, struct judge_counts canary,
                       struct judge_counts primary);

/* How many bad requests count as one, at least 1. It is more than that by this chance, about. */
double judge_clumps(const struct judge_evidence *evidence, double chance);

#endif
