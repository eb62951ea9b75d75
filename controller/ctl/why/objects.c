/* An object that the release needs is missing, or in the way. */
#include <string.h>

#include "ctl/why/parts.h"

static const char *kind_of(const struct why *w)
{
    return why_text(json_str_at(w->spec, "targetRef", "kind", NULL));
}

static const char *target_of(const struct why *w)
{
    return why_text(json_str_at(w->spec, "targetRef", "name", NULL));
}

static const char *describe(struct why *w, const char *suffix)
{
    return why_kubectl(w, "describe %s %s%s", kind_of(w), target_of(w), suffix);
}

static bool target_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "TargetFound", "False");

    if (!condition)
        return false;
    return why_say(w, describe(w, ""), "The target of %s cannot be released, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool pods_of_others(struct why *w)
{
    struct json_object *condition = why_condition(w, "PodsOwned", "False");
    const char *reason = json_str_at(condition, "reason", NULL);

    if (!condition || !reason || strcmp(reason, "SelectsOthers") != 0)
        return false;
    return why_say(w, why_kubectl(w, "get deployments,daemonsets,statefulsets --show-labels"),
                   "%s is not initialised, for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

static bool config_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "Configured", "False");

    if (!condition)
        condition = why_condition(w, "PrimaryConfigured", "False");
    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get configmaps,secrets"),
                   "A config that %s needs is missing, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool primary_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "PrimaryFound", "False");

    if (!condition)
        return false;
    return why_say(w, describe(w, "-primary"), "The primary of %s is not there, for %s: %s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool scaler_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "AutoscalerFound", "False");

    if (!condition)
        return false;
    return why_say(
        w, why_kubectl(w, "get %s", why_text(json_str_at(w->spec, "autoscalerRef", "kind", NULL))),
        "The autoscaler that %s names is missing, for %s: %s", w->name, why_since(w, condition),
        why_message(w, condition));
}

static bool queued(struct why *w)
{
    struct json_object *condition = why_condition(w, "Admitted", "False");

    if (!condition)
        return false;
    return why_say(w, arena_printf(w->arena, "%s get -A", w->program),
                   "%s waits for its turn, for %s: as many releases are under way as the "
                   "controller allows (--max-concurrent-releases). It begins by itself when one "
                   "has ended",
                   w->name, why_since(w, condition));
}

const struct why_situation why_objects[] = {{"target-missing", target_missing},
                                            {"pods-of-others", pods_of_others},
                                            {"config-missing", config_missing},
                                            {"primary-missing", primary_missing},
                                            {"scaler-missing", scaler_missing},
                                            {"queued", queued},
                                            {0}};
