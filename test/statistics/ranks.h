/*
 * A judge by ranks, as Kayenta's: two samples of shares are compared by the Mann-Whitney test, once a
 * step, with all that was measured since the release began. Only to be compared with.
 *
 * Source: "Automated Canary Analysis at Netflix with Kayenta" (2018), and the documents of its
 * judge: a metric has failed if the confidence interval of 98 % of the difference lies above a
 * quarter of its estimate.
 */
#ifndef JUDGE_RANKS_H
#define JUDGE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

/* At most so many measurements of each side. */
enum { RANKS_MOST = 512 };

/*
 * True if the canary's measurements are higher. The interval is that of Hodges and Lehmann, by the
 * normal approximation with ties; it needs three of each side.
 */
bool ranks_higher(const double canary[], size_t n_canary, const double primary[], size_t n_primary);

#endif
