/*
 * A histogram of durations with fixed logarithmic buckets. All histograms have the same buckets, so
 * that a sum of histograms is the histogram of all samples: its percentiles are those of all
 * samples, within one bucket. A mean of percentiles is not.
 *
 * Each bucket's upper bound is HISTOGRAM_WIDTH times that of the bucket below it. The first bucket
 * holds all samples up to a microsecond, the last one all above an hour.
 */
#ifndef LOADTESTER_LOAD_HISTOGRAM_H
#define LOADTESTER_LOAD_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_WIDTH 1.05

enum { HISTOGRAM_BUCKETS = 453 };

/* Embedded by its owner; zeroed: no samples. */
struct histogram {
    int64_t counts[HISTOGRAM_BUCKETS];
    int64_t total;
    double min_s, max_s; /* exact; only with samples */
};

/* Samples of the same duration. A negative duration, or one that is no number, counts as 0. */
void histogram_add(struct histogram *histogram, double seconds, int64_t count);
void histogram_merge(struct histogram *into, const struct histogram *from);
/*
 * The nearest-rank percentile, percent from 0 to 100, in seconds: the upper bound of the bucket of
 * that sample, or the maximum if that is less. Negative without samples.
 */
double histogram_percentile(const struct histogram *histogram, double percent);
/* The bucket of a duration, from 0. */
int histogram_bucket(double seconds);

#endif
