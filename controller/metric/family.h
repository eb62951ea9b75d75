/* A family of built-in queries: request-success-rate and request-duration of one mesh
 * (metric/METRICS.md). */
#ifndef METRIC_FAMILY_H
#define METRIC_FAMILY_H

#include <stdbool.h>

struct metric_family {
    const char *name;
    const char *success_rate; /* query template, percent */
    const char *duration;     /* query template */
    double duration_to_ms;    /* factor from the query's unit to milliseconds */
    bool bare_rate_errors; /* an error of success_rate is told without "running query failed: " */
    bool plain_words;      /* names are rendered with every non-word character as '_' */
};

extern const struct metric_family *const metric_family_table[];
const struct metric_family *metric_family_find(const char *name);

#endif
