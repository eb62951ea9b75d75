#include "judged.h"

#include <string.h>

#include "asked.h"
#include "base/clock.h"
#include "tick/plan.h"

enum { SECOND_MS = 1000 };

static bool is_judged(const struct canary *canary)
{
    return canary->analysis.judge.given && !canary->skip_analysis && !asked_to_skip(canary) &&
           (canary->status.phase == PHASE_Progressing ||
            canary->status.phase == PHASE_WaitingPromotion);
}

/* Since before now it is said that nothing can be concluded. */
static bool has_waited(const struct canary *canary)
{
    struct json_object *conditions = json_at(canary->status.json, "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        const char *since = json_str_at(json_elem(conditions, i), "lastTransitionTime", NULL);
        if (type && strcmp(type, "Judged") == 0)
            return status && strcmp(status, "False") == 0 && since && strcmp(since, ticks_now) != 0;
    }
    return false;
}

bool judged_wait(struct model *model, const struct cluster *cluster)
{
    const struct canary *canary = model_canary(model, cluster);

    return canary && is_judged(canary) &&
           canary->analysis.judge.on_inconclusive == INCONCLUSIVE_WAIT &&
           json_at(canary->status.json, "judge", NULL);
}

bool judged_fail(struct model *model, const struct cluster *facts, const struct outcome *outcome,
                 const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);

    if (!is_judged(canary))
        return false;
    return outcome->answers[Q_LOOK] == FAIL || ghost->flags & GHOST_ALARM ||
           (canary->analysis.judge.on_inconclusive == INCONCLUSIVE_ROLLBACK && has_waited(canary));
}

const char *judged_decided(struct model *model, const struct cluster *facts,
                           const struct outcome *outcome)
{
    /* one that nobody could carry waits until the primary answers */
    return outcome->answers[Q_LOOK] == FAIL && !model_canary(model, facts)->autoscaler.name &&
                   model_look(model, facts, ROLE_PRIMARY)->answers
               ? "an alarm is a rollback at once"
               : NULL;
}

/* Unix seconds; 0 if there is none. */
static int64_t last_look(const struct canary *canary)
{
    struct json_object *metrics =
        canary ? json_at(canary->status.json, "judge", "metrics", NULL) : NULL;
    const char *text = json_str_at(json_elem(metrics, 0), "lastLook", NULL);
    int64_t ms = 0;

    return text && clock_parse(text, &ms, NULL) == ERR_OK ? ms / SECOND_MS : 0;
}

/* The window of a look, and the time that is written with its evidence. */
static const char *check_window(const struct canary *was, const struct canary *is,
                                const struct outcome *outcome)
{
    if (outcome->answers[Q_LOOK] == NOT_ASKED)
        return NULL;
    if (outcome->look_from != last_look(was))
        return "a look begins where the one before it has ended";
    if (last_look(is) == 0)
        return NULL; /* it goes with the release */
    if (outcome->answers[Q_LOOK] == ERROR)
        return last_look(is) == last_look(was) ? NULL
                                               : "what could not be counted is counted later";
    return last_look(is) == outcome->look_to ? NULL : "what was counted is not counted again";
}

static bool is_first_step(struct model *model, const struct cluster *facts)
{
    const struct canary *canary = model_canary(model, facts);

    return model_weight(model, facts) == 0 && canary->status.iterations == 0 &&
           !model_look(model, facts, ROLE_ROUTE)->mirrored &&
           canary->status.phase == PHASE_Progressing;
}

/* More traffic, one more iteration, or a promotion of what the primary has not got yet. A step that was
 * routed, and cut off before it was written, is no new one. */
static bool goes_forward(struct model *model, const struct cluster *facts,
                         const struct cluster *before, const struct cluster *after)
{
    const struct canary *canary = model_canary(model, facts), *is = model_canary(model, after);

    if (model_weight(model, after) > model_weight(model, before) &&
        model_weight(model, after) > canary->status.canary_weight)
        return true;
    bool routed = model_weight(model, facts) > canary->status.canary_weight;
    return is && ((is->status.iterations > canary->status.iterations && !routed) ||
                  (is->status.phase == PHASE_Promoting &&
                   model_primary_revision(model, facts) != model_revision(model, facts)));
}

static const char *check_forward(struct model *model, const struct cluster *facts,
                                 const struct outcome *outcome, const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);

    if (outcome->answers[Q_LOOK] == FAIL || ghost->flags & GHOST_ALARM)
        return "an alarm never leads to a further step";
    if (outcome->answers[Q_LOOK] == PASS || ghost->flags & GHOST_SHOWN ||
        is_first_step(model, facts))
        return NULL;
    return canary->analysis.judge.on_inconclusive == INCONCLUSIVE_PROMOTE && has_waited(canary)
               ? NULL
               : "a step is made of evidence, or as onInconclusive says";
}

static void learn(const struct canary *is, const struct outcome *outcome, struct ghost *ghost)
{
    if (!is || !is_judged(is))
        ghost->flags &= (uint8_t)~GHOST_JUDGED;
    else if (outcome->answers[Q_LOOK] == FAIL)
        ghost->flags |= GHOST_ALARM;
    else if (outcome->answers[Q_LOOK] == PASS)
        ghost->flags |= GHOST_SHOWN;
}

const char *judged_step(struct model *model, const struct cluster *facts,
                        const struct cluster *before, const struct cluster *after,
                        const struct outcome *outcome, const struct step *step, struct ghost *ghost)
{
    const struct canary *was = model_canary(model, facts), *is = model_canary(model, after);
    const char *broken = NULL;

    if (is_judged(was) && goes_forward(model, facts, before, after))
        broken = check_forward(model, facts, outcome, ghost);
    if (broken || step->kind != EFFECT_STATUS)
        return broken;
    learn(is, outcome, ghost);
    return check_window(was, is, outcome);
}
