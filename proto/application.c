#include "proto/application.h"

#include <string.h>

#include "proto/application_parts.h"
#include "proto/canary_parts.h"

static const char *or_else(const char *text, const char *missing)
{
    return text != NULL ? text : missing;
}

static void read_metadata(struct json_reader *r, struct json_object *object,
                          struct application *out)
{
    const char *kind = json_read_str(r, object, "kind", JSON_OPTIONAL);
    if (kind != NULL && strcmp(kind, "Application") != 0)
        json_reader_fail(r, object, "kind", "expected Application, found \"%s\"", kind);
    const char *version = json_read_str(r, object, "apiVersion", JSON_OPTIONAL);
    /* Argo CD has Applications as well. */
    if (version != NULL && strncmp(version, "apps.kurator.dev/", 17) != 0)
        json_reader_fail(r, object, "apiVersion",
                         "expected apps.kurator.dev/v1alpha1, found \"%s\"", version);
    struct json_object *metadata = json_read_obj(r, object, "metadata", JSON_REQUIRED);
    out->name = canary_read_name(r, metadata, "name", JSON_REQUIRED);
    out->namespace_ = or_else(
        application_read_name(r, metadata, "namespace", JSON_OPTIONAL, APPLICATION_MAX_LABEL),
        "default");
    out->uid = or_else(json_read_str(r, metadata, "uid", JSON_OPTIONAL), "");
    out->resource_version =
        or_else(json_read_str(r, metadata, "resourceVersion", JSON_OPTIONAL), "");
    out->generation = json_read_int(r, metadata, "generation", 0, INT64_MAX, 0);
    out->deleting = json_read_str(r, metadata, "deletionTimestamp", JSON_OPTIONAL) != NULL;
}

bool application_read_destination(struct json_reader *r, struct json_object *parent,
                                  struct application_destination *out)
{
    struct json_object *json = json_read_obj(r, parent, "destination", JSON_OPTIONAL);
    if (json == NULL)
        return false;
    out->fleet = application_read_name(r, json, "fleet", JSON_REQUIRED, APPLICATION_MAX_NAME);
    struct json_object *selector = json_read_obj(r, json, "clusterSelector", JSON_OPTIONAL);
    out->labels = selector != NULL ? canary_read_map(r, selector, "matchLabels") : NULL;
    return true;
}

/* A policy is told from the others by its name, also in what it has made on the clusters. */
static void check_name(struct json_reader *r, struct json_object *json,
                       const struct application *out, int index)
{
    for (int i = 0; r->err == ERR_OK && i < index; i++) {
        if (strcmp(out->policies[i].name, out->policies[index].name) == 0)
            json_reader_fail(r, json, "name",
                             "expected another name than that of syncPolicies[%d], found \"%s\"", i,
                             out->policies[index].name);
    }
}

static void read_policy(struct json_reader *r, struct json_object *json,
                        const struct application_destination *common, struct application *out,
                        int index)
{
    struct application_policy *policy = &out->policies[index];
    policy->name = application_read_name(r, json, "name", JSON_OPTIONAL, APPLICATION_MAX_NAME);
    if (policy->name == NULL)
        policy->name = arena_printf(r->arena, "%s-%d", or_else(out->name, ""), index);
    check_name(r, json, out, index);
    if (!application_read_destination(r, json, &policy->destination))
        policy->destination = *common;
    policy->rollout = application_read_rollout(r, json, out);
}

static void read_spec(struct json_reader *r, struct json_object *spec, struct application *out)
{
    struct application_destination common = {0};
    (void)application_read_destination(r, spec, &common);
    struct json_object *array = json_read_array(r, spec, "syncPolicies", JSON_REQUIRED);
    size_t n = json_len(array);
    if (n > APPLICATION_MAX_POLICIES) {
        json_reader_fail(r, spec, "syncPolicies", "expected at most %d of them, found %zu",
                         (int)APPLICATION_MAX_POLICIES, n);
        return;
    }
    out->policies = arena_array(r->arena, n, sizeof *out->policies);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_policy(r, json, &common, out, (int)i);
    }
    out->n_policies = (int)n;
}

enum err application_view(struct arena *arena, struct json_object *object, struct application *out,
                          struct errinfo *ei)
{
    *out = (struct application){.json = object};
    if (!json_object_is_type(object, json_type_object))
        return err_set(ei, ERR_INVALID, "expected an Application object, found %.40s",
                       json_text(arena, object));
    struct json_reader r = {.arena = arena};
    read_metadata(&r, object, out);
    struct json_object *spec = json_read_obj(&r, object, "spec", JSON_REQUIRED);
    if (spec != NULL)
        read_spec(&r, spec, out);
    if (r.err != ERR_OK)
        return err_set(ei, r.err, "%s", r.info.text);
    return ERR_OK;
}
