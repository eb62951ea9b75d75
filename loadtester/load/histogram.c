#include "loadtester/load/histogram.h"

#include <math.h>

static const double FIRST_S = 1e-6;

int histogram_bucket(double seconds)
{
    if (!(seconds > FIRST_S))
        return 0;
    double place = ceil(log(seconds / FIRST_S) / log(HISTOGRAM_WIDTH));
    return place < HISTOGRAM_BUCKETS - 1 ? (int)place : HISTOGRAM_BUCKETS - 1;
}

static double upper_bound(int bucket)
{
    return FIRST_S * pow(HISTOGRAM_WIDTH, bucket);
}

void histogram_add(struct histogram *histogram, double seconds, int64_t count)
{
    double value = seconds > 0 ? seconds : 0;

    if (count <= 0)
        return;
    if (histogram->total == 0 || value < histogram->min_s)
        histogram->min_s = value;
    if (histogram->total == 0 || value > histogram->max_s)
        histogram->max_s = value;
    histogram->counts[histogram_bucket(value)] += count;
    histogram->total += count;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->total == 0)
        return;
    if (into->total == 0 || from->min_s < into->min_s)
        into->min_s = from->min_s;
    if (into->total == 0 || from->max_s > into->max_s)
        into->max_s = from->max_s;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->counts[i] += from->counts[i];
    into->total += from->total;
}

double histogram_percentile(const struct histogram *histogram, double percent)
{
    int64_t rank = (int64_t)ceil(percent / 100 * (double)histogram->total), seen = 0;
    int bucket = 0;

    if (histogram->total == 0)
        return -1;
    if (rank <= 1)
        rank = 1;
    for (; bucket < HISTOGRAM_BUCKETS - 1; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= rank)
            break;
    }
    /* The last bucket has no upper bound. */
    double bound = bucket < HISTOGRAM_BUCKETS - 1 ? upper_bound(bucket) : histogram->max_s;
    return bound < histogram->max_s ? bound : histogram->max_s;
}
