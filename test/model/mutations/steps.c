/* The steps of a release that are broken: how it begins, is checked, goes on and is promoted. */
#include "mutations/mutation.h"
#include "tick/need.h"
#include "tick/plan.h"

#include <limits.h>

/* --- the first status */

static void without(struct tick *tick, struct json_object *patch, const char *key)
{
    if (tick->live->status.phase == PHASE_NONE)
        json_del(json_at(patch, "status", NULL), key);
    real_plan_status(tick, patch);
}
static void without_phase(struct tick *tick, struct json_object *patch)
{
    without(tick, patch, "phase");
}
MUTATION("the first status has no phase", "refused or suspended as it is found",
         .breaks = SAFE_STATUS, .acts.plan_status = without_phase)

static void without_weight(struct tick *tick, struct json_object *patch)
{
    without(tick, patch, "canaryWeight");
}
MUTATION("the first status has no weight", "refused or suspended as it is found",
         .breaks = SAFE_STATUS, .acts.plan_status = without_weight)

/* --- the way back */

static bool always_back(const struct release *r, const char **until)
{
    (void)r;
    *until = "";
    return true;
}
MUTATION("every revision is taken for an earlier one", "way back",
         .acts.history_leads_back = always_back)

/* The reason of its last release is not looked at. */
static bool back_though_failed(const struct release *r, const char **until)
{
    struct json_object *past = json_at(r->canary->status.json, "history", NULL);
    const char *last = json_str_at(json_elem(past, 0), "revision", NULL);

    *until = "";
    return (last && strcmp(last, r->info.hash) == 0) || real_history_leads_back(r, until);
}
MUTATION("a revision that has failed is taken for one that served", "way back",
         .acts.history_leads_back = back_though_failed)

/* --- how it begins */

static enum rule_result offer_again(struct release *r, bool consume)
{
    (void)consume;
    return real_rollback_run(r, false);
}
MUTATION("a revision that is turned down before it begins is offered again", "hooks",
         .rule = begin_waiting, .acts.rollback_run = offer_again)

MUTATION("a release begins and its gate is closed", "gates", .breaks = SAFE_CONSENT,
         .acts.gates_confirm_rollout = mutation_nothing)

MUTATION("another revision passes a gate that is closed", "gates", .breaks = SAFE_CONSENT,
         .rule = detect_other_revision, .acts.gates_confirm_rollout = mutation_nothing)

/* Only whether there is a revision is looked at, not which one. */
static const char *any_revision(const struct release *r)
{
    (void)r;
    return "any";
}
MUTATION("consent is for whichever revision", "configs behind a gate", .rule = begin_release,
         .acts.release_target_checksum = any_revision)

static bool never_paused(const struct release *r)
{
    (void)r;
    return false;
}
MUTATION("another revision begins while the Canary is paused", "asked to pause and resume",
         .breaks = SAFE_CONSENT, .rule = detect_other_revision,
         .acts.steering_is_paused = never_paused)
MUTATION("a new revision begins while the Canary is paused", "asked to pause and resume",
         .breaks = SAFE_CONSENT, .rule = steer_hold_start, .acts.steering_is_paused = never_paused)

static void sync_nothing(struct release *r)
{
    (void)r;
}
MUTATION("a release begins and its revision is not remembered", "canary", .rule = begin_release,
         .acts.status_sync = sync_nothing)

static void scale_nothing(struct tick *tick, const struct target_info *info, int replicas)
{
    (void)tick;
    (void)info;
    (void)replicas;
}
MUTATION("the target is not scaled up", "canary", .target.scale_from_zero = scale_nothing)

/* Nothing is new after a failure, whatever is there. */
static bool changed_unless_failed(struct release *r)
{
    return r->phase != PHASE_Failed && real_revision_changed(r);
}
static bool applied_if_failed(const struct release *r)
{
    return r->phase == PHASE_Failed || real_revision_is_applied(r);
}
MUTATION("after a failure nothing is new", "canary", .rule = detect_idle,
         .acts.revision_changed = changed_unless_failed,
         .acts.revision_is_applied = applied_if_failed)

static bool never_analyses(const struct release *r)
{
    (void)r;
    return false;
}
MUTATION("another revision does not begin the analysis again", "canary",
         .rule = detect_other_revision, .acts.release_is_analysing = never_analyses)

/* --- what is pushed meanwhile */

MUTATION("a release that is to finish does not pin its target", "what is begun is finished",
         .rule = pin_begin, .ask = mutation_nothing)

static enum rule_result unpin(struct release *r)
{
    const struct canary *before = r->canary;

    mutation_canary(r)->analysis.on_new_revision = NEW_REVISION_RESTART;
    enum rule_result verdict = pin_end(r);
    r->canary = before;
    return verdict;
}
MUTATION("the pin goes while its pods serve", "what is begun is finished", .rule = pin_end,
         .ask = unpin)
MUTATION("the pin stays when its release has ended", "what is begun is finished", .rule = pin_end,
         .ask = mutation_nothing)

/* The release of the revision that is placed has ended, and others wait. */
static bool is_next(struct release *r)
{
    return release_is_idle(r) && r->info.queue.n > 0 && !revision_changed(r);
}

static enum rule_result leave_out_all(struct release *r)
{
    if (!is_next(r))
        return pin_end(r);
    r->target->unpin(r->tick, &r->info);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}
MUTATION("the last one that was pushed is the next, and those before it are left out",
         "what is pushed is queued", .rule = pin_end, .ask = leave_out_all)

static enum rule_result turn_about(struct release *r)
{
    struct json_object *list = r->info.queue.templates, *turned = edit_array(r->tick->arena);

    for (size_t i = json_len(list); is_next(r) && i-- > 0;)
        edit_add(turned, json_elem(list, i));
    if (is_next(r))
        r->info.queue.templates = turned;
    return pin_end(r);
}
MUTATION("the last one that was pushed overtakes the others", "what is pushed is queued",
         .rule = pin_end, .ask = turn_about)

static enum rule_result begin_next(struct release *r)
{
    if (!release_is_analysing(r) || r->info.pin != PIN_PLACED || r->info.queue.n == 0)
        return pin_end(r);
    release_requeue(r, REQUEUE_NOW);
    return r->target->queue(r->tick, &r->info, QUEUE_NEXT) == QUEUE_TOO_LARGE ? RULE_CONTINUE
                                                                              : RULE_DONE;
}
MUTATION("the next one begins before the one before it has ended", "what is pushed is queued",
         .rule = pin_end, .ask = begin_next)

/* --- a primary that is not ready */

MUTATION("a new revision begins beside a primary without pods", "a primary that breaks",
         .rule = begin_primary, .ask = mutation_nothing)

static enum rule_result wait_without_end(struct release *r)
{
    const struct canary *before = r->canary;

    mutation_canary(r)->analysis.waits_for_primary = true;
    enum rule_result verdict = begin_primary(r);
    r->canary = before;
    return verdict;
}
MUTATION("the revision that mends a primary waits for it", "a primary that breaks",
         .rule = begin_primary, .ask = wait_without_end)

static enum rule_result wait_for_nothing(struct release *r)
{
    const struct canary *before = r->canary;

    mutation_canary(r)->analysis.waits_for_primary = false;
    enum rule_result verdict = begin_primary(r);
    r->canary = before;
    return verdict;
}
MUTATION("onPrimaryNotReady: wait is not heard", "a primary that breaks", .rule = begin_primary,
         .ask = wait_for_nothing)

static enum rule_result go_at_once(struct release *r)
{
    const struct canary *before = r->canary;

    mutation_canary(r)->progress_deadline_s = 0;
    r->tick->canary = r->canary;
    enum rule_result verdict = begin_primary(r);
    r->tick->canary = r->canary = before;
    return verdict;
}
MUTATION("a primary that has just lost its pods is given up", "a primary that breaks",
         .rule = begin_primary, .ask = go_at_once)

/* --- the limit of an analysis */

MUTATION("an analysis lasts longer than its limit", "an analysis with a limit",
         .rule = guard_duration, .ask = mutation_nothing)

/* The limit is over as soon as the analysis begins. */
static enum rule_result end_at_once(struct release *r)
{
    const struct canary *before = r->canary;

    if (before->analysis.max_duration_ms > 0)
        mutation_canary(r)->analysis.max_duration_ms = 1;
    r->tick->now_ms += 1000;
    enum rule_result verdict = guard_duration(r);
    r->tick->now_ms -= 1000;
    r->canary = before;
    return verdict;
}
MUTATION("an analysis is rolled back before its limit", "an analysis with a limit",
         .rule = guard_duration, .ask = end_at_once)

/* --- pushes that outrun the analysis */

static bool tell_of_no_pushes(struct release *r, const char *type, const char *reason,
                              const char *message)
{
    return strcmp(type, CONDITION_OUTRUN) != 0 && real_condition_set_true(r, type, reason, message);
}
MUTATION("pushes that outrun the analysis are not told", "pushes in a row",
         .acts.condition_set_true = tell_of_no_pushes)

static void keep_what_was_told(struct release *r, const char *type)
{
    if (strcmp(type, CONDITION_OUTRUN) != 0)
        real_condition_clear(r, type);
}
MUTATION("what was told of pushes stays", "pushes in a row",
         .acts.condition_clear = keep_what_was_told)

/* --- what prepares a release */

static void note_no_preparation(struct release *r, const char *key, const char *value)
{
    if (strcmp(key, "prepared") != 0)
        real_status_text(r, key, value);
}
MUTATION("it is not noted that pre-rollout hooks have passed", "hooks", .rule = analysis_start,
         .acts.status_text = note_no_preparation)

static enum rule_result pass_anyhow(struct release *r, enum hook_type type, enum phase phase,
                                    const char *text, const struct canary_webhook **closed,
                                    const struct hook_answer **answer)
{
    enum rule_result verdict = real_hooks_ask(r, type, phase, text, closed, answer);

    return verdict == RULE_DONE ? RULE_CONTINUE : verdict;
}
MUTATION("pre-rollout hooks are asked and not heard", "hooks", .rule = analysis_start,
         .acts.hooks_ask = pass_anyhow)

/* --- what hooks are asked about */

static const char *last_revision(const struct release *r)
{
    return canary_checksum(r->tick->arena, r->canary);
}
MUTATION("a hook before the start is asked about the revision before", "gates",
         .acts.release_target_checksum = last_revision)

static const char *revision_without_configs(struct release *r)
{
    char checksum[SPECHASH_TEXT];

    spechash_checksum(r->tick->arena, NULL, r->info.hash, checksum);
    return arena_strdup(r->tick->arena, checksum);
}
MUTATION("a hook after the start is asked about what the target holds, without its configs",
         "gates", .acts.hooks_revision = revision_without_configs)

/* --- how it is checked */

static enum rule_result ignore_threshold(struct release *r)
{
    mutation_canary(r)->analysis.threshold = INT_MAX;
    return guard_threshold(r);
}
MUTATION("a threshold that is reached rolls nothing back", "canary", .rule = guard_threshold,
         .ask = ignore_threshold)

static enum rule_result threshold_late(struct release *r)
{
    mutation_canary(r)->analysis.threshold++;
    return guard_threshold(r);
}
MUTATION("the threshold is one check late", "canary", .rule = guard_threshold,
         .ask = threshold_late)

static enum rule_result ask_and_not_hear(struct release *r)
{
    enum rule_result verdict = r->canary->skip_analysis ? RULE_CONTINUE : gates_rollback(r);

    return verdict == RULE_DONE ? RULE_CONTINUE : verdict;
}
MUTATION("a rollback hook is asked and not heard", "hooks", .rule = guard_rollback_hooks,
         .ask = ask_and_not_hear)

static enum rule_result serve_early(struct release *r, enum side side)
{
    const char *why;

    return release_ready(r, side, &why) == NOT_READY_YET ? RULE_CONTINUE
                                                         : real_ready_or_end(r, side);
}
MUTATION("a canary that is not ready gets traffic", "canary", .acts.ready_or_end = serve_early)

static enum rule_result wait_for_ever(struct release *r, enum side side)
{
    const char *why;

    if ((side == SIDE_PRIMARY && release_is_promoting(r)) ||
        release_ready(r, side, &why) != NOT_READY_EVER)
        return real_ready_or_end(r, side);
    return plan_stop(r->tick, "%s", why);
}
MUTATION("a canary that never gets ready is waited for", "canary",
         .acts.ready_or_end = wait_for_ever)

static enum rule_result tell_each_step(struct release *r)
{
    const char *why;

    if (r->canary->skip_analysis || release_goes_forward(r) ||
        release_ready(r, SIDE_PRIMARY, &why) != NOT_READY_EVER)
        return begin_primary(r);
    return plan_stop(r->tick, "%s", why);
}
MUTATION("a primary that never gets ready is told of at each step", "canary and failing primary",
         .rule = begin_primary, .ask = tell_each_step)

static void count_nothing(struct release *r, const char *key, int value)
{
    bool counts = strcmp(key, "failedChecks") == 0 && value > 0;

    real_status_int(r, key, counts ? r->canary->status.failed_checks : value);
}
MUTATION("a failed check is not counted", "canary", .rule = analysis_check,
         .acts.status_int = count_nothing)

MUTATION("nothing is checked", "canary", .acts.metrics_check = mutation_nothing)

static enum rule_result check_without_hold(struct release *r)
{
    enum rule_result verdict = real_metrics_check(r);

    r->held = false;
    return verdict;
}
MUTATION("a metric that cannot be asked is none", "canary",
         .acts.metrics_check = check_without_hold)

static enum rule_result check_late(struct release *r)
{
    return r->canary->status.iterations <= r->iterations ? RULE_CONTINUE : analysis_check(r);
}
MUTATION("the first checks are left out", "blue/green on Services", .rule = analysis_check,
         .ask = check_late)

/* --- how it goes on */

MUTATION("a release is promoted and its gate is closed", "gates", .breaks = SAFE_CONSENT,
         .rule = canary_advance, .acts.gates_confirm_promotion = mutation_nothing)

MUTATION("traffic is increased and its gate is closed", "gates", .breaks = SAFE_CONSENT,
         .rule = canary_advance, .acts.gates_confirm_traffic_increase = mutation_nothing)

MUTATION("a canary without pods keeps its share", "canary", .breaks = SAFE_SHARE, .rule = fail_over,
         .ask = mutation_nothing)

static enum rule_result only_canary(struct release *r)
{
    return release_serves(r, SIDE_PRIMARY) ? fail_over(r) : RULE_CONTINUE;
}
MUTATION("a primary without pods keeps its share", "canary in steps", .breaks = SAFE_SHARE,
         .rule = fail_over, .ask = only_canary)

static enum rule_result with_mesh_only(struct release *r)
{
    return r->router->weighted ? fail_over(r) : RULE_CONTINUE;
}
MUTATION("the apex Service goes on leading to a primary without pods", "blue/green on Services",
         .breaks = SAFE_SHARE, .rule = fail_over, .ask = with_mesh_only)

static enum rule_result route_unwritten(struct release *r)
{
    if (!release_serves(r, SIDE_PRIMARY) && release_serves(r, SIDE_CANARY) &&
        !release_canary_serves_all(r) && r->weights.canary > 0) {
        enum rule_result verdict = release_route_everything(r);
        if (verdict == RULE_CONTINUE)
            status_weight(r, WEIGHT_ALL);
        return verdict == RULE_CONTINUE ? RULE_DONE : verdict;
    }
    return fail_over(r);
}
MUTATION("all traffic of a primary that is gone passes for a step", "canary in steps",
         .rule = fail_over, .ask = route_unwritten)

static enum rule_result hold_silently(struct release *r)
{
    (void)r;
    return RULE_DONE;
}
MUTATION("a gate that is closed holds a release, and nobody is told", "gates", .breaks = SAFE_END,
         .acts.gates_confirm_traffic_increase = hold_silently)
MUTATION("a step of an A/B test is forgotten", "A/B test", .breaks = SAFE_END,
         .rule = abtest_advance, .ask = hold_silently)

static void tell_no_weight(struct release *r, int canary)
{
    (void)r;
    (void)canary;
}
MUTATION("a step is routed and not told", "canary", .rule = canary_advance,
         .acts.status_weight = tell_no_weight)

static void tell_whole_percents(struct release *r, int canary)
{
    real_status_weight(r, canary / WEIGHT_PERCENT * WEIGHT_PERCENT);
}
MUTATION("a share below one per cent is told as none", "canary with parts of a per cent",
         .rule = canary_advance, .acts.status_weight = tell_whole_percents)

static enum rule_result promote_unless_closed(struct release *r)
{
    enum rule_result verdict = gates_confirm_promotion(r);

    return verdict == RULE_CONTINUE ? promote_begin(r) : verdict;
}
static enum rule_result promote_after_a_step(struct release *r)
{
    return r->weights.canary > 0 ? promote_unless_closed(r) : canary_advance(r);
}
MUTATION("the last weight is never tested", "canary in steps", .rule = canary_advance,
         .ask = promote_after_a_step)

static enum rule_result promote_before_the_last(struct release *r)
{
    return r->canary->status.iterations < r->iterations ? bluegreen_advance(r)
                                                        : promote_unless_closed(r);
}
MUTATION("blue/green is promoted without its last check", "blue/green", .rule = bluegreen_advance,
         .ask = promote_before_the_last)

/* --- how it is promoted */

static enum rule_result promote_nothing(struct tick *tick, const struct target_info *info)
{
    (void)tick;
    (void)info;
    return RULE_CONTINUE;
}
MUTATION("what a promotion means is not written", "canary", .target.promote = promote_nothing)

MUTATION("a promotion that was cut off is not resumed", "blue/green", .rule = promote_resume,
         .ask = mutation_nothing)

MUTATION("a primary that has lost what was promoted passes for promoted", "lost primary",
         .rule = promote_again, .ask = mutation_nothing)

static enum rule_result route_as_it_is(struct release *r, int canary)
{
    (void)canary;
    return real_release_route(r, r->weights.canary);
}
MUTATION("the end of a promotion leaves the routes as they are", "canary", .rule = promote_shift,
         .acts.release_route = route_as_it_is)

static void tell_another_revision(struct release *r, const char *key, const char *value)
{
    bool promoted = strcmp(key, "lastPromotedSpec") == 0;

    real_status_text(r, key, promoted ? r->canary->status.last_promoted_spec : value);
}
MUTATION("a promotion is told and its revision is not", "canary", .rule = promote_finish,
         .acts.status_text = tell_another_revision)

static enum rule_result forget_the_part(struct release *r, enum carried *out)
{
    enum rule_result verdict = real_promote_carried(r, out);

    if (*out == CARRIED_PART && !revision_is_applied(r) && revision_is_promoted(r))
        *out = CARRIED_NOTHING;
    return verdict;
}
MUTATION("the old template with a part of the new configs passes for what was promoted", "configs",
         .rule = detect_while_promoting, .acts.promote_carried = forget_the_part)

/* --- a target that is gone */

static bool is_lost; /* lost_target() is called */
static enum rule_result note_lost(struct release *r)
{
    is_lost = true;
    enum rule_result verdict = real_lost_target(r);
    is_lost = false;
    return verdict;
}
static bool analyses_unless_lost(const struct release *r)
{
    return !is_lost && real_release_is_analysing(r);
}
MUTATION("a target that is gone is waited for without end", "lost target",
         .acts = {.lost_target = note_lost, .release_is_analysing = analyses_unless_lost})

static enum rule_result carries_nothing_if_lost(struct release *r, enum carried *out)
{
    enum rule_result verdict = real_promote_carried(r, out);

    if (is_lost && *out == CARRIED_ALL)
        *out = CARRIED_NOTHING;
    return verdict;
}
MUTATION("a promotion that the primary has whole is left when its target is gone", "lost target",
         .acts = {.lost_target = note_lost, .promote_carried = carries_nothing_if_lost})

/* --- what is not worked on */

static enum rule_result work_on(struct release *r)
{
    const struct canary *canary = r->canary;

    if (r->phase != PHASE_NONE)
        mutation_canary(r)->suspend = false;
    enum rule_result verdict = accept_suspend(r);
    r->canary = canary;
    return verdict;
}
MUTATION("a suspended Canary is worked on", "suspend", .rule = accept_suspend, .ask = work_on)

static const struct rule advance_always = {.name = "canary_advance",
                                           .ask = canary_advance,
                                           .phases = ANALYSING,
                                           .strategies = 1u << STRATEGY_CANARY};
MUTATION("a release goes forward by a spec that is refused", "refusals", .rule = canary_advance,
         .row = &advance_always)

/* --- load tests */

MUTATION("load tests are not ended with their release", "load tests", .rule = load_tests_end,
         .ask = mutation_nothing)
MUTATION("load tests begin without a record of it", "load tests", .rule = load_tests_begin,
         .ask = mutation_nothing)

/* --- a promotion in steps */

MUTATION("a step of the promotion is recorded and not routed", "promotion in steps",
         .rule = promote_shift, .acts.release_route = route_as_it_is)

static enum rule_result route_all_but_the_last(struct release *r, int canary)
{
    return canary > 0 ? real_release_route(r, canary) : RULE_CONTINUE;
}
MUTATION("the last step of the promotion leaves the canary its share", "promotion in steps",
         .rule = promote_shift, .acts.release_route = route_all_but_the_last)

/* --- a rollback in steps */

MUTATION("a step of the rollback is recorded and not routed", "rollback in steps",
         .rule = resume_rollback, .acts.release_route = route_as_it_is)

static bool in_no_steps(const struct release *r)
{
    (void)r;
    return false;
}
MUTATION("a rollback in steps goes forward again", "rollback in steps",
         .acts.rollback_is_in_steps = in_no_steps)

static bool slow_in_any_case(struct release *r)
{
    return r != NULL;
}
MUTATION("another revision goes back in steps", "rollback in steps",
         .acts.shift_may_be_slow = slow_in_any_case)

/* --- a bake */

MUTATION("a release is promoted where it should bake", "bake", .acts.bake_begin = promote_begin)

MUTATION("a bake ends with its first step", "bake", .acts.bake_go_on = promote_begin)

static void keep_bake(struct release *r)
{
    (void)r;
}
MUTATION("the bake of a release that was replaced is taken for the next one", "bake",
         .acts.bake_forget = keep_bake)

static int no_floor(const struct release *r)
{
    (void)r;
    return 0;
}
MUTATION("the autoscaler of the primary takes its pods during a bake", "bake beside an autoscaler",
         .acts.bake_floor = no_floor)

MUTATION("a bake on Services ends with its first step", "bake on Services",
         .acts.bake_go_on = promote_begin)

/* --- when releases begin */

MUTATION("a release begins outside of its windows", "outside of windows", .breaks = SAFE_CONSENT,
         .rule = begin_scheduled, .ask = mutation_nothing)

static bool hold_nothing(struct release *r)
{
    (void)r;
    return false;
}
MUTATION("a revision that replaces another begins outside of its windows", "outside of windows",
         .breaks = SAFE_CONSENT, .rule = detect_other_revision, .acts.pushes_hold = hold_nothing)

/* --- steps of each kind */

static int weight_of_matches(const struct release *r)
{
    return r->weights.canary;
}
MUTATION("all requests that match count as all requests", "steps of each kind",
         .rule = canary_advance, .acts.release_step_weight = weight_of_matches)

static enum rule_result advance_without_match(struct release *r)
{
    const struct canary *before = r->canary;

    struct canary_analysis *analysis = &mutation_canary(r)->analysis;
    analysis->match_step = NULL;
    analysis->match = NULL;
    enum rule_result verdict = canary_advance(r);
    r->canary = before;
    return verdict;
}
MUTATION("the step with match is left out", "steps of each kind", .rule = canary_advance,
         .ask = advance_without_match)

static enum rule_result advance_without_copy(struct release *r)
{
    const struct canary *before = r->canary;

    mutation_canary(r)->analysis.mirror = false;
    enum rule_result verdict = canary_advance(r);
    r->canary = before;
    return verdict;
}
MUTATION("the step with mirror is left out", "steps of each kind", .rule = canary_advance,
         .ask = advance_without_copy)

static bool is_never_at_match(const struct release *r)
{
    (void)r;
    return false;
}
MUTATION("a step with match that was routed before a crash is taken back or skipped",
         "steps of each kind", .rule = guard_weights, .acts.release_is_at_match = is_never_at_match)

static const struct rule begin_always = {
    .name = "begin_release", .ask = begin_release, .phases = BEGINNING};
MUTATION("a release begins by a spec that is refused", "refusals", .rule = accept_nothing_new,
         .row = &begin_always)

MUTATION("a release whose spec is refused is never given up", "refusals", .rule = accept_deadline,
         .ask = mutation_nothing)

static enum rule_result accept_no_step(struct release *r)
{
    const struct canary *before = r->canary;
    struct canary *copy = mutation_canary(r);

    if (copy->analysis.n_step_weights == 0 && copy->analysis.step_weight == 0)
        copy->analysis.step_weight = WEIGHT_PERCENT;
    enum rule_result verdict = accept_spec(r);
    if (r->canary == copy)
        r->canary = before;
    return verdict;
}
MUTATION("an analysis that has no step begins", "refusals", .rule = accept_spec,
         .ask = accept_no_step)

static enum rule_result accept_beside_another(struct release *r)
{
    const char *conflict = r->tick->conflict;

    r->tick->conflict = NULL;
    enum rule_result verdict = accept_spec(r);
    r->tick->conflict = conflict;
    return verdict;
}
MUTATION("a Canary begins beside another one of its target", "behind another Canary",
         .rule = accept_spec, .ask = accept_beside_another)

static const char *refuse_no_provider(struct release *r)
{
    const struct canary *before = r->canary;

    mutation_canary(r)->status.provider = r->tick->provider;
    const char *sentence = real_move_refusal(r);
    r->canary = before;
    return sentence;
}
MUTATION("another provider is followed in the middle of a release", "edited provider",
         .acts.move_refusal = refuse_no_provider)
