/* Envoy with Crossover, by canary cluster. */
#include "metric/family.h"

const struct metric_family metric_family_crossover = {
    .name = "crossover",
    .success_rate = "sum( rate( envoy_cluster_upstream_rq{ kubernetes_namespace=\"{{ "
                    "namespace }}\", envoy_cluster_name=\"{{ target }}-canary\", "
                    "envoy_response_code!~\"5.*\" }[{{ interval }}] ) ) / sum( rate( "
                    "envoy_cluster_upstream_rq{ kubernetes_namespace=\"{{ namespace }}\", "
                    "envoy_cluster_name=\"{{ target }}-canary\" }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( "
                "envoy_cluster_upstream_rq_time_bucket{ kubernetes_namespace=\"{{ "
                "namespace }}\", envoy_cluster_name=\"{{ target }}-canary\" }[{{ interval "
                "}}] ) ) by (le) )",
    .duration_to_ms = 1,
};
