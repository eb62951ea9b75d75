#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "asked.h"
#include "begun.h"
#include "judged.h"
#include "numbers.h"
#include "proto/webhook_message.h"
#include "router/router.h"
#include "said.h"
#include "tick/plan.h"

static bool is_weighted(const struct canary *canary)
{
    const struct router *router = canary->provider ? router_of(canary->provider, canary) : NULL;

    return !router || router->weighted;
}

/* --- the decision */

/* A check that counts for the promotion: it looked at enough traffic. */
static bool check_passed(struct model *model, const struct cluster *facts,
                         const struct outcome *outcome)
{
    const struct canary *canary = model_canary(model, facts);

    if (outcome->answers[Q_METRIC] != PASS)
        return false;
    /* all of the requests that match are no share of all */
    bool matches = canary->analysis.match_step && model_look(model, facts, ROLE_ROUTE)->rest;
    return model->scenario->passes > 0 ||
           (!matches && model_weight(model, facts) >= canary->analysis.max_weight);
}

static bool says_failed(struct model *model, const struct outcome *outcome)
{
    for (int i = 0; i < outcome->steps; i++) {
        const struct step *step = ticks_step(model->ticks, outcome, i);
        if (step->kind != EFFECT_STATUS)
            continue;
        const char *phase =
            json_str_at(objects_patch_tree(model->objects, step->patch), "status", "phase", NULL);
        if (phase && strcmp(phase, "Failed") == 0)
            return true;
    }
    return false;
}

/* What the status says of an edit that waits for the end of the release. */
static bool is_held(const struct canary *canary)
{
    struct json_object *conditions = json_at(canary->status.json, "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        if (type && status && strcmp(type, "Accepted") == 0 && strcmp(status, "False") == 0)
            return true;
    }
    return false;
}

/* Why a release may fail. */
static bool has_cause(struct model *model, const struct cluster *facts,
                      const struct outcome *outcome, const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);

    return asked_to_abort(model, facts) || ghost->flags & GHOST_CAUSES ||
           ghost->fails >= canary->analysis.threshold || outcome->answers[Q_ROLLBACK] == PASS ||
           judged_fail(model, facts, outcome, ghost) ||
           model_look(model, facts, ROLE_TARGET)->stuck ||
           model_look(model, facts, ROLE_PRIMARY)->stuck ||
           /* neither moved nor waited until its deadline */
           said_stalled(canary) ||
           /* a write was refused until its deadline */
           (model->scenario->world & WORLD_TIME_PASSES && said_refused(canary)) ||
           /* gone until its deadline */
           (model->scenario->world & WORLD_TIME_PASSES &&
            model_is_absent(model, facts, ROLE_TARGET)) ||
           /* refused until its deadline */
           (model->scenario->world & WORLD_TIME_PASSES &&
            (model_look(model, facts, ROLE_CANARY)->refused || is_held(canary))) ||
           said_late(canary) ||
           /* a gate that nobody opened until its deadline */
           (model->scenario->world & WORLD_TIME_PASSES &&
            (outcome->answers[Q_CONFIRM_ROLLOUT] == FAIL ||
             outcome->answers[Q_MORE_TRAFFIC] == FAIL ||
             outcome->answers[Q_CONFIRM_PROMOTION] == FAIL)) ||
           /* what failed before was put back while another waited */
           (canary->status.phase == PHASE_Waiting &&
            ghost->rejected == model_revision(model, facts));
}

/* What an observer of the routes knows, whatever the status says of it. */
static void note_traffic(struct model *model, const struct cluster *cluster, struct ghost *ghost)
{
    const struct look *route = model_look(model, cluster, ROLE_ROUTE);

    if (route->canary_serves || route->mirrored)
        ghost->flags |= GHOST_WARM;
}

/* While the gateway has not taken over a route, it goes on by the one before. */
void rules_waited(struct model *model, const struct cluster *cluster, struct ghost *ghost)
{
    if (model_is_absent(model, cluster, ROLE_ROUTE) ||
        model_look(model, cluster, ROLE_ROUTE)->settled)
        ghost->flags &= (uint8_t)~GHOST_WARM;
    note_traffic(model, cluster, ghost);
}

void rules_happened(struct model *model, const struct cluster *before, const struct cluster *after,
                    struct ghost *ghost)
{
    if (model_look(model, after, ROLE_TARGET)->at_zero &&
        !model_look(model, before, ROLE_TARGET)->at_zero)
        ghost->flags |= GHOST_STOPPED;
    note_traffic(model, after, ghost);
}

/* The load tester has not taken their end for too long, which is told. */
static bool leaves_load(struct model *model, const struct outcome *outcome)
{
    struct json_object *value;

    for (int i = 0; i < outcome->steps; i++) {
        const struct step *step = ticks_step(model->ticks, outcome, i);
        if (step->kind == EFFECT_STATUS && outcome->warned &&
            json_object_object_get_ex(
                json_at(objects_patch_tree(model->objects, step->patch), "status", NULL),
                "loadTests", &value) &&
            !value)
            return true;
    }
    return false;
}

/* A webhook was called that starts one, or it has taken their end. */
static void note_load(struct model *model, const struct cluster *facts,
                      const struct outcome *outcome, struct ghost *ghost)
{
    const struct canary_analysis *analysis = &model_canary(model, facts)->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++)
        if (webhook_is_load(analysis->webhooks[i].metadata) &&
            outcome->answers[Q_ROLLOUT] != NOT_ASKED)
            ghost->flags |= GHOST_LOAD;
    if (outcome->answers[Q_LOAD_END] == PASS || leaves_load(model, outcome))
        ghost->flags &= (uint8_t)~GHOST_LOAD;
}

const char *rules_decided(struct model *model, const struct cluster *facts,
                          const struct outcome *outcome, struct ghost *ghost)
{
    int needed = model->scenario->passes > 0 ? model->scenario->passes : 1;

    note_load(model, facts, outcome, ghost);
    if (outcome->broken)
        return "the rules come to a decision";
    if (outcome->reads_prose)
        return "no rule reads what is written for people";
    if (ghost->flags & GHOST_PREPARED && outcome->answers[Q_PRE_ROLLOUT] != NOT_ASKED)
        return "pre-rollout hooks that have passed for a revision are not asked again";
    if (check_passed(model, facts, outcome) && ghost->passes < needed &&
        model_revision(model, facts) == ghost->revision)
        ghost->passes++;
    if (outcome->answers[Q_ROLLBACK] == PASS)
        ghost->flags |= GHOST_DOOMED;
    if (!says_failed(model, outcome))
        /* one that nobody could carry waits until the primary answers */
        return outcome->answers[Q_ROLLBACK] == PASS &&
                       !model_canary(model, facts)->autoscaler.name &&
                       model_look(model, facts, ROLE_PRIMARY)->answers
                   ? "a rollback that is asked for is done"
                   : judged_decided(model, facts, outcome);
    if (!has_cause(model, facts, outcome, ghost))
        return "a release fails only for a reason";
    ghost->flags |= GHOST_DOOMED;
    return NULL;
}

/* --- traffic */

/* A user's route without the weights that may be written in it, and what the API server counts. */
static struct json_object *without_weights(struct arena *arena, const struct model *model,
                                           const struct cluster *cluster)
{
    const int place = model->place[ROLE_ROUTE];
    struct json_object *route =
        json_copy(arena, objects_tree(model->objects, place, cluster->at[place]));
    struct json_object *rules = json_at(route, "spec", "rules", NULL);

    json_object_object_del(json_at(route, "metadata", NULL), "resourceVersion");
    json_object_object_del(json_at(route, "metadata", NULL), "generation");
    json_object_object_del(route, "status");
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        const char *name = json_str_at(json_elem(rules, i), "name", NULL);
        for (size_t k = 0; name && strcmp(name, "ours") == 0 && k < json_len(backends); k++)
            json_object_object_del(json_elem(backends, k), "weight");
    }
    return route;
}

static const char *check_user(struct model *model, const struct cluster *facts,
                              const struct cluster *before, const struct cluster *after)
{
    if (model_canary(model, facts)->service.n_route_refs == 0 ||
        model_is_absent(model, before, ROLE_ROUTE))
        return NULL;
    struct arena *arena = arena_new();
    bool same =
        !model_is_absent(model, after, ROLE_ROUTE) &&
        json_same(without_weights(arena, model, before), without_weights(arena, model, after));
    arena_free(arena);
    return same ? NULL : SAFE_USER;
}

/* A copy, then the requests that match, then weights; all at once only for want of a primary. */
static const char *check_kinds(struct model *model, const struct cluster *facts,
                               const struct look *was, const struct look *is)
{
    const struct canary *canary = model_canary(model, facts);
    const struct canary_analysis *analysis = &canary->analysis;

    if (was->canary_weight > 0 || is->canary_weight <= canary->status.canary_weight ||
        (is->canary_weight == WEIGHT_ALL && !is->rest))
        return NULL;
    if (analysis->match_step && !is->rest)
        return "a weight comes only after the requests that match";
    if (analysis->mirror_step && is->rest && !was->mirrored)
        return "requests that match come only after a copy of requests";
    return NULL;
}

static const char *check_route(struct model *model, const struct cluster *facts,
                               const struct cluster *before, const struct cluster *after)
{
    const struct look *was = model_look(model, before, ROLE_ROUTE);
    const struct look *is = model_look(model, after, ROLE_ROUTE);
    const struct look *target = model_look(model, facts, ROLE_TARGET);
    const struct look *primary = model_look(model, facts, ROLE_PRIMARY);
    const struct canary *canary = model_canary(model, facts);
    /* a route that somebody deleted, while the canary had everything */
    bool restored =
        model_is_absent(model, before, ROLE_ROUTE) && canary->status.canary_weight == WEIGHT_ALL;

    if (!model_is_absent(model, after, ROLE_ROUTE) && !is->adds_up)
        return "the weights of a route add up to 100";
    if (canary->deleting)
        return is->alone && !was->alone && !target->ready && primary->ready
                   ? "traffic goes back to the target only once that is ready"
                   : NULL;
    /* one that serves its part takes over from a primary without pods while more of its own start */
    bool grows =
        model->scenario->sized && was->canary_serves && target->answers && !primary->answers;
    if ((is->canary_weight > was->canary_weight || (is->canary_serves && !was->canary_serves)) &&
        !target->ready && !restored && !grows)
        return "traffic goes only to a canary that is ready";
    if (model->kind->copied && is->canary_weight > was->canary_weight && !restored &&
        model_look(model, after, ROLE_COPY)->revision != model_revision(model, facts))
        return "traffic goes only to a copy of what is analysed";
    if (is->canary_weight < was->canary_weight && !primary->answers && target->ready)
        return "nobody is sent to a primary without pods while the canary answers";
    if (was->canary_weight == WEIGHT_ALL && !was->rest && is->canary_weight < WEIGHT_ALL &&
        !primary->answers && !target->at_zero && !model_is_absent(model, facts, ROLE_TARGET))
        return "traffic goes only to a primary that is ready, or that was serving";
    if (json_at(canary->status.json, "rollbackStep", NULL) && primary->answers && !restored &&
        is->canary_weight > was->canary_weight)
        return "a canary that is rolled back in steps gets no more";
    return check_kinds(model, facts, was, is);
}

/* The users of the canary's Service get at once what it says. */
static const char *check_copy(struct model *model, const struct cluster *before,
                              const struct cluster *after, const struct ghost *ghost)
{
    uint8_t was = (uint8_t)model_look(model, before, ROLE_COPY)->revision;
    uint8_t is = (uint8_t)model_look(model, after, ROLE_COPY)->revision;

    if (is != was && was && model_look(model, before, ROLE_ROUTE)->canary_serves &&
        is != ghost->revision && is != ghost->promoted)
        return "a canary that serves does not become what nobody analyses";
    return NULL;
}

static bool selects(struct json_object *service, struct json_object *workload)
{
    struct json_object *labels = json_at(workload, "spec", "template", "metadata", "labels", NULL);
    struct json_object *selector = json_at(service, "spec", "selector", NULL);

    if (!json_object_is_type(selector, json_type_object) || !labels)
        return false;
    json_object_object_foreach(selector, key, value)
    {
        if (!json_same(json_at(labels, key, NULL), value))
            return false;
    }
    return true;
}

/* The ready pods that a selector leads to, as the tick has read them. */
static int64_t endpoints(struct model *model, const struct cluster *facts,
                         struct json_object *service)
{
    int64_t count = 0;

    for (int place = 0; place < objects_places(model->objects); place++) {
        struct json_object *tree = objects_tree(model->objects, place, facts->at[place]);
        if (strncmp(objects_key(model->objects, place), "deployments/", 12) == 0 && tree &&
            !model_look_at(model, facts, place)->at_zero && selects(service, tree))
            count += json_int_at(tree, 0, "status", "availableReplicas", NULL);
    }
    return count;
}

/* Pods of nobody, which have labels but no template. */
static bool selects_others(struct model *model, const struct cluster *cluster,
                           struct json_object *service)
{
    for (int place = 0; place < objects_places(model->objects); place++) {
        struct json_object *tree = objects_tree(model->objects, place, cluster->at[place]);
        struct json_object *selector = json_at(service, "spec", "selector", NULL);
        if (strncmp(objects_key(model->objects, place), "pods/", 5) != 0 || !tree ||
            !json_object_is_type(selector, json_type_object))
            continue;
        bool all = true;
        json_object_object_foreach(selector, key, value)
        {
            all = all && json_same(json_at(tree, "metadata", "labels", key, NULL), value);
        }
        if (all)
            return true;
    }
    return false;
}

static const char *check_apex(struct model *model, const struct cluster *facts,
                              const struct cluster *before, const struct cluster *after)
{
    bool was = model_look(model, before, ROLE_APEX)->selects_primary;
    bool is = model_look(model, after, ROLE_APEX)->selects_primary;
    bool primary = model_look(model, facts, ROLE_PRIMARY)->ready;
    int apex = model->place[ROLE_APEX], at = model->place[ROLE_PRIMARY];
    struct json_object *live = objects_tree(model->objects, apex, before->at[apex]);

    if (selects_others(model, facts, objects_tree(model->objects, apex, after->at[apex])) &&
        !selects_others(model, facts, live))
        return "the apex Service is not made to select the pods of others";
    if (is && !was && !primary && endpoints(model, facts, live) > 0 &&
        !selects(live, objects_tree(model->objects, at, facts->at[at])))
        return "the apex Service selects the primary only once that is ready";
    if (strcmp(model_canary(model, facts)->target.name, "podinfo") != 0)
        return NULL; /* it follows another target, see check_selector() */
    if (was && !is && primary && !model_look(model, facts, ROLE_TARGET)->ready)
        return "the apex Service selects the target again only once that is ready";
    return NULL;
}

/* The garbage collector takes the primary then. */
static const char *check_gone(struct model *model, const struct cluster *facts,
                              const struct cluster *after)
{
    if (model_has_rival(model, facts))
        return NULL; /* what is left to it is looked at in the end */
    if (model_canary(model, facts)->revert_on_deletion &&
        model_is_absent(model, after, ROLE_CANARY) &&
        model_look(model, facts, ROLE_PRIMARY)->ready &&
        !model_is_absent(model, facts, ROLE_TARGET) &&
        (!model_look(model, facts, ROLE_TARGET)->ready ||
         model_look(model, after, ROLE_APEX)->selects_primary))
        return "a Canary goes only once its target serves";
    return NULL;
}

/* The status says for longer than an interval that the target has no traffic. */
static bool has_paused(const struct canary *canary)
{
    struct json_object *conditions = json_at(canary->status.json, "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *since = json_str_at(json_elem(conditions, i), "lastTransitionTime", NULL);
        if (type && strcmp(type, "Drained") == 0)
            return since && strcmp(since, ticks_now) != 0;
    }
    return false;
}

/* A Service that nobody makes for the Canary, and that was there before it. */
static bool is_led_to(struct model *model, const struct cluster *cluster)
{
    for (int place = 0; place < objects_places(model->objects); place++) {
        if (strcmp(objects_key(model->objects, place), "services/old") == 0)
            return cluster->at[place] != ABSENT;
    }
    return false;
}

static const char *check_target(struct model *model, const struct cluster *facts,
                                const struct cluster *before, const struct cluster *after,
                                const struct ghost *ghost)
{
    bool was = model_look(model, before, ROLE_TARGET)->at_zero;
    bool is = model_look(model, after, ROLE_TARGET)->at_zero;
    const struct canary *canary = model_canary(model, facts);

    if (model_is_absent(model, after, ROLE_TARGET))
        return "the target is never deleted";
    if (model->kind->copied)
        return "a Service target is its owner's alone";
    if (begun_replaces(model, before, after) && !canary->deleting &&
        model_look(model, after, ROLE_TARGET)->revision != (ghost->promoted & 3))
        return "pods that serve are not replaced by what was pushed meanwhile";
    if (!is || was)
        return NULL;
    if (model_look(model, before, ROLE_ROUTE)->canary_serves &&
        model_look(model, facts, ROLE_ROUTE)->canary_serves)
        return "a canary that serves is never scaled down";
    if (model_look(model, before, ROLE_ROUTE)->mirrored &&
        model_look(model, facts, ROLE_ROUTE)->mirrored)
        return "a canary that gets copies of requests is never scaled down";
    if (!canary->deleting && (!has_paused(canary) || ghost->flags & GHOST_WARM))
        return "between moving traffic and scaling down there is a pause";
    if (is_led_to(model, facts))
        return "a target that a Service of others leads to keeps its pods";
    if (!canary->deleting && is_weighted(canary) && !model_is_absent(model, facts, ROLE_ROUTE) &&
        !model_look(model, facts, ROLE_ROUTE)->settled)
        return "nobody is scaled down before the gateway has taken over the routes";
    if (!model_look(model, before, ROLE_APEX)->selects_primary &&
        !model_is_absent(model, before, ROLE_APEX))
        return "the target is scaled down only once the apex Service selects the primary";
    if (said_initialising(canary) && !model_look(model, facts, ROLE_PRIMARY)->ready)
        return "the target is scaled down only once the primary is ready";
    return NULL;
}

/* The workload whose pods a Service selects; -1: none. */
static int selected_by(struct model *model, const struct cluster *cluster, int service)
{
    struct json_object *tree = objects_tree(model->objects, service, cluster->at[service]);
    const char *value = json_str_at(tree, "spec", "selector", "app", NULL);
    char key[100];

    if (!value)
        return -1;
    snprintf(key, sizeof(key), "deployments/%s", value);
    return objects_place(model->objects, key);
}

/* A Service that is written leads to the pods of its own workload alone. */
static const char *check_owner(struct model *model, const struct cluster *facts,
                               const struct cluster *after, int service)
{
    struct json_object *tree = objects_tree(model->objects, service, after->at[service]);
    int worker = 0, places = objects_places(model->objects);

    while (worker < places &&
           strcmp(objects_key(model->objects, worker), "deployments/worker") != 0)
        worker++;
    if (strncmp(objects_key(model->objects, service), "services/", 9) != 0 || worker == places)
        return NULL;
    return selects(tree, objects_tree(model->objects, worker, facts->at[worker])) ? SAFE_OWNER
                                                                                  : NULL;
}

/* Pods carry the name of their workload as label. A Service that is made selects what will be. */
static const char *check_selector(struct model *model, const struct cluster *facts,
                                  const struct cluster *before, const struct cluster *after,
                                  int service)
{
    if (strncmp(objects_key(model->objects, service), "services/", 9) != 0 || model->kind->copied ||
        model->kind->named || strcmp(model->kind->plural, "deployments") != 0)
        return NULL;
    struct json_object *old = objects_tree(model->objects, service, before->at[service]);
    struct json_object *now = objects_tree(model->objects, service, after->at[service]);
    int was = selected_by(model, before, service), is = selected_by(model, after, service);
    /* the Service of a canary without a share has nobody's traffic */
    bool has_traffic = strstr(objects_key(model->objects, service), "-canary") == NULL ||
                       model_canary(model, facts)->status.canary_weight > 0;
    if (!old || !now || !has_traffic)
        return NULL;
    if (endpoints(model, facts, old) > 0 && endpoints(model, facts, now) == 0)
        return SAFE_ENDPOINTS;
    if (was < 0 || is < 0 || was == is || model_canary(model, facts)->deleting)
        return NULL;
    return model_look_at(model, facts, is)->answers ? NULL : SAFE_ENDPOINTS ": another side";
}

/* --- what people have a say in */

static bool is_closed(const struct canary *canary, const struct outcome *outcome,
                      enum question gate, enum hook_type hook)
{
    for (int i = 0; i < canary->analysis.n_webhooks; i++) {
        if (canary->analysis.webhooks[i].type == hook)
            return outcome->answers[gate] != PASS;
    }
    return false;
}

/* This write brings a revision into its analysis: the first of a release, or one that came during
 * the analysis of another. */
static bool begins_analysis(struct model *model, const struct canary *was, const struct canary *is,
                            const struct step *step)
{
    if (step->kind != EFFECT_STATUS || !is || is->status.phase != PHASE_Progressing)
        return false;
    struct json_object *status =
        json_at(objects_patch_tree(model->objects, step->patch), "status", NULL);
    const char *applied = json_str_at(status, "lastAppliedSpec", NULL);
    /* a promotion that is meant, and of which nothing is written, may be an analysis again */
    bool begun = said_analysing(was) || was->status.phase == PHASE_Promoting;

    return !begun || (applied && *applied) || json_at(status, "trackedConfigs", NULL);
}

static const char *check_consent(struct model *model, const struct cluster *facts,
                                 const struct cluster *before, const struct cluster *after,
                                 const struct outcome *outcome, const struct step *step)
{
    const struct canary *canary = model_canary(model, facts);
    const struct canary *is = model_canary(model, after);
    bool analysing = said_analysing(canary), begins = begins_analysis(model, canary, is, step);

    if (begins && asked_to_pause(canary) && !asked_at_gate(canary))
        return SAFE_CONSENT ": it is paused";
    if (begins && begun_is_early(model, facts))
        return SAFE_CONSENT ": its time has not come";
    if (canary->suspend && !canary->deleting && step->place != model->place[ROLE_CANARY])
        return "nothing is done while it is suspended";
    if (canary->skip_analysis || model->scenario->world & WORLD_TIME_PASSES)
        return NULL; /* gates may have deadlines */
    if (analysing && is_closed(canary, outcome, Q_CONFIRM_PROMOTION, HOOK_CONFIRM_PROMOTION) &&
        ((is && is->status.phase == PHASE_Promoting &&
          model_primary_revision(model, before) != model_revision(model, facts)) ||
         model_primary_revision(model, before) != model_primary_revision(model, after)))
        return SAFE_CONSENT ": confirm-promotion";
    if (analysing && model_weight(model, after) > model_weight(model, before) &&
        model_weight(model, after) > canary->status.canary_weight &&
        is_closed(canary, outcome, Q_MORE_TRAFFIC, HOOK_CONFIRM_TRAFFIC_INCREASE))
        return SAFE_CONSENT ": confirm-traffic-increase";
    if (begins && is_closed(canary, outcome, Q_CONFIRM_ROLLOUT, HOOK_CONFIRM_ROLLOUT))
        return SAFE_CONSENT ": confirm-rollout";
    return NULL;
}

static const char *check_refusal(struct model *model, const struct cluster *facts,
                                 const struct cluster *before, const struct cluster *after,
                                 const struct step *step)
{
    const struct canary *canary = model_canary(model, facts);
    const struct canary *is = model_canary(model, after);

    if (!model_look(model, facts, ROLE_CANARY)->refused || canary->deleting ||
        said_initialising(canary))
        return NULL;
    if (model_weight(model, after) > model_weight(model, before) &&
        model_weight(model, after) > canary->status.canary_weight &&
        model_look(model, facts, ROLE_PRIMARY)->ready)
        return "no step is made by a spec that is refused";
    /* a promotion of which nothing is written may be an analysis again */
    if (!said_analysing(canary) && canary->status.phase != PHASE_Promoting && is &&
        is->status.phase == PHASE_Progressing && step->kind == EFFECT_STATUS)
        return "nothing begins by a spec that is refused";
    return NULL;
}

static const char *check_health(struct model *model, const struct cluster *after)
{
    const struct look *canary = model_look(model, after, ROLE_CANARY);

    return canary->says ? canary->fault : SAFE_STATUS;
}

/* Nothing was done yet, whatever its status says of that. */
static bool not_begun(const struct canary *canary)
{
    struct json_object *conditions = json_at(canary->status.json, "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *reason = json_str_at(json_elem(conditions, i), "reason", NULL);
        if (type && reason && strcmp(type, "Promoted") == 0)
            return strcmp(reason, "NotBegun") == 0;
    }
    return said_initialising(canary);
}

/* Who comes later touches nothing, until the other one is gone. */
static const char *check_barred(struct model *model, const struct cluster *facts,
                                const struct step *step)
{
    bool locked_out = model_has_rival(model, facts) && not_begun(model_canary(model, facts));

    return locked_out && step->place != model->place[ROLE_CANARY]
               ? "a Canary touches nothing that another one has"
               : NULL;
}

/* An approval names the revision that it is for, and holds at every gate of its release. */
static const char *check_about(struct model *model, const struct cluster *facts,
                               const struct cluster *after, const struct outcome *outcome,
                               const struct step *step)
{
    const struct canary *canary = model_canary(model, facts);
    const struct canary *is = model_canary(model, after);
    struct json_object *patch = objects_patch_tree(model->objects, step->patch);
    const char *applied = json_str_at(patch, "status", "lastAppliedSpec", NULL);
    struct arena *arena = arena_new();
    bool holds = true;

    bool waits = is && is->status.phase == PHASE_Waiting; /* for the gate of another revision */
    if (*outcome->about && said_analysing(canary) && !waits &&
        !begins_analysis(model, canary, is, step))
        holds = strcmp(outcome->about, canary_checksum(arena, canary)) == 0;
    else if (*outcome->about && is && applied && *applied)
        holds = strcmp(outcome->about, canary_checksum(arena, is)) == 0;
    arena_free(arena);
    return holds ? NULL : "a hook is asked about the revision that is released";
}

/* --- what the primary runs */

static bool may_run(const struct model *model, const struct canary *canary,
                    const struct ghost *ghost, int part, int mask)
{
    int needed = model->scenario->passes > 0 ? model->scenario->passes : 1;

    if (part == (ghost->promoted & mask) || part == (ghost->carried & mask))
        return true;
    if (part != (ghost->revision & mask))
        return false;
    return canary->skip_analysis || asked_to_skip(canary) ||
           (ghost->passes >= needed && ghost->fails < canary->analysis.threshold);
}

static const char *check_primary(struct model *model, const struct cluster *facts,
                                 const struct cluster *before, const struct cluster *after,
                                 struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);
    const struct look *was = model_look(model, before, ROLE_PRIMARY);
    const struct look *is = model_look(model, after, ROLE_PRIMARY);

    if (model_is_absent(model, after, ROLE_PRIMARY))
        return "the primary is never deleted";
    if (is->at_zero && !was->at_zero)
        return "the primary is never scaled to zero";
    if (model->kind->named && canary->deleting && !is->revision)
        return NULL; /* nobody is called the primary any more */
    if (is->revision != was->revision && !said_initialising(canary) &&
        !may_run(model, canary, ghost, is->revision, 3))
        return "what is promoted is what passed its analysis";
    if (model->kind->named && is->revision != was->revision && is->revision && !is->ready &&
        model_weight(model, after) < WEIGHT_ALL && !said_initialising(canary))
        return "traffic goes only to a primary that is ready";
    ghost->carried = (uint8_t)model_primary_revision(model, after);
    return NULL;
}

static const char *check_configs(struct model *model, const struct cluster *facts,
                                 const struct cluster *before, const struct cluster *after,
                                 const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);
    signed char was = model_look(model, before, ROLE_CONFIG_COPY)->revision;
    signed char is = model_look(model, after, ROLE_CONFIG_COPY)->revision;

    if (is != was && !said_initialising(canary) && !may_run(model, canary, ghost, is, 12))
        return "the configs that are promoted are those that passed the analysis";
    return NULL;
}

/* --- the status */

/* ... and not by the old spec that is back, which the primary never left. */
static bool ends_promotion(const struct canary *was, const struct canary *is)
{
    return (was->status.phase == PHASE_Promoting || was->status.phase == PHASE_Finalising) &&
           is->status.phase == PHASE_Succeeded &&
           strcmp(was->status.last_applied_spec, is->status.last_applied_spec) == 0;
}

/* With spec.rollback the ghost knows which revisions were the primary's and have not failed since. */
static const char *check_way_back(const struct canary *was, const struct canary *is, int revision,
                                  struct ghost *ghost)
{
    bool skips = asked_to_skip(is) && !asked_to_skip(was);

    if (is->way_back.revisions == 0)
        return NULL;
    if (skips && !(ghost->served & 1u << (revision & 3)))
        return "what is promoted without checks has been the primary's, and has not failed since";
    if (is->status.phase == PHASE_Failed && was->status.phase != PHASE_Failed)
        ghost->served &= (uint8_t) ~(1u << (ghost->rejected & 3));
    ghost->served |= (uint8_t)(1u << (ghost->promoted & 3));
    return NULL;
}

static const char *check_status(struct model *model, const struct cluster *facts,
                                const struct cluster *before, const struct cluster *after,
                                const struct step *step, struct ghost *ghost)
{
    struct json_object *status =
        json_at(objects_patch_tree(model->objects, step->patch), "status", NULL);
    const char *phase = json_str_at(status, "phase", NULL);
    const char *applied = json_str_at(status, "lastAppliedSpec", NULL);
    const char *promoted = json_str_at(status, "lastPromotedSpec", NULL);
    const struct canary *was = model_canary(model, before);
    const struct canary *is = model_canary(model, after);
    int revision = model_revision(model, facts);

    if (!is)
        return "the status can be read";
    if (is->status.failed_checks > was->status.failed_checks &&
        ghost->fails < is->analysis.threshold)
        ghost->fails++;
    /* what is promoted without an analysis is so from the intent on */
    if (is->status.phase == PHASE_Promoting && said_analysing(was) &&
        (is->skip_analysis || asked_to_skip(was))) {
        ghost->passes = (uint8_t)(model->scenario->passes > 0 ? model->scenario->passes : 1);
        ghost->fails = 0;
    }
    bool begins =
        (applied && *applied) || json_at(status, "trackedConfigs", NULL) || !said_analysing(was);
    if (begins && is->status.phase == PHASE_Progressing) {
        ghost->revision = (uint8_t)revision;
        ghost->passes = ghost->fails = 0;
        ghost->flags &= GHOST_WARM;
    }
    if (phase && is->status.phase == PHASE_Failed) {
        /* another one may have come while a rollback waited */
        ghost->rejected = applied || !ghost->revision ? (uint8_t)revision : ghost->revision;
        if (said_analysing(model_canary(model, facts)) &&
            model_primary_revision(model, after) == revision &&
            (ghost->promoted & 3) != (revision & 3)) /* new configs may wait for their pods */
            return "what the primary runs already does not fail";
    }
    if (promoted && *promoted && is->status.phase == PHASE_Succeeded &&
        model_weight(model, after) > 0)
        return "a release that succeeds leaves all traffic on the primary";
    if (ends_promotion(was, is)) {
        if (model_primary_revision(model, after) != ghost->revision)
            return "what is called promoted is what was analysed, template and configs";
        ghost->promoted = ghost->revision;
    } else if (promoted && *promoted) {
        ghost->promoted = (uint8_t)model_primary_revision(model, after);
        if (!model_look(model, after, ROLE_PRIMARY)->revision)
            return "the status calls a revision promoted that the primary carries";
    }
    return check_way_back(was, is, revision, ghost);
}

/* Else a write of a controller that has died arrives on what the next one has made. */
static const char *check_version(const struct step *step)
{
    bool changes = step->kind == EFFECT_PATCH || step->kind == EFFECT_STATUS;

    return changes && step->expects == ABSENT ? "a write names the version that was read" : NULL;
}

const char *rules_step(struct model *model, const struct cluster *facts,
                       const struct cluster *before, const struct cluster *after,
                       const struct outcome *outcome, const struct step *step, struct ghost *ghost)
{
    const char *broken = check_consent(model, facts, before, after, outcome, step);

    if (!broken)
        broken = asked_step(model, facts, before, after);
    if (!broken)
        broken = check_version(step);
    if (!broken)
        broken = judged_step(model, facts, before, after, outcome, step, ghost);
    if (!broken)
        broken = check_refusal(model, facts, before, after, step);
    if (!broken)
        broken = check_barred(model, facts, step);
    if (!broken && step->kind == EFFECT_STATUS)
        broken = check_about(model, facts, after, outcome, step);
    if (broken)
        return broken;
    if (step->kind == EFFECT_STATUS) {
        broken = check_health(model, after);
        if (!broken)
            broken = begun_mend(model, facts, after, step);
        if (!broken)
            broken = begun_outrun(model_canary(model, after),
                                  objects_patch_tree(model->objects, step->patch));
        if (!broken)
            broken = begun_baked(model, facts, after);
        if (!broken)
            broken = check_status(model, facts, before, after, step, ghost);
        begun_note(model, after, outcome, ghost);
        return broken;
    }
    if (step->place == model->place[ROLE_CANARY])
        return check_gone(model, facts, after);
    broken = check_selector(model, facts, before, after, step->place);
    if (!broken)
        broken = check_owner(model, facts, after, step->place);
    if (broken)
        return broken;
    if (step->place == model->place[ROLE_TARGET] || step->place == model->place[ROLE_PRIMARY])
        broken = numbers_replicas(model, before, after, step->place);
    if (!broken)
        broken = numbers_deletion(model, before, step);
    if (broken)
        return broken;
    /* one object may play more than one part */
    note_traffic(model, after, ghost);
    if (step->place == model->place[ROLE_ROUTE])
        broken = check_route(model, facts, before, after);
    if (!broken && step->place == model->place[ROLE_ROUTE])
        broken = check_user(model, facts, before, after);
    if (!broken && step->place == model->place[ROLE_ROUTE])
        broken = begun_prepared(model, facts, before, after, outcome, ghost);
    if (!broken && step->place == model->place[ROLE_ROUTE])
        broken = begun_finishes(model, facts, before, after);
    if (!broken && step->place == model->place[ROLE_ROUTE])
        broken = numbers_share(model, facts, before, after);
    if (!broken && step->place == model->place[ROLE_TARGET])
        broken = check_target(model, facts, before, after, ghost);
    if (!broken && step->place == model->place[ROLE_TARGET])
        broken = begun_queued(model, facts, before, after, ghost);
    if (!broken && step->place == model->place[ROLE_APEX])
        broken = check_apex(model, facts, before, after);
    if (!broken && step->place == model->place[ROLE_COPY] && model->kind->copied)
        broken = check_copy(model, before, after, ghost);
    if (!broken && step->place == model->place[ROLE_PRIMARY])
        broken = check_primary(model, facts, before, after, ghost);
    if (!broken && step->place == model->place[ROLE_CONFIG_COPY])
        broken = check_configs(model, facts, before, after, ghost);
    return broken;
}

/* Without a mesh, the apex Service leads to the side that has a ready pod, if it was analysed. */
static const char *check_plain(struct model *model, const struct cluster *facts,
                               const struct cluster *after, const struct outcome *outcome,
                               const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);
    struct json_object *apex =
        objects_tree(model->objects, model->place[ROLE_APEX], after->at[model->place[ROLE_APEX]]);
    bool released = model_revision(model, facts) == ghost->revision &&
                    *canary->status.last_applied_spec &&
                    model_look(model, facts, ROLE_TARGET)->ready;

    if (canary->suspend || canary->deleting || outcome->steps > 0 || !apex || !released ||
        model_is_absent(model, facts, ROLE_PRIMARY) ||
        !(said_analysing(canary) || canary->status.phase == PHASE_Promoting))
        return NULL;
    return endpoints(model, facts, apex) == 0 ? SAFE_SHARE ": the apex Service" : NULL;
}

/* A side that has a share has a ready pod, as far as any side has one. What is ready and was not
 * analysed gets no more than it had. */
static const char *check_shares(struct model *model, const struct cluster *facts,
                                const struct cluster *after, const struct outcome *outcome,
                                const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, facts);
    const struct look *target = model_look(model, facts, ROLE_TARGET);
    const struct look *primary = model_look(model, facts, ROLE_PRIMARY);
    const struct look *route = model_look(model, after, ROLE_ROUTE);
    bool has_pods = strcmp(model->kind->plural, "deployments") == 0 ||
                    strcmp(model->kind->plural, "daemonsets") == 0;
    bool promotes =
        canary->status.phase == PHASE_Promoting || canary->status.phase == PHASE_Finalising;

    const char *refused = model_refused(model, after);

    if (refused && strncmp(refused, "httproutes/", 11) == 0)
        return NULL;
    if (strcmp(model->kind->plural, "deployments") == 0 && !is_weighted(canary))
        return check_plain(model, facts, after, outcome, ghost);
    if (!has_pods || !is_weighted(canary) || model_is_absent(model, after, ROLE_ROUTE) ||
        canary->suspend || canary->deleting || !(said_analysing(canary) || promotes) ||
        model_is_absent(model, facts, ROLE_TARGET) || model_is_absent(model, facts, ROLE_PRIMARY))
        return NULL;
    if (route->canary_weight > 0 && !target->answers && primary->answers && !said_drains(canary))
        return SAFE_SHARE ": the canary";
    if ((route->canary_weight < WEIGHT_ALL || route->rest) && !primary->answers && target->ready &&
        said_analysing(canary) && (outcome->steps == 0 || refused) &&
        model_revision(model, facts) == ghost->revision && *canary->status.last_applied_spec)
        return SAFE_SHARE ": the primary";
    return NULL;
}

/* A release moves, or says what it waits for: where a tick only says that it has stalled, no route
 * was written back by somebody, and a rule has forgotten to step. */
static bool stalls(struct model *model, const struct cluster *before, const struct cluster *after,
                   const struct outcome *outcome)
{
    for (int i = 0; i < outcome->steps; i++) {
        if (ticks_step(model->ticks, outcome, i)->kind != EFFECT_STATUS)
            return false;
    }
    return said_stalled(model_canary(model, after)) && !said_stalled(model_canary(model, before));
}

/* It is told with the next tick, and not again of the same object. */
static const char *check_told(struct model *model, const struct cluster *before,
                              const struct cluster *after, const struct outcome *outcome)
{
    int place = model->place[ROLE_REFUSALS];
    struct json_object *known =
        place < 0 ? NULL : objects_tree(model->objects, place, before->at[place]);
    const struct canary *was = model_canary(model, before), *is = model_canary(model, after);
    const char *met = json_str_at(known, "met", NULL);

    if (!json_bool_at(known, false, "tells", NULL) || !is)
        return NULL;
    if (!said_refused(is))
        return SAFE_REFUSED ": nobody is told";
    const char *name = json_str_at(was->status.json, "refusedWrite", "name", NULL);
    const char *resource = json_str_at(was->status.json, "refusedWrite", "resource", NULL);
    size_t len = resource ? strlen(resource) : 0;
    bool same = met && name && resource && strncmp(met, resource, len) == 0 &&
                strcmp(met + len + 1, name) == 0;
    return said_refused(was) && same && outcome->warned ? SAFE_REFUSED ": told again" : NULL;
}

const char *rules_refused(struct model *model, const struct cluster *before,
                          const struct cluster *after, const struct outcome *outcome,
                          const struct ghost *ghost)
{
    const char *refused = model_refused(model, after);

    if (!said_refused(model_canary(model, before)) || strncmp(refused, "httproutes/", 11) == 0)
        return NULL;
    return check_shares(model, before, after, outcome, ghost);
}

/* It is ended, or asked for again, before the Canary rests or goes. */
static const char *check_load(const struct canary *canary, const struct outcome *outcome,
                              const struct ghost *ghost)
{
    bool runs = canary && !canary->suspend && !canary->deleting &&
                (said_analysing(canary) || canary->status.phase == PHASE_Promoting ||
                 canary->status.phase == PHASE_Finalising);

    return ghost->flags & GHOST_LOAD && !runs && (!canary || outcome->sleeps)
               ? "no load test runs when no release is under way"
               : NULL;
}

const char *rules_done(struct model *model, const struct cluster *before,
                       const struct cluster *after, const struct outcome *outcome, bool due,
                       const struct ghost *ghost)
{
    const struct canary *canary = model_canary(model, after);

    const char *told = check_told(model, before, after, outcome);
    if (!told)
        told = check_load(canary, outcome, ghost);
    if (told)
        return told;
    if (canary && stalls(model, before, after, outcome))
        return SAFE_END;
    if (outcome->requeue != REQUEUE_NOW && !outcome->held && canary) {
        const char *broken = check_shares(model, before, after, outcome, ghost);
        if (!broken)
            broken = begun_warm(model, after);
        if (broken)
            return broken;
    }
    if (!canary || !due || outcome->requeue == REQUEUE_NOW || canary->suspend ||
        (outcome->warned && outcome->answers[Q_METRIC] == NOT_ASKED) || said_holds(canary) ||
        canary->deleting || said_initialising(canary) || !is_weighted(canary))
        return NULL;
    if (canary->status.canary_weight != model_weight(model, after))
        return "the status says the weight that is routed";
    return NULL;
}
