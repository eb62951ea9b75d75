/*
 * The program's own metrics in Prometheus text exposition 0.0.4.
 *
 * A metric is a static struct beside the code that owns it, registered once; samples are found by
 * their label values and created on first use. Not thread-safe: one loop, one registry.
 *
 *     static struct metrics_family requests = {.name = "gate_requests_total",
 *                                              .help = "...",
 *                                              .type = METRICS_COUNTER,
 *                                              .labels = {"path", "code"}};
 *     metrics_add(&requests, 1, "/gate/check", "200");
 *
 * The number of label values must equal the number of labels. At most METRICS_MAX_SAMPLES label
 * sets per metric are kept (default 10,000; .max_samples): beyond that samples are dropped and
 * expo_dropped_samples_total counts them.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdint.h>

#include "base/buf.h"

enum { METRICS_MAX_LABELS = 4, METRICS_MAX_SAMPLES = 10000 };
enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

struct metrics_writer; /* passed to report() while a metric is written */

struct metrics_family {
    const char *name;
    const char *help;
    const char *labels[METRICS_MAX_LABELS + 1]; /* NULL-ended */
    const double *buckets; /* histogram: ascending upper bounds, ends with 0; NULL for Prometheus'
                            * default buckets */
    uint32_t max_samples;
    enum metrics_type type;
    /* For a counter or gauge with values kept by its owner: calls metrics_report() for each
     * sample. It has no other samples, no maximum, and is registered by metrics_register(). */
    void (*report)(struct metrics_writer *writer);
    struct metrics_sample *samples; /* private */
    struct metrics_family *next;    /* private */
    uint32_t count;                 /* private */
};

/* Label values follow as const char *, one for each label. The first use registers the metric. */
void metrics_add_(struct metrics_family *metric, double amount,
                  const char *const *values); /* counter, gauge */
void metrics_set_(struct metrics_family *metric, double value,
                  const char *const *values); /* gauge */
void metrics_observe_(struct metrics_family *metric, double value,
                      const char *const *values); /* histogram */
void metrics_forget_(struct metrics_family *metric,
                     const char *const *values); /* drops the sample */
/* Drops all samples that begin with these label values; fewer values than labels may be given. */
void metrics_forget_all_(struct metrics_family *metric, const char *const *values);
double metrics_value_(struct metrics_family *metric,
                      const char *const *values); /* counter, gauge; histogram: count */
void metrics_report_(struct metrics_writer *writer, double value, const char *const *values);
#define METRICS_VALUES_(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define metrics_add(metric, amount, ...)                                                           \
    metrics_add_((metric), (amount), METRICS_VALUES_(__VA_ARGS__))
#define metrics_set(metric, value, ...)                                                            \
    metrics_set_((metric), (value), METRICS_VALUES_(__VA_ARGS__))
#define metrics_observe(metric, value, ...)                                                        \
    metrics_observe_((metric), (value), METRICS_VALUES_(__VA_ARGS__))
#define metrics_forget(metric, ...)     metrics_forget_((metric), METRICS_VALUES_(__VA_ARGS__))
#define metrics_forget_all(metric, ...) metrics_forget_all_((metric), METRICS_VALUES_(__VA_ARGS__))
#define metrics_report(writer, value, ...)                                                         \
    metrics_report_((writer), (value), METRICS_VALUES_(__VA_ARGS__))
#define metrics_value(metric, ...) metrics_value_((metric), METRICS_VALUES_(__VA_ARGS__))

/* Registers a metric; one without labels is 0 before its first use. */
void metrics_register(struct metrics_family *metric);
/* Writes all registered metrics by name, plus process_resident_memory_bytes,
 * process_cpu_seconds_total, process_open_fds and process_start_time_seconds, as far as /proc has
 * them. */
void metrics_write(struct buf *out);
/* Frees all samples and unregisters all metrics; for the end of the process and for tests. */
void metrics_reset(void);

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

#endif
