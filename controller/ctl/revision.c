#include "ctl/revision.h"

#include "target/target.h"

/* As the controller's defaults. Configs have no part in the hash, and people may not read Secrets. */
static const struct settings *settings(void)
{
    static const char *const labels[] = {"app", "name", "app.kubernetes.io/name", NULL};
    static const char *const none[] = {NULL};
    static const struct settings defaults = {.mesh_provider = "",
                                             .metrics_server = "",
                                             .selector_labels = labels,
                                             .include_label_prefixes = none,
                                             .cluster_name = "",
                                             .min_analysis_interval_ms = 10000};

    return &defaults;
}

/* False: it could not be read. */
static bool answer(struct ctl *ctl, struct tick *tick, const struct need *need)
{
    struct json_object *object = NULL;
    struct errinfo ei = {0};

    if (need->kind != NEED_OBJECT || !need->name)
        return false;
    enum err err = read_get(ctl, need->resource, need->namespace_, need->name, &object, &ei);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return false;
    fact_object(tick, need, err == ERR_OK ? object : NULL);
    return true;
}

const char *revision_of_target(struct ctl *ctl, struct json_object *canary)
{
    enum { ROUNDS = 16 };
    struct canary view;
    struct target_info info;
    struct errinfo ei = {0};

    if (canary_view(ctl->arena, canary, &view, &ei) != ERR_OK)
        return NULL;
    const struct target *target = target_find(view.target.api_version, view.target.kind);
    if (!target)
        return NULL;
    struct tick *tick = tick_new(ctl->arena, &view, settings(), 0, true);
    for (int round = 0; round < ROUNDS; round++) {
        info = (struct target_info){0};
        enum verdict verdict = target->read(tick, &info);
        if (verdict != VERDICT_NEED_FACTS)
            return verdict == VERDICT_GO && info.hash[0] ? arena_strdup(ctl->arena, info.hash)
                                                         : NULL;
        for (const struct need *need = tick->needs; need; need = need->next)
            if (!answer(ctl, tick, need))
                return NULL;
        tick_reset(tick);
    }
    return NULL;
}
