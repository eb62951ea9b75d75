#include "asked.h"

#include <string.h>

enum { ASKED_REVISION = 2 };

static struct json_object *request_of(struct model *model, const struct cluster *cluster)
{
    for (int place = 0; place < objects_places(model->objects); place++) {
        if (strcmp(objects_key(model->objects, place), "releaserequests/podinfo") == 0)
            return objects_tree(model->objects, place, cluster->at[place]);
    }
    return NULL;
}

static bool is_text(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

static struct json_object *noted(const struct canary *canary)
{
    return canary ? json_at(canary->status.json, "requests", NULL) : NULL;
}

bool asked_to_abort(struct model *model, const struct cluster *cluster)
{
    struct json_object *list = noted(model_canary(model, cluster));

    for (size_t i = 0; i < json_len(list); i++) {
        if (is_text(json_elem(list, i), "action", "abort") &&
            is_text(json_elem(list, i), "outcome", "done"))
            return true;
    }
    return is_text(json_at(request_of(model, cluster), "spec", NULL), "action", "abort");
}

bool asked_to_skip(const struct canary *canary)
{
    return is_text(json_at(canary->status.json, "steer", NULL), "skip",
                   canary->status.last_applied_spec);
}

bool asked_to_pause(const struct canary *canary)
{
    return json_at(canary->status.json, "paused", NULL) != NULL;
}

bool asked_at_gate(const struct canary *canary)
{
    return json_bool_at(canary->status.json, false, "paused", "gate", NULL);
}

bool asked_is_left(struct model *model, const struct cluster *cluster)
{
    return request_of(model, cluster) != NULL;
}

static bool is_noted(struct json_object *list, struct json_object *entry, size_t from)
{
    const char *uid = json_str_at(entry, "uid", NULL);

    for (size_t i = from; uid && i < json_len(list); i++) {
        if (is_text(json_elem(list, i), "uid", uid))
            return true;
    }
    return false;
}

static const char *check_noted(struct model *model, const struct cluster *facts,
                               const struct canary *was, const struct canary *is)
{
    struct json_object *list = noted(is), *last = json_elem(list, 0);

    if (!last || is_noted(noted(was), last, 0))
        return NULL;
    if (is_noted(list, last, 1))
        return "a request is carried out once";
    /* While revision 2 is promoted, that its checks are left out changes nothing. */
    bool is_promoted =
        was->status.phase == PHASE_Promoting || was->status.phase == PHASE_Finalising;
    if (is_text(last, "outcome", "done") && (model_revision(model, facts) & 3) != ASKED_REVISION &&
        !(is_promoted && is_text(last, "action", "skip-analysis")))
        return "a request about another revision does nothing";
    return NULL;
}

static bool holds_still(struct model *model, const struct canary *canary,
                        const struct cluster *facts)
{
    return asked_to_pause(canary) && canary->status.phase == PHASE_Progressing &&
           model_look(model, facts, ROLE_PRIMARY)->known;
}

static bool was_resumed(const struct canary *canary)
{
    struct json_object *list = noted(canary);

    for (size_t i = 0; i < json_len(list); i++) {
        if (is_text(json_elem(list, i), "action", "resume") &&
            is_text(json_elem(list, i), "outcome", "done"))
            return true;
    }
    return false;
}

/* The scenario has one step with a gate, the last; what a person resumes is revision 2. */
static const char *check_gate(struct model *model, const struct cluster *facts,
                              const struct canary *was, const struct canary *is)
{
    const struct canary_analysis *analysis = &was->analysis;
    bool gated = analysis->n_steps > 0 && analysis->steps[analysis->n_steps - 1].gate;

    if (asked_at_gate(is) && is->status.phase != PHASE_Progressing)
        return "the pause of a gate ends with its release";
    if (gated && was->status.phase == PHASE_Progressing && is->status.phase == PHASE_Promoting &&
        model_primary_revision(model, facts) != model_revision(model, facts) && !was_resumed(was))
        return "a release that comes to a gate waits for a person";
    return NULL;
}

const char *asked_step(struct model *model, const struct cluster *facts,
                       const struct cluster *before, const struct cluster *after)
{
    const struct canary *canary = model_canary(model, facts), *is = model_canary(model, after);
    const char *broken = is ? check_noted(model, facts, model_canary(model, before), is) : NULL;

    if (!broken && is)
        broken = check_gate(model, facts, canary, is);
    if (broken || !is || !holds_still(model, canary, facts))
        return broken;
    if (model_weight(model, after) > model_weight(model, before) &&
        model_weight(model, after) > canary->status.canary_weight)
        return "a release that is paused takes no step";
    if (is->status.phase == PHASE_Promoting &&
        model_primary_revision(model, facts) != model_revision(model, facts))
        return "a release that is paused is not promoted";
    return NULL;
}
