/* Knative's Envoy, by revision. */
#include "metric/family.h"

const struct metric_family metric_family_knative = {
    .name = "knative",
    .success_rate = "sum( rate( envoy_cluster_upstream_rq{ envoy_cluster_name=~\"{{ "
                    "namespace }}/{{ route }}\", envoy_response_code!~\"5.*\" }[{{ interval "
                    "}}] ) ) / sum( rate( envoy_cluster_upstream_rq{ "
                    "envoy_cluster_name=~\"{{ namespace }}/{{ route }}\", }[{{ interval }}] ) "
                    ") * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( "
                "envoy_cluster_upstream_rq_time_bucket{ envoy_cluster_name=~\"{{ "
                "namespace }}/{{ route }}\", }[{{ interval }}] ) ) by (le) )",
    .duration_to_ms = 1,
};
