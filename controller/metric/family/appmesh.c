/* App Mesh: Envoy, by pod name. */
#include "metric/family.h"

const struct metric_family metric_family_appmesh = {
    .name = "appmesh",
    .success_rate =
        "sum( rate( envoy_cluster_upstream_rq{ kubernetes_namespace=\"{{ namespace }}\", "
        "kubernetes_pod_name=~\"{{ pods }}\", envoy_response_code!~\"5.*\" }[{{ interval }}] ) ) / "
        "sum( rate( envoy_cluster_upstream_rq{ kubernetes_namespace=\"{{ namespace }}\", "
        "kubernetes_pod_name=~\"{{ pods }}\" }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( envoy_cluster_upstream_rq_time_bucket{ "
                "kubernetes_namespace=\"{{ namespace }}\", kubernetes_pod_name=~\"{{ pods }}\" "
                "}[{{ interval }}] ) ) by (le) )",
    .duration_to_ms = 1,
};
