/* The target's revision compared with those in the status, and pinning the target to one. */
#include "decide/revision.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/steering.h"
#include "target/shared/configs.h"

bool revision_is_flaggers(const struct release *r)
{
    return !r->canary->status.service_name;
}

/* Flagger does not track binaryData: its status says nothing about it. */
static bool is_unknown_binary(const struct release *r, const char *key)
{
    size_t len = strlen(key), suffix = strlen(CONFIGS_BINARY);

    return revision_is_flaggers(r) && len > suffix &&
           strcmp(key + len - suffix, CONFIGS_BINARY) == 0 &&
           !json_at(r->canary->status.tracked_configs, key, NULL);
}

bool revision_configs_changed(const struct release *r)
{
    struct json_object *now = r->info.configs;
    struct json_object *tracked = r->canary->status.tracked_configs;

    /* Unknown while a config is missing; no rule makes a step then. */
    if (!now || r->info.missing)
        return false;
    json_object_object_foreach(now, key, value)
    {
        if (!is_unknown_binary(r, key) && !json_same(json_at(tracked, key, NULL), value))
            return true;
    }
    if (!json_object_is_type(tracked, json_type_object))
        return false;
    json_object_object_foreach(tracked, old_key, old_value)
    {
        if (old_value && !json_at(now, old_key, NULL))
            return true;
    }
    return false;
}

bool revision_is_promoted(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_promoted_spec) == 0;
}

bool revision_is_applied(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0;
}

bool revision_changed(struct release *r)
{
    if (!*r->canary->status.last_applied_spec || steering_is_analysed_again(r))
        return true;
    /* Restoring the promoted spec is a manual rollback. */
    if (!revision_is_promoted(r) && !revision_is_applied(r))
        return true;
    return revision_configs_changed(r);
}
