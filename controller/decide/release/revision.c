/* Which revision the target is, beside those that the status speaks of. */
#include "decide/release/revision.h"

#include <string.h>

#include "decide/release/steering.h"
#include "target/common_configs.h"

bool revision_is_flaggers(const struct release *r)
{
    return !r->canary->status.service_name;
}

/* Flagger does not track binaryData: a status of its own says nothing about it. */
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

    /* Without one of them nothing can be said; nothing steps then. */
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
    /* A person who puts the promoted spec back has rolled back by hand. */
    if (!revision_is_promoted(r) && !revision_is_applied(r))
        return true;
    return revision_configs_changed(r);
}
