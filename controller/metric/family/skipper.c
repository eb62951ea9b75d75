/* Skipper's routes; names are written with word characters only. */
#include "metric/family.h"

const struct metric_family metric_family_skipper = {
    .name = "skipper",
    .success_rate = "sum(rate(skipper_response_duration_seconds_bucket{route=~\"kube(ew)?_{{ "
                    "namespace }}__{{ ingress }}_canary__.*__{{ service "
                    "}}_canary(_[0-9]+)?\",code!~\"5..\",le=\"+Inf\"}[{{ interval }}])) / "
                    "sum(rate(skipper_response_duration_seconds_bucket{route=~\"kube(ew)?_{{ "
                    "namespace }}__{{ ingress }}_canary__.*__{{ service "
                    "}}_canary(_[0-9]+)?\",le=\"+Inf\"}[{{ interval }}])) * 100",
    .duration = "sum(rate(skipper_serve_route_duration_seconds_sum{route=~\"kube(ew)?_{{ "
                "namespace }}__{{ ingress }}_canary__.*__{{ service "
                "}}_canary(_[0-9]+)?\"}[{{ interval }}])) / "
                "sum(rate(skipper_serve_route_duration_seconds_count{route=~\"kube(ew)?_{{ "
                "namespace }}__{{ ingress }}_canary__.*__{{ service "
                "}}_canary(_[0-9]+)?\"}[{{ interval }}])) * 1000",
    .duration_to_ms = 1,
    .plain_words = true,
};
