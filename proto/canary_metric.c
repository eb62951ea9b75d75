/* The metrics whose queries the router knows. */
#include <string.h>

#include "proto/canary.h"

bool canary_metric_is_success_rate(const struct canary_metric *metric)
{
    return metric->name != NULL && strcmp(metric->name, "request-success-rate") == 0;
}

bool canary_metric_is_duration(const struct canary_metric *metric)
{
    return metric->name != NULL && strcmp(metric->name, "request-duration") == 0;
}

bool canary_metric_is_builtin(const struct canary_metric *metric)
{
    return canary_metric_is_success_rate(metric) || canary_metric_is_duration(metric);
}
