/* How the traffic moves. What only the mesh understands goes into the Canary as it is, and is
 * checked there. */
#include <limits.h>

#include "proto/application_parts.h"
#include "proto/canary_parts.h"

enum { FULL_WEIGHT = 100 };

static struct json_object *read_step_weights(struct json_reader *r, struct json_object *json)
{
    struct json_object *array = json_read_array(r, json, "stepWeights", JSON_OPTIONAL);
    int64_t weight, below = 0;
    if (json_len(array) == 0)
        return NULL;
    for (size_t i = 0; i < json_len(array); i++) {
        if (!json_to_int(json_elem(array, i), &weight) || weight <= below || weight > FULL_WEIGHT) {
            canary_fail_element(
                r, array, i,
                arena_printf(r->arena, "a whole number from %d to 100", (int)below + 1));
            return NULL;
        }
        below = weight;
    }
    return array;
}

static void read_weights(struct json_reader *r, struct json_object *json,
                         struct rollout_routing *out)
{
    struct json_object *strategy = json_read_obj(r, json, "canaryStrategy", JSON_OPTIONAL);
    if (strategy == NULL)
        return;
    out->weighted = true;
    out->max_weight = canary_read_int(r, strategy, "maxWeight", 0, FULL_WEIGHT, 0);
    out->step_weight = canary_read_int(r, strategy, "stepWeight", 0, FULL_WEIGHT, 0);
    out->step_weight_promotion =
        canary_read_int(r, strategy, "stepWeightPromotion", 0, FULL_WEIGHT, 0);
    out->step_weights = read_step_weights(r, strategy);
    if ((out->step_weight > 0) == (out->step_weights != NULL))
        json_reader_fail(r, strategy, NULL, "expected stepWeight or stepWeights, found %s",
                         out->step_weights != NULL ? "both" : "neither");
}

static void read_match(struct json_reader *r, struct json_object *json, struct rollout_routing *out)
{
    struct json_object *match = json_read_array(r, json, "match", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(match); i++)
        (void)canary_read_element(r, match, i);
    out->match = json_len(match) > 0 ? match : NULL;
}

/* The release needs steps, of one kind; one without an analysis makes none. */
static void check_strategy(struct json_reader *r, struct json_object *policy,
                           struct json_object *json, const struct rollout *out)
{
    const struct rollout_routing *routing = &out->routing;
    if (routing->weighted && routing->iterations > 0)
        json_reader_fail(r, json, NULL, "expected canaryStrategy or analysisTimes, found both");
    else if (!routing->weighted && routing->iterations == 0 && !out->skip_analysis)
        json_reader_fail(r, json != NULL ? json : policy, json != NULL ? NULL : "trafficRouting",
                         "expected canaryStrategy or analysisTimes, found neither");
    else if (routing->host == NULL && out->provider->ingress_class != NULL)
        json_reader_fail(r, json != NULL ? json : policy, json != NULL ? "host" : "trafficRouting",
                         "required with trafficRoutingProvider %s: expected a host name",
                         out->provider->name);
}

void application_read_routing(struct json_reader *r, struct json_object *policy,
                              struct rollout *out)
{
    struct rollout_routing *routing = &out->routing;
    struct json_object *json = json_read_obj(r, policy, "trafficRouting", JSON_OPTIONAL);
    if (json != NULL) {
        routing->timeout_s = canary_read_int(r, json, "timeoutSeconds", 0, INT_MAX, 0);
        routing->gateways = canary_read_strings(r, json, "gateways");
        routing->hosts = canary_read_strings(r, json, "hosts");
        routing->retries = json_read_obj(r, json, "retries", JSON_OPTIONAL);
        routing->headers = json_read_obj(r, json, "headers", JSON_OPTIONAL);
        routing->cors_policy = json_read_obj(r, json, "corsPolicy", JSON_OPTIONAL);
        routing->host = canary_read_name(r, json, "host", JSON_OPTIONAL);
        routing->protocol = canary_read_name(r, json, "protocol", JSON_OPTIONAL);
        routing->iterations = canary_read_int(r, json, "analysisTimes", 0, INT_MAX, 0);
        read_weights(r, json, routing);
        read_match(r, json, routing);
    }
    check_strategy(r, policy, json, out);
}
