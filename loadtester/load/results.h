/*
 * Results of one pod of a load test, read from its log as the text arrives: each of five formats
 * turns it into counts and a histogram. Memory is bounded: a line of LINE bytes or, for a format
 * that is one JSON text, `max` bytes.
 *
 * A log that does not begin as its format requires, or ends in the middle, is an error: a node
 * rotates logs, and a truncated log must not be taken for a good result.
 */
#ifndef LOADTESTER_LOAD_RESULTS_H
#define LOADTESTER_LOAD_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * --- A histogram of durations with fixed logarithmic buckets. All histograms have the same
 * buckets, so that a sum of histograms is the histogram of all samples: its percentiles are those
 * of all samples, within one bucket. A mean of percentiles does not have this property.
 *
 * Each bucket's upper bound is HISTOGRAM_WIDTH times that of the bucket below it. The first bucket
 * holds all samples up to a microsecond, the last one all samples above an hour.
 */
#define HISTOGRAM_WIDTH 1.05

enum { HISTOGRAM_BUCKETS = 453 };

/* Embedded by its owner; all zero: no samples. */
struct histogram {
    int64_t counts[HISTOGRAM_BUCKETS];
    int64_t total;
    double min_s, max_s; /* exact; only with samples */
};

/* Adds samples of the same duration. A negative duration, or one that is not a number, counts as
 * 0. */
void histogram_add(struct histogram *histogram, double seconds, int64_t count);
void histogram_merge(struct histogram *into, const struct histogram *from);
/*
 * The nearest-rank percentile, percent from 0 to 100, in seconds: the upper bound of the bucket of
 * that sample, or the maximum if that is less. Negative without samples.
 */
double histogram_percentile(const struct histogram *histogram, double percent);
/* The bucket of a duration, from 0. */
int histogram_bucket(double seconds);

/* --- results */

struct load_counts {
    int64_t requests; /* including failed ones */
    int64_t failures; /* unanswered, or with an answer that is not a success */
    struct histogram times;
};

void load_counts_merge(struct load_counts *into, const struct load_counts *from);

struct results_format;
/* hey-csv, ghz-json, k6-json, jtl, histogram; NULL if there is no such format. */
const struct results_format *results_format_find(const char *name);
/* "hey-csv, ghz-json, ...", for errors; owned by the arena. */
const char *results_format_names(struct arena *arena);

enum { RESULTS_LINE = 64 * 1024, RESULTS_MAX_JSON = 16 * 1024 * 1024 };

struct results;
struct results *results_new(const struct results_format *format);
void results_free(struct results *results);
/* False after an error; nothing more needs to be read then. */
bool results_add(struct results *results, const char *data, size_t len);
/* Must be called at the end of the log. ERR_INVALID with a sentence if it contains no complete
 * result. */
enum err results_end(struct results *results, struct load_counts *out, struct errinfo *ei) MUST_USE;

#endif
