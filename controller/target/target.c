#include "target/target.h"

#include <stdarg.h>
#include <string.h>

/* "apps" for "apps/v1"; "" for "v1", and for "core/v1" in old manifests. */
static bool is_group(const char *api_version, const char *group)
{
    size_t len = strcspn(api_version, "/");

    if (!api_version[len] || strncmp(api_version, "core/", strlen("core/")) == 0)
        return !*group;
    return strlen(group) == len && strncmp(api_version, group, len) == 0;
}

const struct target *target_find(const char *api_version, const char *kind)
{
    for (size_t i = 0; kind && target_table[i]; i++) {
        const struct target *target = target_table[i];
        if (strcmp(target->kind, kind) == 0 &&
            (!target->group || is_group(api_version, target->group)))
            return target;
    }
    return NULL;
}

/* Kinds that users may try, and why a copy of each cannot be released (details in
 * proto/COMPATIBILITY.md). */
static const struct {
    const char *kind, *why;
} refused[] = {
    {"StatefulSet",
     "a StatefulSet cannot be released beside itself: its pods have names and volumes of their "
     "own, "
     "which a second set would not share, so that the canary would serve other data than the "
     "primary; release its stateless callers with a Canary, and the set itself by "
     "updateStrategy.rollingUpdate.partition"},
    {"ReplicaSet", "a ReplicaSet belongs to its Deployment; name that"},
    {"Pod", "a single Pod cannot be rolled out; name the Deployment or DaemonSet that makes it"},
};

const char *target_refusal(struct arena *arena, const char *api_version, const char *kind)
{
    const char *all = "";

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (strcmp(refused[i].kind, kind) == 0)
            return arena_printf(arena, "spec.targetRef.kind: %s", refused[i].why);
    }
    for (size_t i = 0; target_table[i]; i++) {
        const char *group = target_table[i]->group;
        all = arena_printf(arena, "%s%s%s%s%s", all, *all ? ", " : "", target_table[i]->kind,
                           group && *group ? " of " : "", group ? group : "");
    }
    return arena_printf(arena,
                        "spec.targetRef: %s of %s is not served by this version, which has %s",
                        kind, *api_version ? api_version : "no apiVersion", all);
}

enum rule_result target_unusable(struct tick *tick, struct target_info *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    out->unusable = arena_vprintf(tick->arena, fmt, args);
    va_end(args);
    return RULE_DONE;
}

const char *side_condition(enum side side)
{
    return side == SIDE_PRIMARY ? "PrimaryReady" : "CanaryReady";
}
