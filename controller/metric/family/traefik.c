/* Traefik services of its CRDs. */
#include "metric/family.h"

const struct metric_family metric_family_traefik = {
    .name = "traefik",
    .success_rate = "sum( rate( traefik_service_request_duration_seconds_bucket{ "
                    "service=~\"{{ namespace }}-{{ target "
                    "}}-canary-[0-9a-zA-Z-]+@kubernetescrd\", code!~\"5..\", le=\"+Inf\" }[{{ "
                    "interval }}] ) ) / sum( rate( "
                    "traefik_service_request_duration_seconds_bucket{ service=~\"{{ "
                    "namespace }}-{{ target }}-canary-[0-9a-zA-Z-]+@kubernetescrd\", "
                    "le=\"+Inf\" }[{{ interval }}] ) ) * 100",
    .duration = "histogram_quantile( 0.99, sum( rate( "
                "traefik_service_request_duration_seconds_bucket{ service=~\"{{ "
                "namespace }}-{{ target }}-canary-[0-9a-zA-Z-]+@kubernetescrd\" }[{{ "
                "interval }}] ) ) by (le) ) * 1000",
    .duration_to_ms = 1,
};
