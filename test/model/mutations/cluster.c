/* What is broken in how objects are made, kept and written, and in who wakes a Canary. */
#include "mutations/mutation.h"
#include "tick/need.h"
#include "tick/plan.h"

/* --- the initialisation */

static enum rule_result lead_when_released(struct release *r)
{
    return r->phase == PHASE_Succeeded ? real_serving_apex(r) : RULE_CONTINUE;
}
MUTATION("the apex Service goes on selecting the target", "initialise",
         .acts.serving_apex = lead_when_released)

static bool promoted_anyhow(struct tick *tick, const struct target_info *info)
{
    (void)tick;
    (void)info;
    return true;
}
static enum rule_result finish_as_the_same(struct release *r)
{
    mutation_target(r)->is_promoted = promoted_anyhow;
    return initialise_finish(r);
}
MUTATION("a revision that comes during the initialisation counts as running", "initialise",
         .rule = initialise_finish, .ask = finish_as_the_same)

static enum rule_result reread_again(struct release *r)
{
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}
MUTATION("a repair never has enough", "canary", .acts.release_reread = reread_again)

/* Pods of a primary that is there answer. */
static bool (*really_answers)(void *arg, bool primary);
static bool answers_if_there(void *arg, bool primary)
{
    const struct release *r = arg;

    return primary ? r->info.primary != NULL : really_answers(arg, primary);
}
static struct service_pods pods_that_answer(struct release *r)
{
    struct service_pods pods = real_serving_pods(r);

    really_answers = pods.answers;
    pods.answers = answers_if_there;
    return pods;
}
static enum rule_result lead_to_who_is_there(struct release *r)
{
    struct service_pods pods = pods_that_answer(r);

    return r->target->own_services ? RULE_CONTINUE : services_reconcile_apex(r->tick, &pods);
}
MUTATION("a Service is made to select a primary that does not answer", "another target",
         .breaks = SAFE_ENDPOINTS,
         .acts = {.serving_pods = pods_that_answer, .serving_apex = lead_to_who_is_there})

static struct service_pods pods_uncounted(struct release *r)
{
    struct service_pods pods = real_serving_pods(r);

    pods.ready = NULL;
    return pods;
}
static enum rule_result lead_uncounted(struct release *r)
{
    struct service_pods pods = pods_uncounted(r);

    return r->target->own_services ? RULE_CONTINUE : services_reconcile_apex(r->tick, &pods);
}
static enum rule_result hold_for_nobody(struct release *r, enum side side)
{
    return r->phase == PHASE_Initializing ? release_reread(r) : real_ready_or_hold(r, side);
}
static enum rule_result lead_to_anything(struct release *r)
{
    struct service_pods pods = pods_uncounted(r);

    pods.answers = NULL;
    return r->target->own_services ? RULE_CONTINUE : services_reconcile_apex(r->tick, &pods);
}
MUTATION("the target goes before the primary is ready", "initialise",
         .acts = {.ready_or_hold = hold_for_nobody, .serving_apex = lead_to_anything})

MUTATION("the ready pods that a selector leads to are not counted", "other labels at a restart",
         .breaks = SAFE_ENDPOINTS,
         .acts = {.serving_pods = pods_uncounted, .serving_apex = lead_uncounted})

/* By the flag of this process alone, and nothing is asked of the pods. */
static struct json_object *select_by_flag(void *arg, bool primary, struct json_object *live)
{
    struct release *r = arg;
    const char *label = r->tick->settings->selector_labels[0];
    const char *value = json_str_at(r->info.object, "spec", "selector", "matchLabels", label, NULL);
    struct json_object *selector = edit_object(r->tick->arena);

    (void)live;
    json_set_str(
        selector, label,
        arena_printf(r->tick->arena, "%s%s", value ? value : "", primary ? "-primary" : ""));
    return selector;
}
static struct service_pods pods_by_flag(struct release *r)
{
    struct service_pods pods = real_serving_pods(r);
    struct json_object *primary = edit_object(r->tick->arena);

    pods.selector = select_by_flag;
    json_set(json_sub(primary, "metadata"), "labels", select_by_flag(r, true, NULL));
    pods.primary = primary;
    pods.answers = NULL;
    pods.ready = NULL;
    return pods;
}
static enum rule_result lead_by_flag(struct release *r)
{
    struct service_pods pods = pods_by_flag(r);

    return r->target->own_services ? RULE_CONTINUE : services_reconcile_apex(r->tick, &pods);
}
MUTATION("Services select by the label that the flags name", "other labels at a restart",
         .breaks = SAFE_ENDPOINTS,
         .acts = {.serving_pods = pods_by_flag, .serving_apex = lead_by_flag})

/* --- a target that is a Service, or one of Knative's */

/* The canary's Service follows as if the status had this phase and weight. */
static enum rule_result follow_in(struct tick *tick, const struct target_info *info, int weight)
{
    const struct canary *canary = tick->canary;
    struct canary copy = *canary;

    copy.status.phase = PHASE_Initialized;
    copy.status.canary_weight = weight;
    tick->canary = &copy;
    enum rule_result verdict = mutation_real_target->own_services(tick, info);
    tick->canary = canary;
    return verdict;
}

static enum rule_result follow_always(struct tick *tick, const struct target_info *info)
{
    return follow_in(tick, info, 0);
}
MUTATION("the Service of a canary that serves follows its target", "Service",
         .target.own_services = follow_always)

static enum rule_result follow_without_weight(struct tick *tick, const struct target_info *info)
{
    return follow_in(tick, info, tick->canary->status.canary_weight);
}
MUTATION("the Service of a canary follows its target while the status says that it does not serve",
         "Service", .target.own_services = follow_without_weight)

static enum rule_result follow_never(struct tick *tick, const struct target_info *info)
{
    const char *name = arena_printf(tick->arena, "%s-canary", tick->canary->target.name);
    struct json_object *live;

    if (!need_object(tick, &kube_services, tick->canary->namespace_, name, &live))
        return RULE_NEEDS_FACTS;
    return live ? RULE_CONTINUE : mutation_real_target->own_services(tick, info);
}
MUTATION("the Service of the canary does not follow its target", "Service",
         .target.own_services = follow_never)

static bool promoted_if_like_now(struct tick *tick, const struct target_info *info)
{
    bool same;

    return mutation_real_target->compare(tick, info, &same) == RULE_CONTINUE && same;
}
MUTATION("a Service that is like its target now is one that is like any other revision", "Service",
         .target.is_promoted = promoted_if_like_now)

static enum rule_result promote_itself(struct tick *tick, const struct target_info *info)
{
    struct target_info wrong = *info;

    wrong.object = json_copy(tick->arena, info->object);
    json_set(wrong.object, "spec", json_at(info->primary, "spec", NULL));
    return mutation_real_target->promote(tick, &wrong);
}
MUTATION("the primary Service is promoted as what it was", "Service, blue/green",
         .target.promote = promote_itself)

static enum readiness ready_anyhow(struct tick *tick, const struct target_info *info,
                                   enum side side, const char **why)
{
    (void)tick;
    (void)info;
    (void)side;
    *why = "";
    return READY;
}
MUTATION("a revision of Knative that is not ready gets traffic", "deletion with Knative",
         .target.ready = ready_anyhow)

static enum rule_result same_anyhow(struct tick *tick, const struct target_info *info, bool *same)
{
    (void)tick;
    (void)info;
    *same = true;
    return RULE_CONTINUE;
}
MUTATION("any revision of Knative is taken for the primary", "deletion with Knative",
         .target.is_promoted = promoted_anyhow, .target.compare = same_anyhow)

/* The last effect of the plan; NULL: it is empty. */
static struct effect *last_effect(const struct tick *tick)
{
    struct effect *effect = tick->plan->first;

    while (effect && effect->next)
        effect = effect->next;
    return effect;
}

static void route_too_much(struct tick *tick, struct json_object *service, const char *primary,
                           int canary, const char *why)
{
    real_knative_route(tick, service, primary, canary, why);
    struct effect *effect = last_effect(tick);
    struct json_object *traffic = effect ? json_at(effect->body, "spec", "traffic", NULL) : NULL;
    for (size_t i = 0; i < json_len(traffic); i++) {
        if (json_str_at(json_elem(traffic, i), "revisionName", NULL))
            json_set_int(json_elem(traffic, i), "percent", 100);
    }
}
MUTATION("the shares of Knative do not add up", "deletion with Knative",
         .acts.knative_route = route_too_much)

static enum rule_result revert_nothing(struct tick *tick, bool anew)
{
    (void)tick;
    (void)anew;
    return RULE_CONTINUE;
}
static enum rule_result go_without_routes(struct release *r)
{
    struct router *copy = ARENA_NEW(r->tick->arena, struct router);

    if (r->router) {
        *copy = *r->router;
        copy->revert = revert_nothing;
        r->router = copy;
    }
    return revert_canary(r);
}
MUTATION("a Canary that goes leaves the routes of Knative as they are", "deletion with Knative",
         .rule = revert_canary, .ask = go_without_routes)

/* --- what a plan writes, and in which order */

static bool is_status(const struct effect *effect)
{
    return effect->kind == EFFECT_STATUS;
}
static enum rule_result status_first(struct tick *tick)
{
    enum rule_result verdict = real_decide(tick);
    struct effect **at = &tick->plan->first;

    while (verdict == RULE_DONE && *at && !is_status(*at))
        at = &(*at)->next;
    struct effect *status = verdict == RULE_DONE ? *at : NULL;
    if (status) {
        *at = status->next;
        status->next = tick->plan->first;
        tick->plan->first = status;
        struct effect *last = last_effect(tick);
        tick->plan->last = &last->next;
    }
    return verdict;
}
MUTATION("the status is written before what it tells of", "canary", .acts.decide = status_first)

static void write_any_status(struct tick *tick, struct json_object *patch)
{
    real_plan_status(tick, patch);
    json_object_object_del(patch, "metadata");
}
MUTATION("the status is written whatever stands there", "canary",
         .acts.plan_status = write_any_status)

static bool update_anything(struct tick *tick, const struct kube_resource *resource,
                            struct json_object *from, struct json_object *to)
{
    bool planned = real_plan_update(tick, resource, from, to);

    if (planned)
        json_object_object_del(json_at(last_effect(tick)->body, "metadata", NULL),
                               "resourceVersion");
    return planned;
}
MUTATION("objects are patched whatever stands there", "initialise",
         .acts.plan_update = update_anything)

static struct json_object *merge_without_past(struct arena *arena, struct json_object *live,
                                              struct json_object *wanted,
                                              struct json_object *applied)
{
    (void)applied;
    return real_edit_merge(arena, live, wanted, NULL);
}
MUTATION("what the spec no longer says stays", "what the spec no longer says",
         .acts.edit_merge = merge_without_past)

static enum rule_result keep_scaler(struct release *r)
{
    if (release_scaler_to_leave(r) && r->canary->status.canary_weight == 0)
        r->scaler_left = true;
    return RULE_CONTINUE;
}
MUTATION("an autoscaler that the spec no longer names keeps its copy",
         "what the spec no longer says", .rule = leave_scaler, .ask = keep_scaler)

MUTATION("what is made for an autoscaler is noted afterwards", "edited autoscaler",
         .rule = leave_note, .ask = mutation_nothing)

static enum rule_result keep_ports_of_sides(struct tick *tick, const struct service_pods *pods)
{
    struct service_pods copy = *pods;

    copy.drop_old_ports = false;
    return real_services_reconcile_sides(tick, &copy);
}
static enum rule_result keep_ports_of_apex(struct tick *tick, const struct service_pods *pods)
{
    struct service_pods copy = *pods;

    copy.drop_old_ports = false;
    return real_services_reconcile_apex(tick, &copy);
}
MUTATION("ports that is no longer in the spec stay", "edited ports",
         .acts = {.services_reconcile_sides = keep_ports_of_sides,
                  .services_reconcile_apex = keep_ports_of_apex})

/* --- what the API server refuses */

static void hold_nothing(struct release *r)
{
    (void)r;
}
MUTATION("a write that is refused for good is not told", "refused writes", .breaks = SAFE_REFUSED,
         .acts.refused_write_hold = hold_nothing)

static bool never_expires(struct release *r)
{
    (void)r;
    return false;
}
MUTATION("a write that is refused for good has no deadline", "refused writes",
         .breaks = SAFE_REFUSED, .acts.refused_write_expired = never_expires)

static bool keep_no_share(struct release *r, const struct weights *routed)
{
    (void)r;
    (void)routed;
    return false;
}
MUTATION("a rollback waits for a route that is refused for good", "refused writes",
         .breaks = SAFE_REFUSED, .acts.refused_write_keeps = keep_no_share)

MUTATION("no guard is asked while a write is refused", "refused writes", .breaks = SAFE_REFUSED,
         .rule = refused_writes_forgo, .ask = mutation_nothing)

/* --- who wakes a Canary, and when */

static bool again_is_given;
static void note_again(struct release *r, enum requeue requeue)
{
    again_is_given = true;
    real_release_requeue(r, requeue);
}
static enum rule_result sleep_after_changes(struct tick *tick)
{
    again_is_given = false;
    enum rule_result verdict = real_decide(tick);
    if (!again_is_given && tick->plan->requeue == REQUEUE_NOW)
        tick->plan->requeue = REQUEUE_NEVER;
    return verdict;
}
MUTATION("a canary goes to sleep on what it has just written", "canary and failing primary",
         .acts = {.decide = sleep_after_changes, .release_requeue = note_again})

static enum readiness look_unnoticed(struct release *r, enum side side, const char **why)
{
    bool reads_status = r->tick->plan->reads_status;
    enum readiness readiness = real_release_ready(r, side, why);

    r->tick->plan->reads_status = reads_status;
    return readiness;
}
static bool ask_unnoticed(struct release *r, enum side side)
{
    bool reads_status = r->tick->plan->reads_status;
    bool serves = real_release_serves(r, side);

    r->tick->plan->reads_status = reads_status;
    return serves;
}
MUTATION("a rule asks who is ready, and the plan does not say so", "canary and failing primary",
         .acts = {.release_ready = look_unnoticed, .release_serves = ask_unnoticed})

static bool hears_unless_at_rest(const struct wake *wake)
{
    return !wake_rests(wake->phase);
}
MUTATION("who is ready is no news in a phase of rest", "canary in steps",
         .acts.wake_hears_status = hears_unless_at_rest)

static bool sleeps_without_timer(const struct plan *plan)
{
    return plan->requeue == REQUEUE_NEVER;
}
MUTATION("an event is waited for where a time was meant", "autoscaler",
         .acts.wake_sleeps = sleeps_without_timer)

/* --- routes of a user */

static bool mark_routes(struct tick *tick, const struct kube_resource *resource,
                        struct json_object *from, struct json_object *to)
{
    if (strcmp(resource->kind, "HTTPRoute") == 0)
        json_set_str(json_sub(json_sub(to, "metadata"), "annotations"), "of", "us");
    return real_plan_update(tick, resource, from, to);
}
MUTATION("a user's route is annotated", "a user's route", .breaks = SAFE_USER,
         .acts.plan_update = mark_routes)

static bool drop_other_rules(struct tick *tick, const struct kube_resource *resource,
                             struct json_object *from, struct json_object *to)
{
    struct json_object *list = json_at(to, "spec", "rules", NULL);

    if (strcmp(resource->kind, "HTTPRoute") == 0 && json_len(list) > 1)
        json_object_array_del_idx(list, 0, 1);
    return real_plan_update(tick, resource, from, to);
}
MUTATION("a user's route loses a rule that is not named", "a user's route", .breaks = SAFE_USER,
         .acts.plan_update = drop_other_rules)

/* --- what a Canary leaves that goes */

static bool is_handed_over(struct json_object *object)
{
    return json_at(object, "metadata", "annotations", HANDED_OVER_BY, NULL) != NULL;
}
static bool hand_nothing_over(struct tick *tick, const struct kube_resource *resource,
                              struct json_object *from, struct json_object *to)
{
    return (is_handed_over(from) || !is_handed_over(to)) &&
           real_plan_update(tick, resource, from, to);
}
MUTATION("a Canary that goes keeps what another one goes on with", "another Canary goes on",
         .acts.plan_update = hand_nothing_over)

static bool leaves; /* in one of the functions below */
static enum rule_result note_leading(struct release *r, enum leave leave)
{
    leaves = true;
    enum rule_result verdict = real_leftover_lead(r, leave);
    leaves = false;
    return verdict;
}
static enum rule_result note_disowning(struct release *r, enum leave leave)
{
    leaves = true;
    enum rule_result verdict = real_leftover_disown(r, leave);
    leaves = false;
    return verdict;
}
static bool leave_no_service(struct tick *tick, const struct kube_resource *resource,
                             struct json_object *from, struct json_object *to)
{
    bool goes = leaves && resource == &kube_services && edit_is_owned(tick, from);

    return !goes && real_plan_update(tick, resource, from, to);
}
MUTATION("what the route of a former provider leads to goes with the Canary",
         "deletion after another provider",
         .acts = {.leftover_lead = note_leading,
                  .leftover_disown = note_disowning,
                  .plan_update = leave_no_service})

static enum rule_result lead_heirs_only(struct release *r, enum leave leave)
{
    return leave == LEAVE_TO_TARGET ? RULE_CONTINUE : real_leftover_lead(r, leave);
}
MUTATION("... and selects the primary, which goes", "deletion after another provider",
         .acts.leftover_lead = lead_heirs_only)

MUTATION("autoscalers of others are not looked for", "autoscalers of others", .breaks = SAFE_NUMBER,
         .acts.scaled_read = mutation_nothing)

static void settle_number(struct tick *tick, const struct target_info *info)
{
    struct json_object *to = json_copy(tick->arena, info->primary);

    if (!info->object || info->at_zero)
        return;
    json_set(json_sub(to, "spec"), "replicas", json_at(info->object, "spec", "replicas", NULL));
    plan_update(tick, &kube_deployments, info->primary, to);
}
MUTATION("a release gives the primary the target's number in the end, whatever scales it",
         "autoscalers of others", .breaks = SAFE_NUMBER, .target.settle_primary = settle_number)

/* Copies that the predicate chooses, whatever they are. */
static enum rule_result sweep_some(struct tick *tick, bool of_others)
{
    enum rule_result verdict = RULE_CONTINUE;
    struct json_object *list, *copy;

    if (!need_copies(tick, &kube_configmaps, &list))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_str_at(json_elem(list, i), "metadata", "name", NULL);
        if (!name || !strstr(name, "-primary"))
            continue;
        if (!need_object(tick, &kube_configmaps, tick->canary->namespace_, name, &copy))
            verdict = RULE_NEEDS_FACTS;
        else if (copy && edit_is_owned(tick, copy) != of_others)
            plan_delete(tick, &kube_configmaps, copy);
    }
    return verdict;
}

static enum rule_result sweep_all(struct tick *tick, const struct target_info *info)
{
    (void)info;
    return sweep_some(tick, false);
}
MUTATION("a promotion deletes every copy of the Canary", "configs of other names",
         .acts.configs_sweep = sweep_all)

static enum rule_result sweep_others(struct tick *tick, const struct target_info *info)
{
    (void)info;
    return sweep_some(tick, true);
}
MUTATION("a promotion deletes copies of other Canaries", "configs of other names",
         .acts.configs_sweep = sweep_others)
