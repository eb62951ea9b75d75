/* Contour's Envoy, by canary cluster. */
#include "metric/family.h"

const struct metric_family metric_family_contour = {
    .name = "contour",
    .success_rate = "sum( rate( envoy_cluster_upstream_rq{ envoy_cluster_name=~\"{{ "
                    "namespace }}_{{ service }}-canary_[0-9a-zA-Z-]+\", "
                    "envoy_response_code!~\"5.*\" }[{{ interval }}] ) ) / sum( rate( "
                    "envoy_cluster_upstream_rq{ envoy_cluster_name=~\"{{ namespace }}_{{ "
                    "service }}-canary_[0-9a-zA-Z-]+\", }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( "
                "envoy_cluster_upstream_rq_time_bucket{ envoy_cluster_name=~\"{{ "
                "namespace }}_{{ service }}-canary_[0-9a-zA-Z-]+\", }[{{ interval }}] ) "
                ") by (le) )",
    .duration_to_ms = 1,
};
