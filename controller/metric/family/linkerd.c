/* Linkerd proxies. */
#include "metric/family.h"

const struct metric_family metric_family_linkerd = {
    .name = "linkerd",
    .success_rate = "sum( rate( response_total{ namespace=\"{{ namespace }}\", "
                    "deployment=~\"{{ target }}\", classification!=\"failure\", "
                    "direction=\"inbound\" }[{{ interval }}] ) ) / sum( rate( response_total{ "
                    "namespace=\"{{ namespace }}\", deployment=~\"{{ target }}\", "
                    "direction=\"inbound\" }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( response_latency_ms_bucket{ "
                "namespace=\"{{ namespace }}\", deployment=~\"{{ target }}\", "
                "direction=\"inbound\" }[{{ interval }}] ) ) by (le) )",
    .duration_to_ms = 1,
};
