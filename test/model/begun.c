#include "begun.h"

#include <string.h>

#include "asked.h"
#include "said.h"

#include "tick/plan.h"

/* A revision that is to mend a primary without a ready pod begins behind its deadline, unless a person
 * wants it to be waited for. */
const char *begun_mend(struct model *model, const struct cluster *facts,
                       const struct cluster *after, const struct step *step)
{
    const struct canary *was = model_canary(model, facts), *is = model_canary(model, after);
    struct json_object *status =
        json_at(objects_patch_tree(model->objects, step->patch), "status", NULL);
    const char *promoted = json_str_at(status, "lastPromotedSpec", NULL);
    bool begun = said_analysing(was) || said_initialising(was) ||
                 was->status.phase == PHASE_Promoting || was->status.phase == PHASE_Finalising;
    bool answers = model_look(model, facts, ROLE_PRIMARY)->answers;

    if (step->kind != EFFECT_STATUS || begun || !is || !*was->status.last_promoted_spec ||
        model_is_absent(model, facts, ROLE_PRIMARY) || was->skip_analysis || was->deleting)
        return NULL;
    const char *since =
        json_str_at(said_condition(was, "PrimaryReady"), "lastTransitionTime", NULL);
    if (promoted && !*promoted &&
        (answers || was->analysis.waits_for_primary || !since || strcmp(since, ticks_past) != 0))
        return "no revision is to mend a primary that has a ready pod, or is waited for";
    if (is->status.phase == PHASE_Progressing && !answers &&
        model_weight(model, facts) < WEIGHT_ALL)
        return "no release begins beside a primary without a ready pod before its deadline";
    return NULL;
}

/* Releases that were replaced before they ended are told from the third in a row on, until one ends. */
const char *begun_outrun(const struct canary *canary, struct json_object *patch)
{
    struct json_object *history = canary ? json_at(canary->status.json, "history", NULL) : NULL;
    size_t row = 0;

    while (row < json_len(history) &&
           strcmp(json_str_at(json_elem(history, row), "outcome", NULL), "cancelled") == 0)
        row++;
    if (!canary || json_len(history) == 0)
        return NULL;
    if (row >= 3 && json_at(patch, "status", "history", NULL) && said_analysing(canary) &&
        !said_condition(canary, "Outrun"))
        return "pushes that outrun the analysis are told";
    if (row == 0 && said_condition(canary, "Outrun"))
        return "what is told of pushes goes when a release ends";
    return NULL;
}

/* The first step is behind the pre-rollout hooks of its revision. */
const char *begun_prepared(struct model *model, const struct cluster *facts,
                           const struct cluster *before, const struct cluster *after,
                           const struct outcome *outcome, const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);
    int was = model_weight(model, before), is = model_weight(model, after);
    bool step = said_analysing(canary) && was == 0 && is > 0 && is < WEIGHT_ALL &&
                canary->status.canary_weight == 0 && canary->status.iterations == 0;

    return step && scenario_has(model->scenario, "pre-rollout") &&
                   !(ghost->flags & GHOST_PREPARED) && outcome->answers[Q_PRE_ROLLOUT] != PASS
               ? "the first step is behind the pre-rollout hooks of its revision"
               : NULL;
}

/* A target that is pinned to the revision that is analysed. */
bool begun_pinned(struct model *model, const struct cluster *cluster)
{
    int place = model->place[ROLE_TARGET];
    struct json_object *target = objects_tree(model->objects, place, cluster->at[place]);

    return json_at(target, "metadata", "annotations", "flagger.app/pinned-template", NULL) != NULL;
}

/* onNewRevision: finish, queue. A release ends before the next one begins, unless a person resumes its target. */
const char *begun_finishes(struct model *model, const struct cluster *facts,
                           const struct cluster *before, const struct cluster *after)
{
    const struct canary *canary = model_canary(model, facts);
    bool steps = model_weight(model, before) == 0 && model_weight(model, after) > 0;

    return steps && canary->analysis.on_new_revision != NEW_REVISION_RESTART &&
                   said_analysing(canary) && !begun_pinned(model, facts)
               ? "the first step of a release that is to finish leads to no pods that a push "
                 "replaces"
               : NULL;
}

/* --- the queue of a target */

enum { LINE_MOST = 12 };

/* The revision that is placed or pinned, and those that wait behind it. */
struct line {
    int revisions[LINE_MOST];
    int n;
    int live; /* of its template */
    bool noted, paused;
};

static int revision_of(struct json_object *template)
{
    struct json_object *containers = json_at(template, "spec", "containers", NULL);
    const char *image = json_str_at(json_elem(containers, 0), "image", NULL);

    return image ? image[strlen(image) - 1] - '0' : 0;
}

static void add_to_line(struct line *line, struct json_object *template)
{
    if (line->n < LINE_MOST)
        line->revisions[line->n++] = revision_of(template);
}

static struct line line_of(struct model *model, const struct cluster *cluster)
{
    int place = model->place[ROLE_TARGET];
    struct json_object *target = objects_tree(model->objects, place, cluster->at[place]);
    struct json_object *notes = json_at(target, "metadata", "annotations", NULL);
    const char *pinned = json_str_at(notes, "flagger.app/pinned-template", NULL);
    const char *queued = json_str_at(notes, "flagger.app/queued-templates", NULL);
    struct json_object *own = pinned ? json_tokener_parse(pinned) : NULL;
    struct json_object *list = queued ? json_tokener_parse(queued) : NULL;
    struct line line = {.live = revision_of(json_at(target, "spec", "template", NULL)),
                        .noted = own != NULL,
                        .paused = json_bool_at(target, false, "spec", "paused", NULL)};

    if (own && list)
        add_to_line(&line, own);
    for (size_t i = 0; i < json_len(list); i++)
        add_to_line(&line, json_elem(list, i));
    json_object_put(own);
    json_object_put(list);
    return line;
}

/* `is` has those of `was` behind the first `gone`, in their order, and the live one of `was` at most
 * behind them. */
static bool goes_on(const struct line *was, const struct line *is, int gone)
{
    int kept = was->n - gone, more = is->n - kept;

    if (kept < 0 || more < 0 || more > 1)
        return false;
    for (int i = 0; i < kept; i++)
        if (is->revisions[i] != was->revisions[gone + i])
            return false;
    return more == 0 || is->revisions[kept] == was->live;
}

/* What waits may be left out: a person takes all of it back, or says which one is the next. */
static bool may_leave_out(const struct line *was, const struct ghost *ghost)
{
    int last = was->revisions[was->n - 1];
    bool resumed = was->noted && !was->paused;
    bool overtaken = !was->noted && was->live == last && was->live != was->revisions[0];

    return was->n == 1 || was->n > 10 || resumed || overtaken ||
           (was->live == (ghost->promoted & 3) && was->live != last);
}

/* onNewRevision: queue. What waits is released in its turn, each one once. */
const char *begun_queued(struct model *model, const struct cluster *facts,
                         const struct cluster *before, const struct cluster *after,
                         const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);
    struct line was = line_of(model, before), is = line_of(model, after);

    if (canary->analysis.on_new_revision != NEW_REVISION_QUEUE || canary->deleting || was.n == 0 ||
        goes_on(&was, &is, 0))
        return NULL;
    if (is.n == 0 && was.n > 1)
        return may_leave_out(&was, ghost) ? NULL
                                          : "each revision that waits is released in its turn";
    if (is.n > 0 && !goes_on(&was, &is, 1) && was.n <= 10)
        return "revisions that wait keep their order, and none is left out";
    if (was.revisions[0] != (ghost->promoted & 3) && was.revisions[0] != (ghost->rejected & 3) &&
        !may_leave_out(&was, ghost))
        return "the next one begins when the one before it is promoted or has failed";
    return NULL;
}

/* A release that bakes has all traffic, and none is promoted before it has, unless by a person. */
const char *begun_baked(struct model *model, const struct cluster *facts,
                        const struct cluster *after)
{
    const struct canary *was = model_canary(model, facts), *is = model_canary(model, after);
    bool promotes =
        is && is->status.phase == PHASE_Promoting && said_analysing(was) &&
        model_look(model, facts, ROLE_PRIMARY)->revision != (model_revision(model, facts) & 3);

    if (is && (!said_analysing(is) || is->status.canary_weight < WEIGHT_ALL) &&
        said_condition(is, "Baked"))
        return "what bakes has all traffic, before its promotion";
    if (!promotes || was->analysis.bake.for_ms == 0)
        return NULL;
    const char *since = json_str_at(said_condition(was, "Baked"), "lastTransitionTime", NULL);
    if (!was->skip_analysis && !asked_to_skip(was) &&
        (model_weight(model, facts) < WEIGHT_ALL || !since || strcmp(since, ticks_now) == 0))
        return "nothing is promoted before it has baked";
    return NULL;
}

/* The way back from a bake is to as many pods as the primary had. */
const char *begun_warm(struct model *model, const struct cluster *cluster)
{
    const struct canary *canary = model_canary(model, cluster);
    int place = model->place[ROLE_SCALER_COPY];
    struct json_object *scaler = objects_tree(model->objects, place, cluster->at[place]);

    return scaler && said_condition(canary, "Baked") && canary->analysis.bake.for_ms > 0 &&
                   json_int_at(scaler, 0, "spec", "minReplicas", NULL) < canary->status.share_total
               ? "the autoscaler of the primary leaves it its pods while the canary bakes"
               : NULL;
}

/* The windows of the scenarios are closed whenever there are any; what a failed promotion has left is mended
 * at any time. */
bool begun_is_early(struct model *model, const struct cluster *facts)
{
    const struct canary *canary = model_canary(model, facts);

    return canary->pushes.n_windows > 0 && *canary->status.last_promoted_spec &&
           model_weight(model, facts) < WEIGHT_ALL && !asked_to_skip(canary);
}

bool begun_replaces(struct model *model, const struct cluster *before, const struct cluster *after)
{
    return strcmp(model->kind->plural, "deployments") == 0 &&
           model_look(model, before, ROLE_ROUTE)->canary_serves &&
           model_look(model, before, ROLE_TARGET)->revision !=
               model_look(model, after, ROLE_TARGET)->revision;
}

/* Pre-rollout hooks have prepared a revision until another one begins. */
void begun_note(struct model *model, const struct cluster *after, const struct outcome *outcome,
                struct ghost *ghost)
{
    const struct canary *is = model_canary(model, after);

    if (!is || !said_analysing(is))
        ghost->flags &= (uint8_t)~GHOST_PREPARED;
    else if (outcome->answers[Q_PRE_ROLLOUT] == PASS)
        ghost->flags |= GHOST_PREPARED;
}
