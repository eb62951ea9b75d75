/* Istio telemetry. */
#include "metric/family.h"

const struct metric_family metric_family_istio = {
    .name = "istio",
    .success_rate = "sum( rate( istio_requests_total{ reporter=\"destination\", "
                    "destination_workload_namespace=\"{{ namespace }}\", "
                    "destination_workload=~\"{{ target }}\", response_code!~\"5.*\" }[{{ "
                    "interval }}] ) ) / sum( rate( istio_requests_total{ "
                    "reporter=\"destination\", destination_workload_namespace=\"{{ namespace "
                    "}}\", destination_workload=~\"{{ target }}\" }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( "
                "istio_request_duration_milliseconds_bucket{ reporter=\"destination\", "
                "destination_workload_namespace=\"{{ namespace }}\", "
                "destination_workload=~\"{{ target }}\" }[{{ interval }}] ) ) by (le) )",
    .duration_to_ms = 1,
};
