#include "target/common_past.h"

#include "base/clock.h"
#include "target/common_configs.h"
#include "target/common_primary.h"
#include "tick/edit.h"

/* What a promotion left out comes back from the target, on the chance that it is still the same. */
static void put_back_toolkit(struct tick *tick, struct json_object *metadata, const char *key,
                             struct json_object *target)
{
    struct json_object *given = json_at(target, key, NULL);
    struct json_object *kept = edit_without_toolkit(tick->arena, given);

    if (!given)
        return;
    json_object_object_foreach(given, name, value)
    {
        if (!json_at(kept, name, NULL))
            edit_put(tick->arena, json_sub(metadata, key), name, value);
    }
}

const char *past_primary_hash(struct tick *tick, const struct workload *kind,
                              const struct target_info *info)
{
    struct json_object *template =
        edit_overlay(tick->arena, NULL, json_at(info->primary, "spec", "template", NULL));
    struct json_object *metadata = json_sub(template, "metadata");
    struct json_object *annotations = json_at(metadata, "annotations", NULL);
    struct json_object *target = json_at(info->template, "metadata", NULL);
    char *hash = arena_alloc(tick->arena, SPECHASH_TEXT);
    struct errinfo ei;

    json_del(annotations, PRIMARY_ID);
    put_back_toolkit(tick, metadata, "labels", target);
    put_back_toolkit(tick, metadata, "annotations", target);
    if (annotations && json_count(annotations) == 0)
        json_del(metadata, "annotations");
    json_set_str(json_sub(metadata, "labels"), info->label, info->label_value);
    struct json_object *spec = json_sub(template, "spec");
    if (tick->settings->config_tracking)
        configs_unname(tick, spec);
    primary_rewrite_affinity(tick, info, spec, false);
    return workload_hash(tick->arena, kind, template, hash, &ei) == ERR_OK ? hash : "";
}

static bool later(const char *text, int64_t *latest_ms)
{
    struct errinfo ei;
    int64_t ms;

    if (!text || clock_parse(text, &ms, &ei) != ERR_OK)
        return false;
    *latest_ms = ms > *latest_ms ? ms : *latest_ms;
    return true;
}

/* When somebody last wrote something that he wrote the template with. */
static bool template_written(struct json_object *object, int64_t *latest_ms)
{
    struct json_object *managers = json_at(object, "metadata", "managedFields", NULL);
    bool known = false;

    for (size_t i = 0; i < json_len(managers); i++) {
        struct json_object *entry = json_elem(managers, i);
        if (!json_at(entry, "fieldsV1", "f:spec", "f:template", NULL))
            continue;
        if (!later(json_str_at(entry, "time", NULL), latest_ms))
            return false;
        known = true;
    }
    return known;
}

bool past_untouched_since(struct tick *tick, const struct target_info *info, int64_t ms)
{
    struct json_object *object = info->object;
    int64_t latest_ms = INT64_MIN;

    (void)tick;
    if (workload_is_unobserved(object))
        return false;
    if (template_written(object, &latest_ms))
        return latest_ms < ms;
    /* Whoever strips managedFields leaves only what the Deployment controller tells. */
    struct json_object *progress = workload_condition(object, "Progressing");
    return later(json_str_at(progress, "lastUpdateTime", NULL), &latest_ms) && latest_ms < ms;
}
