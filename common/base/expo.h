/*
 * The program's own metrics in Prometheus text exposition 0.0.4.
 *
 * A metric is a static struct beside the code that owns it, registered once; samples are found by
 * their label values and made on first use. Not thread-safe: one loop, one registry.
 *
 *     static struct expo_metric requests = {.name = "gate_requests_total",
 *                                           .help = "...",
 *                                           .type = EXPO_COUNTER,
 *                                           .labels = {"path", "code"}};
 *     expo_add(&requests, 1, "/gate/check", "200");
 *
 * The number of label values given must equal the number of labels. At most EXPO_MAX_SAMPLES label
 * sets per metric are kept (default 10,000; .max_samples): beyond that samples are dropped and
 * expo_dropped_samples_total counts them.
 */
#ifndef BASE_EXPO_H
#define BASE_EXPO_H

#include <stdint.h>

#include "base/buf.h"

enum { EXPO_MAX_LABELS = 4, EXPO_MAX_SAMPLES = 10000 };
enum expo_type { EXPO_COUNTER, EXPO_GAUGE, EXPO_HISTOGRAM };

struct expo_telling; /* of the samples of a metric, while they are written */

struct expo_metric {
    const char *name;
    const char *help;
    const char *labels[EXPO_MAX_LABELS + 1]; /* NULL-ended */
    const double *buckets; /* histogram: ascending upper bounds, ended by 0; NULL for Prometheus'
                              default buckets */
    uint32_t max_samples;
    enum expo_type type;
    /* Of a counter or gauge whose values its owner keeps: calls expo_tell() for each sample. It has
     * no others, no maximum, and is registered by expo_register(). */
    void (*tell)(struct expo_telling *telling);
    struct expo_sample *samples; /* private */
    struct expo_metric *next;    /* private */
    uint32_t count;              /* private */
};

/* Label values follow as const char *, as many as the metric has labels. The first use registers
 * the metric. */
void expo_add_(struct expo_metric *metric, double amount,
               const char *const *values); /* counter, gauge */
void expo_set_(struct expo_metric *metric, double value, const char *const *values); /* gauge */
void expo_observe_(struct expo_metric *metric, double value,
                   const char *const *values);                            /* histogram */
void expo_forget_(struct expo_metric *metric, const char *const *values); /* drops the sample */
/* Drops every sample whose first labels have these values: fewer than there are labels may be
 * given. */
void expo_forget_all_(struct expo_metric *metric, const char *const *values);
double expo_value_(struct expo_metric *metric,
                   const char *const *values); /* counter, gauge; histogram: count */
void expo_tell_(struct expo_telling *telling, double value, const char *const *values);
#define EXPO_VALUES_(...)                ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define expo_add(metric, amount, ...)    expo_add_((metric), (amount), EXPO_VALUES_(__VA_ARGS__))
#define expo_set(metric, value, ...)     expo_set_((metric), (value), EXPO_VALUES_(__VA_ARGS__))
#define expo_observe(metric, value, ...) expo_observe_((metric), (value), EXPO_VALUES_(__VA_ARGS__))
#define expo_forget(metric, ...)         expo_forget_((metric), EXPO_VALUES_(__VA_ARGS__))
#define expo_forget_all(metric, ...)     expo_forget_all_((metric), EXPO_VALUES_(__VA_ARGS__))
#define expo_tell(telling, value, ...)   expo_tell_((telling), (value), EXPO_VALUES_(__VA_ARGS__))
#define expo_value(metric, ...)          expo_value_((metric), EXPO_VALUES_(__VA_ARGS__))

/* Shows a metric with no labels as 0 before its first use. */
void expo_register(struct expo_metric *metric);
/* Everything registered, metrics by name, plus process_resident_memory_bytes,
 * process_cpu_seconds_total, process_open_fds and process_start_time_seconds. */
void expo_write(struct buf *out);
/* Frees all samples and forgets all metrics; for the end of the process and for tests. */
void expo_reset(void);

#define EXPO_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

#endif
