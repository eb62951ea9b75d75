/* The NGINX ingress controller, canary ingress only. */
#include "metric/family.h"

const struct metric_family metric_family_nginx = {
    .name = "nginx",
    .success_rate = "sum( rate( nginx_ingress_controller_requests{ namespace=\"{{ namespace "
                    "}}\", ingress=\"{{ ingress }}\", canary!=\"\", status!~\"5.*\" }[{{ interval "
                    "}}] ) ) / sum( rate( nginx_ingress_controller_requests{ namespace=\"{{ "
                    "namespace }}\", ingress=\"{{ ingress }}\", canary!=\"\" }[{{ interval }}] ) "
                    ") * 100",
    .duration = "sum( rate( nginx_ingress_controller_response_duration_seconds_sum{ "
                "namespace=\"{{ namespace }}\", ingress=\"{{ ingress }}\", canary!=\"\" }[{{ "
                "interval }}] ) ) / sum( rate( "
                "nginx_ingress_controller_response_duration_seconds_count{ "
                "namespace=\"{{ namespace }}\", ingress=\"{{ ingress }}\", canary!=\"\" }[{{ "
                "interval }}] ) ) * 1000",
    .duration_to_ms = 1,
};
