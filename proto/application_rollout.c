/* What is released, and with what beside it. */
#include <limits.h>
#include <string.h>

#include "proto/application_parts.h"
#include "proto/canary_parts.h"

static const char loader_suffix[] = "-testloader";

static void read_workload(struct json_reader *r, struct json_object *json, const char *namespace_,
                          struct rollout *out)
{
    struct json_object *ref = json_read_obj(r, json, "workload", JSON_REQUIRED);
    if (ref == NULL)
        return;
    const char *version = canary_read_name(r, ref, "apiVersion", JSON_OPTIONAL);
    const char *kind = canary_read_name(r, ref, "kind", JSON_OPTIONAL);
    const char *in =
        application_read_name(r, ref, "namespace", JSON_OPTIONAL, APPLICATION_MAX_LABEL);
    out->workload = (struct canary_ref){
        .api_version = version != NULL ? version : "apps/v1",
        .kind = kind != NULL ? kind : "Deployment",
        .name = application_read_name(r, ref, "name", JSON_REQUIRED, APPLICATION_MAX_NAME),
        .namespace_ = in != NULL ? in : namespace_,
    };
    if (strcmp(out->workload.kind, "Deployment") != 0 &&
        strcmp(out->workload.kind, "DaemonSet") != 0)
        json_reader_fail(r, ref, "kind", "expected Deployment or DaemonSet, found \"%s\"", kind);
}

/* true or false, or {testLoader, removeOnDelete}, which asks for one unless it says otherwise. */
static void read_loader(struct json_reader *r, struct json_object *json, struct rollout *out)
{
    struct json_object *value = json_at(json, "testLoader", NULL);
    if (value == NULL || json_object_is_type(value, json_type_boolean)) {
        out->loader = json_read_bool(r, json, "testLoader", false);
    } else if (json_object_is_type(value, json_type_object)) {
        struct json_object *loader = json_read_obj(r, json, "testLoader", JSON_REQUIRED);
        out->loader = json_read_bool(r, loader, "testLoader", true);
        out->keep_loader = !json_read_bool(r, loader, "removeOnDelete", false);
    } else {
        json_reader_fail(r, json, "testLoader", "expected true, false or an object, found %s",
                         json_text(r->arena, value));
    }
    size_t most = APPLICATION_MAX_LABEL - strlen(loader_suffix);
    if (r->err == ERR_OK && out->loader && strlen(out->workload.name) > most)
        json_reader_fail(r, json_at(json, "workload", NULL), "name",
                         "expected at most %zu characters, for its load tester is a Service of "
                         "that name and %s, found %zu",
                         most, loader_suffix, strlen(out->workload.name));
}

static struct json_object *read_metadata(struct json_reader *r, struct json_object *json,
                                         const char *key)
{
    struct json_object *metadata = json_read_obj(r, json, key, JSON_OPTIONAL);
    if (metadata != NULL) {
        (void)canary_read_map(r, metadata, "labels");
        (void)canary_read_map(r, metadata, "annotations");
    }
    return metadata;
}

static const struct rollout_provider *read_provider(struct json_reader *r, struct json_object *json)
{
    const char *text = canary_read_name(r, json, "trafficRoutingProvider", JSON_OPTIONAL);
    const struct rollout_provider *provider = rollout_provider_find(text);
    if (provider != NULL)
        return provider;
    json_reader_fail(r, json, "trafficRoutingProvider", "expected %s, found \"%s\"",
                     rollout_provider_names(r->arena), text);
    return rollout_provider_find(NULL);
}

static void read_policy(struct json_reader *r, struct json_object *json, struct rollout *out)
{
    struct json_object *policy = json_read_obj(r, json, "rolloutPolicy", JSON_REQUIRED);
    if (policy == NULL)
        return;
    out->skip_analysis = json_read_bool(r, policy, "skipTrafficAnalysis", false);
    out->suspend = json_read_bool(r, policy, "suspend", false);
    if (json_at(policy, "revertOnDeletion", NULL) != NULL)
        out->revert = json_read_bool(r, policy, "revertOnDeletion", true) ? REVERT_YES : REVERT_NO;
    out->deadline_s = canary_read_int(r, policy, "rolloutTimeoutSeconds", 0, INT_MAX, 0);
    application_read_routing(r, policy, out);
    application_read_analysis(r, policy, &out->analysis);
}

struct rollout *application_read_rollout(struct json_reader *r, struct json_object *policy,
                                         const struct application *app)
{
    struct json_object *json = json_read_obj(r, policy, "rollout", JSON_OPTIONAL);
    if (json == NULL)
        return NULL;
    struct rollout *out = ARENA_NEW(r->arena, struct rollout);
    out->provider = read_provider(r, json);
    read_workload(r, json, app->namespace_, out);
    out->service_name =
        application_read_name(r, json, "serviceName", JSON_REQUIRED, APPLICATION_MAX_LABEL);
    if (json_at(json, "port", NULL) == NULL)
        json_reader_fail(r, json, "port", "required: expected a port of Service %s",
                         out->service_name != NULL ? out->service_name : "serviceName");
    out->port = canary_read_int(r, json, "port", 1, 65535, 0);
    read_loader(r, json, out);
    out->primary = read_metadata(r, json, "primary");
    out->preview = read_metadata(r, json, "preview");
    read_policy(r, json, out);
    return out;
}
