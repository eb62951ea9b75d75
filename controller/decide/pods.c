/*
 * Shares by number of pods. Without a mesh the apex Service selects the pods of both sides, by the
 * labels that they have in common, and each connection goes to any of them: the share is the ratio
 * of their numbers. The primary keeps its own, so that it can take everything back at once;
 * the canary gets the number whose share is nearest (share.c requests it).
 *
 * Workers without a Service take their work by themselves, each its part, and the pods are all.
 *
 * No other pod may have those labels. The condition SharePossible=False says what is in the way;
 * a share that was there goes back, and the analysis begins again when nothing is.
 */
#include "decide/pods.h"

#include "decide/capacity.h"
#include "decide/condition.h"
#include "decide/foreign.h"
#include "decide/rollback.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/status.h"
#include "router/shared/services.h"
#include "tick/edit.h"

static int64_t primary_number(const struct release *r)
{
    return json_int_at(r->info.primary, 1, "spec", "replicas", NULL);
}

int pods_of_share(struct release *r, int share)
{
    int64_t primary = primary_number(r);

    if (share >= WEIGHT_ALL)
        return (int)(primary > 0 ? primary : 1);
    int64_t less = primary * share / (WEIGHT_ALL - share), more = less + 1;
    /* distances of both shares from the wanted one, times their numbers of pods */
    int64_t below = share * (primary + less) - WEIGHT_ALL * less;
    int64_t above = WEIGHT_ALL * more - share * (primary + more);
    if (less < 1)
        return 1;
    return (int)(below * (primary + more) <= above * (primary + less) ? less : more);
}

/* Ready pods of a side that the apex Service selects. */
static int selected(struct release *r, enum side side)
{
    bool is_left =
        side == SIDE_PRIMARY && r->weights.canary == WEIGHT_ALL && !canary_is_worker(r->canary);

    return release_serves(r, side) && !is_left ? release_available(r, side) : 0;
}

/* "9.1" */
static const char *percent_text(struct release *r)
{
    enum { THOUSAND = 1000 };
    int canary = selected(r, SIDE_CANARY), all = canary + selected(r, SIDE_PRIMARY);
    int64_t tenths = all > 0 ? ((int64_t)canary * THOUSAND * 2 + all) / (2 * (int64_t)all) : 0;

    return arena_printf(r->tick->arena, "%d.%d", (int)(tenths / 10), (int)(tenths % 10));
}

const char *pods_text(struct release *r)
{
    int canary = selected(r, SIDE_CANARY), all = canary + selected(r, SIDE_PRIMARY);

    return arena_printf(r->tick->arena, "%d of %d pods, %s %%", canary, all, percent_text(r));
}

void pods_note(struct release *r, int weight)
{
    struct json_object *noted = json_at(r->canary->status.json, "canaryPods", NULL);
    struct json_object *pods = edit_object(r->tick->arena);

    if (!r->router->by_pods || weight == 0)
        return;
    weight_put(r->tick->arena, pods, "weight", weight);
    json_set_int(pods, "canary", selected(r, SIDE_CANARY));
    json_set_int(pods, "primary", selected(r, SIDE_PRIMARY));
    json_set_str(pods, "percent", percent_text(r));
    if (!json_same(noted, pods))
        status_object(r, "canaryPods", pods);
}

/* --- what is in the way */

static const char *scaled(struct release *r, enum side side)
{
    return arena_printf(r->tick->arena,
                        "%s scales the pods of %s, and their number is the share; expected no "
                        "autoscaler with spec.analysis.steps and provider kubernetes",
                        scaled_text(r, side),
                        side == SIDE_CANARY
                            ? release_target(r)
                            : arena_printf(r->tick->arena, "%s-primary.%s", r->canary->target.name,
                                           r->canary->namespace_));
}

/* *text: a sentence, NULL if nothing is. */
static enum rule_result find_obstacle(struct release *r, const char **text)
{
    struct json_object *common = serving_common(r);
    const char *others = "";

    *text = NULL;
    for (int side = SIDE_PRIMARY; side <= SIDE_CANARY && !*text; side++)
        if (r->own_scaler[side].object)
            *text = scaled(r, (enum side)side);
    if (canary_is_worker(r->canary))
        return RULE_CONTINUE;
    if (!common && !*text)
        *text = arena_printf(
            r->tick->arena,
            "The pods of %s and of its primary have no label in common, by which Service %s could "
            "select both; add one to the pod template that no other pod has, such as "
            "app.kubernetes.io/name",
            release_target(r), r->canary->service.name);
    if (*text)
        return RULE_CONTINUE;
    enum rule_result verdict = owners_find_pods(r, common, &others);
    if (verdict == RULE_CONTINUE && *others)
        *text = arena_printf(r->tick->arena,
                             "%s in namespace %s: its pods have all labels that those of %s and of "
                             "its primary have in common, %s, by which Service %s would select "
                             "them as well; give them other labels",
                             others, r->canary->namespace_, release_target(r),
                             services_print(r->tick, common), r->canary->service.name);
    return verdict;
}

static enum rule_result expire(struct release *r, const char *text)
{
    event_warning(r, "Rolling back %s, its share has not been possible for %d seconds: %s",
                  release_canary(r), r->canary->progress_deadline_s, text);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded: %s", text);
    return rollback_run(r, false);
}

static enum rule_result hold(struct release *r, const char *text)
{
    enum rule_result verdict = release_route(r, 0);
    int64_t since;

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (condition_time(r, CONDITION_POSSIBLE, &since) && release_deadline_passed(r, since))
        return expire(r, text);
    if (r->canary->status.canary_weight > 0) {
        status_phase(r, PHASE_Progressing);
        status_weight(r, 0);
        status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
    }
    return condition_hold(r, CONDITION_POSSIBLE, "PodsOfOthers", text);
}

/* With everything the canary's pods are selected alone, by their own labels. */
static bool is_shared(const struct release *r)
{
    int weight = r->weights.canary;

    return weight < WEIGHT_ALL && (weight > 0 || release_next_weight(r, weight) < WEIGHT_ALL);
}

enum rule_result pods_allow(struct release *r)
{
    const char *text = NULL;

    if (!r->router->by_pods || r->canary->skip_analysis)
        return RULE_CONTINUE;
    enum rule_result verdict = is_shared(r) ? find_obstacle(r, &text) : RULE_CONTINUE;
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (text)
        return hold(r, text);
    condition_clear(r, CONDITION_POSSIBLE);
    pods_note(r, r->canary->status.canary_weight);
    return RULE_CONTINUE;
}
