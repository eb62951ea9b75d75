/* The primary's copy of a ScaledObject against KEDA's own schema. */
#include <string.h>

#include "base/yaml.h"
#include "object/schema.h"
#include "test/unit.h"
#include "world.h"

CASE(test_the_copy_fits_the_schema)
{
    struct world *w = world_new(
        "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','name':"
        "'podinfo'}}}");
    struct json_object *docs = NULL;
    struct schema *schema = NULL;
    struct causes causes = {.arena = w->arena};
    struct schema_paths unknown = {0};
    struct errinfo ei;

    world_put(w, "scaledobjects/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':2,'maxReplicaCount':5,"
              "'scaleTargetRef':{'name':'podinfo'},'triggers':[{'type':'prometheus','metadata':{"
              "'serverAddress':'http://p','threshold':'5','query':'x{app=~`podinfo-.*`}'}}]}}");
    if (yaml_parse_file(w->arena, "test/data/crds/keda.yaml", JSON_MAX_BYTES, &docs, &ei))
        fail_msg("%s", ei.text);
    struct json_object *versions = json_at(json_elem(docs, 0), "spec", "versions", NULL);
    assert_string_equal(json_str_at(json_elem(versions, 0), "name", NULL), "v1alpha1");
    assert_int_equal(
        schema_compile(json_at(json_elem(versions, 0), "schema", "openAPIV3Schema", NULL), &schema,
                       &ei),
        ERR_OK);
    world_patch(w, "scaledobjects/podinfo",
                "{'spec':{'pollingInterval':5,'cooldownPeriod':6,'idleReplicaCount':1,"
                "'initialCooldownPeriod':7,'advanced':{'horizontalPodAutoscalerConfig':{'name':'h'"
                "},'scalingModifiers':{'formula':'a'}},'fallback':{'failureThreshold':1,"
                "'replicas':2}}}");
    world_initialise(w);
    struct json_object *copy = world_get(w, "scaledobjects/podinfo-primary");
    schema_prune(schema, w->arena, copy, &unknown);
    assert_int_equal(unknown.count, 0);
    if (!schema_validate(schema, copy, &causes))
        fail_msg("%s", cause_text(&causes));
    schema_free(schema);
    world_free(w);
}
