#include "numbers.h"

#include <string.h>

#include "rules.h"
#include "said.h"
#include "test/pretend.h"
#include "tick/plan.h"

/* --- sizes */

static int64_t available(struct model *model, const struct cluster *cluster, enum role role)
{
    int place = model->place[role];

    return json_int_at(objects_tree(model->objects, place, cluster->at[place]), 0, "status",
                       "availableReplicas", NULL);
}

/* The canary's scaler gives it so many; where there is none, any number. */
static int64_t most_of_target(struct model *model, const struct cluster *cluster)
{
    int place = model->place[ROLE_TARGET];
    struct json_object *target = objects_tree(model->objects, place, cluster->at[place]);
    int64_t most = INT64_MAX;

    for (int at = 0; at < objects_places(model->objects); at++) {
        struct json_object *scaler = objects_tree(model->objects, at, cluster->at[at]);
        if (scaler && json_at(scaler, "spec", "maxReplicas", NULL) &&
            pretend_scales(scaler, target))
            most = json_int_at(scaler, 1, "spec", "maxReplicas", NULL);
    }
    return most;
}

/* In a scenario whose primary has one number of pods, which carry all traffic. */
const char *numbers_share(struct model *model, const struct cluster *facts,
                          const struct cluster *before, const struct cluster *after)
{
    int was = model_weight(model, before), is = model_weight(model, after);
    int64_t primary = available(model, facts, ROLE_PRIMARY);
    int64_t needs = (primary * is + WEIGHT_ALL - 1) / WEIGHT_ALL,
            most = most_of_target(model, facts);

    if (!model->scenario->sized || is <= was || primary == 0 ||
        !said_analysing(model_canary(model, facts)) ||
        is <= model_canary(model, facts)->status.canary_weight)
        return NULL;
    return available(model, facts, ROLE_TARGET) < (needs < most ? needs : most) ? SAFE_CAPACITY
                                                                                : NULL;
}

/* --- numbers of others */

const char *numbers_replicas(struct model *model, const struct cluster *before,
                             const struct cluster *after, int at)
{
    struct json_object *was = objects_tree(model->objects, at, before->at[at]);
    struct json_object *is = objects_tree(model->objects, at, after->at[at]);

    const struct canary *canary = model_canary(model, before);

    bool by_pods = model->place[ROLE_ROUTE] == model->place[ROLE_APEX];

    if (at == model->place[ROLE_PRIMARY] && canary &&
        (canary->analysis.scale.given || (by_pods && !canary->deleting)) && was && is &&
        json_int_at(was, 1, "spec", "replicas", NULL) !=
            json_int_at(is, 1, "spec", "replicas", NULL))
        return "the size of the canary is not that of the primary";
    for (int place = 0; place < objects_places(model->objects); place++) {
        const char *key = objects_key(model->objects, place);
        struct json_object *scaler = objects_tree(model->objects, place, after->at[place]);
        if (strncmp(key, "horizontalpodautoscalers/", 25) == 0 && scaler &&
            pretend_overwrites(scaler, was, is))
            return SAFE_NUMBER;
    }
    return NULL;
}

/* --- copies of configs */

/* It says this name somewhere: as that of a config. */
static bool says(struct json_object *tree, const char *name)
{
    struct arena *arena = arena_new();
    bool found = tree && strstr(json_text(arena, tree), arena_printf(arena, "\"%s\"", name));

    arena_free(arena);
    return found;
}

const char *numbers_deletion(struct model *model, const struct cluster *before,
                             const struct step *step)
{
    const char *key = objects_key(model->objects, step->place);
    const char *name = strchr(key, '/') + 1;
    int primary = model->place[ROLE_PRIMARY];
    struct json_object *live = objects_tree(model->objects, step->place, before->at[step->place]);
    const char *owner =
        json_str_at(json_elem(json_at(live, "metadata", "ownerReferences", NULL), 0), "name", NULL);

    if (step->kind != EFFECT_DELETE ||
        (strncmp(key, "configmaps/", 11) != 0 && strncmp(key, "secrets/", 8) != 0))
        return NULL;
    if (says(json_at(objects_tree(model->objects, primary, before->at[primary]), "spec", "template",
                     NULL),
             name))
        return "no config is deleted that the primary reads";
    return owner && strcmp(owner, "podinfo") == 0 ? NULL : "no config of others is deleted";
}
