/* Open Service Mesh. */
#include "metric/family.h"

const struct metric_family metric_family_osm = {
    .name = "osm",
    .success_rate = "sum( rate( osm_request_total{ destination_namespace=\"{{ namespace }}\", "
                    "destination_kind=\"Deployment\", destination_name=\"{{ target }}\", "
                    "response_code!~\"5.*\" }[{{ interval }}] ) ) / sum( rate( "
                    "osm_request_total{ destination_namespace=\"{{ namespace }}\", "
                    "destination_kind=\"Deployment\", destination_name=\"{{ target }}\" }[{{ "
                    "interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( osm_request_duration_ms_bucket{ "
                "destination_namespace=\"{{ namespace }}\", "
                "destination_kind=\"Deployment\", destination_name=\"{{ target }}\" }[{{ "
                "interval }}] ) ) by (le) )",
    .duration_to_ms = 1,
};
