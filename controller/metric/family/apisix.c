/* APISIX routes. */
#include "metric/family.h"

const struct metric_family metric_family_apisix = {
    .name = "apisix",
    .success_rate = "sum( rate( apisix_http_status{ route=~\"{{ namespace }}_{{ route }}-{{ "
                    "target }}-canary_.+\", code!~\"5..\" }[{{ interval }}] ) ) / sum( rate( "
                    "apisix_http_status{ route=~\"{{ namespace }}_{{ route }}-{{ target "
                    "}}-canary_.+\" }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( apisix_http_latency_bucket{ "
                "type=~\"request\", route=~\"{{ namespace }}_{{ route }}-{{ target "
                "}}-canary_.+\" }[{{ interval }}] ) ) by (le) )",
    .duration_to_ms = 1,
};
