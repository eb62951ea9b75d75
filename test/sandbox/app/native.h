/*
 * Durations of the demo app as a native histogram of Prometheus, of resolution 3 (eight buckets for
 * each doubling), and its exposition by protobuf: there is none as text.
 *
 * Source: https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto
 */
#ifndef SANDBOX_NATIVE_H
#define SANDBOX_NATIVE_H

#include <stdint.h>

#include "base/buf.h"

#define NATIVE_CONTENT_TYPE                                                                        \
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"

/* From 2^(NATIVE_LEAST/8) to 2^(NATIVE_MOST/8) seconds: 1 ms to 17 minutes. */
enum { NATIVE_LEAST = -80, NATIVE_MOST = 80, NATIVE_SERIES = 16 };

struct native_series {
    int status; /* the label; 0: unused */
    uint64_t zero, counts[NATIVE_MOST - NATIVE_LEAST + 1];
    double sum;
};

struct native_histogram {
    const char *name, *help;
    struct native_series series[NATIVE_SERIES];
};

/* Statuses beyond NATIVE_SERIES are those of the last one. */
void native_observe(struct native_histogram *histogram, double seconds, int status);
/* Appends the family, with its length before it. */
void native_write(const struct native_histogram *histogram, struct buf *out);

#endif
