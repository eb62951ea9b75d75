/* What the pods themselves report; seconds. */
#include "metric/family.h"

const struct metric_family metric_family_http = {
    .name = "http",
    .success_rate =
        "sum( rate( http_request_duration_seconds_count{ kubernetes_namespace=\"{{ namespace }}\", "
        "kubernetes_pod_name=~\"{{ pods }}\", status!~\"5.*\" }[{{ interval }}] ) ) / sum( rate( "
        "http_request_duration_seconds_count{ kubernetes_namespace=\"{{ namespace }}\", "
        "kubernetes_pod_name=~\"{{ pods }}\" }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( http_request_duration_seconds_bucket{ "
                "kubernetes_namespace=\"{{ namespace }}\", kubernetes_pod_name=~\"{{ pods }}\" "
                "}[{{ interval }}] ) ) by (le) )",
    .duration_to_ms = 1000,
    .bare_rate_errors = true,
};
