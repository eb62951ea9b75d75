/* What is broken in how traffic is moved: rollbacks, pauses, routes that are repaired. */
#include "mutations/mutation.h"

/* --- rollbacks */

static int rolls_back; /* in so many of the functions below */

static enum rule_result run(struct release *r, bool consume)
{
    rolls_back++;
    enum rule_result verdict = real_rollback_run(r, consume);
    rolls_back--;
    return verdict;
}

static enum rule_result to_primary(struct release *r, const char *reason, bool *kept)
{
    rolls_back++;
    enum rule_result verdict = real_rollback_to_primary(r, reason, kept);
    rolls_back--;
    return verdict;
}

static enum rule_result keep_routes(struct release *r, int canary)
{
    return rolls_back > 0 ? RULE_CONTINUE : real_release_route(r, canary);
}
MUTATION("a rollback leaves the routes as they are", "canary",
         .acts = {
             .rollback_run = run, .rollback_to_primary = to_primary, .release_route = keep_routes})

static enum rule_result scale_down_first(struct release *r, bool consume)
{
    if (r->info.object)
        r->target->scale_to_zero(r->tick, &r->info);
    return run(r, consume);
}
static enum rule_result drain_no_more(struct release *r)
{
    return rolls_back > 0 ? RULE_CONTINUE : real_drain_target(r);
}
MUTATION("a rollback scales down whoever has the traffic", "blue/green",
         .acts = {.rollback_run = scale_down_first, .drain_target = drain_no_more})

static enum rule_result scale_down(struct release *r)
{
    if (rolls_back == 0)
        return real_drain_target(r);
    r->target->scale_to_zero(r->tick, &r->info);
    return RULE_CONTINUE;
}
MUTATION("a rollback scales down with the same stroke", "canary",
         .acts = {.rollback_run = run, .drain_target = scale_down})

static bool full_in_rollback(struct release *r)
{
    return rolls_back == 0 && real_capacity_is_empty(r);
}
MUTATION("all traffic goes to a primary of which no pod answers", "canary and failing primary",
         .acts = {.rollback_run = run,
                  .rollback_to_primary = to_primary,
                  .capacity_is_empty = full_in_rollback})

static enum readiness ready_in_rollback(struct release *r, enum side side, const char **why)
{
    enum readiness readiness = real_release_ready(r, side, why);

    return rolls_back > 0 && side == SIDE_PRIMARY ? READY : readiness;
}
MUTATION("a rollback gives all traffic to a primary that has nothing and is not ready",
         "blue/green",
         .acts = {.rollback_run = run,
                  .rollback_to_primary = to_primary,
                  .release_ready = ready_in_rollback})

static enum rule_result fail_promotion(struct release *r, const char *why)
{
    bool at_zero = r->info.at_zero;

    r->info.at_zero = false;
    rolls_back++;
    enum rule_result verdict = real_rollback_failed_promotion(r, why);
    rolls_back--;
    r->info.at_zero = at_zero;
    return verdict;
}
static enum readiness canary_ready(struct release *r, enum side side, const char **why)
{
    enum readiness readiness = real_release_ready(r, side, why);

    return rolls_back > 0 && side == SIDE_CANARY ? READY : readiness;
}
MUTATION("a promotion that fails routes to a canary that is not ready",
         "canary and failing primary",
         .acts = {.rollback_failed_promotion = fail_promotion, .release_ready = canary_ready})

static enum rule_result stay_after_failure(struct release *r, const char *reason, bool *kept)
{
    return strcmp(reason, CAPACITY_RETURN) == 0 ? RULE_DONE
                                                : real_rollback_to_primary(r, reason, kept);
}
MUTATION("traffic that was left with a failed canary stays there", "blue/green",
         .acts.rollback_to_primary = stay_after_failure)

static bool never_empty(struct release *r)
{
    (void)r;
    return false;
}
static enum rule_result wait_for_scalers_only(struct release *r, const char *reason)
{
    return r->scaler ? real_capacity_wait(r, reason) : RULE_CONTINUE;
}
MUTATION("a rollback sends everything to a primary without pods", "zero replicas",
         .acts = {.capacity_is_empty = never_empty, .capacity_wait = wait_for_scalers_only})

/* --- pauses */

static enum rule_result pass_at_once(struct release *r, const struct pause *pause)
{
    struct pause shorter = *pause;

    shorter.more_ms -= tick_interval_ms(r->tick);
    return real_pause_pass(r, &shorter);
}
MUTATION("a pause is over when it begins", "canary", .acts.pause_pass = pass_at_once)

static struct pause unasked(const struct pause *pause)
{
    struct pause copy = *pause;

    copy.unasked = true;
    return copy;
}
static enum rule_result begin_unasked(struct release *r, const struct pause *pause)
{
    struct pause copy = unasked(pause);

    return real_pause_begin(r, &copy);
}
static enum rule_result note_unasked(struct release *r, const struct pause *pause)
{
    struct pause copy = unasked(pause);

    return real_pause_note(r, &copy);
}
static enum rule_result pass_unasked(struct release *r, const struct pause *pause)
{
    struct pause copy = unasked(pause);

    return real_pause_pass(r, &copy);
}
MUTATION("a pause does not wait for the gateway", "canary on a slow gateway",
         .acts = {
             .pause_begin = begin_unasked, .pause_note = note_unasked, .pause_pass = pass_unasked})

static bool passes; /* in pause_pass() */
static enum rule_result note_passing(struct release *r, const struct pause *pause)
{
    passes = true;
    enum rule_result verdict = real_pause_pass(r, pause);
    passes = false;
    return verdict;
}
static bool since_the_write(const struct release *r, const char *type, const char *reason,
                            int64_t *since)
{
    return real_condition_since(r, type, reason, since) ||
           (passes && condition_time(r, type, since));
}
MUTATION("a pause counts from the write", "canary on a slow gateway",
         .acts = {.pause_pass = note_passing, .condition_since = since_the_write})

/* By what is written for people. */
static bool is_set_by_text(const struct release *r, const char *type)
{
    const char *text = strcmp(type, CONDITION_DRAINED) == 0 ? condition_message(r, type) : NULL;

    return text ? strstr(text, "keeps its pods") != NULL : real_condition_is_set(r, type);
}
MUTATION("a rule reads what is written for people", "canary", .rule = drain_idle,
         .acts.condition_is_set = is_set_by_text)

static enum rule_result drain_on(struct release *r)
{
    return r->weights.canary > 0 ? RULE_CONTINUE : drain_idle(r);
}
MUTATION("a pause goes on while somebody routes to the target", "moved weights", .rule = drain_idle,
         .ask = drain_on)

/* --- Services of others that lead to the target */

static enum rule_result look_at_first_only(struct release *r)
{
    return release_is_initialising(r) ? bystander_check(r) : RULE_CONTINUE;
}
MUTATION("a target that a Service of others leads to is kept for the first pause only",
         "beside another Service", .acts.bystander_wait = look_at_first_only)

static enum rule_result look_unless_at_zero(struct release *r)
{
    return r->info.at_zero ? RULE_CONTINUE : real_bystander_check(r);
}
static enum rule_result wait_unless_at_zero(struct release *r)
{
    return r->info.at_zero ? RULE_CONTINUE : real_bystander_wait(r);
}
MUTATION("a target at zero is not looked at, though a Service of others leads to it",
         "beside another Service",
         .acts = {.bystander_check = look_unless_at_zero, .bystander_wait = wait_unless_at_zero})

/* --- pods of others */

static enum rule_result look_at_nothing(struct release *r)
{
    (void)r;
    return RULE_CONTINUE;
}
MUTATION("Services are made whatever else they select", "beside another workload",
         .breaks = SAFE_OWNER, .acts.owners_check = look_at_nothing)

static enum rule_result look_once(struct release *r)
{
    return condition_is_set(r, CONDITION_OWNERS) ? RULE_CONTINUE : real_owners_check(r);
}
MUTATION("Services that would select pods of others are made at the second tick",
         "beside another workload", .breaks = SAFE_OWNER, .acts.owners_check = look_once)

static enum rule_result not_needed(struct release *r, bool *needs)
{
    (void)r;
    *needs = false;
    return RULE_CONTINUE;
}
MUTATION("the target goes while the apex Service has no other pods", "blue/green on Services",
         .acts.serving_needs_target = not_needed)

/* --- routes */

MUTATION("routes that say something else than the status stay so", "moved weights",
         .rule = guard_weights, .ask = mutation_nothing)

static enum rule_result leave_moved_routes(struct release *r, int canary)
{
    return r->canary->status.canary_weight == 0 ? RULE_CONTINUE : real_release_route(r, canary);
}
MUTATION("routes of an idle canary that somebody has moved stay there", "moved weights",
         .rule = detect_idle, .acts.release_route = leave_moved_routes)

static bool serves_a_part(const struct release *r)
{
    (void)r;
    return false;
}
MUTATION("a primary that comes back slowly gets its share at once", "lost primary",
         .rule = guard_weights, .acts.release_canary_serves_all = serves_a_part)

static void tell_all_only(struct release *r, int canary)
{
    if (r->weights.canary == WEIGHT_ALL)
        real_status_weight(r, canary);
}
MUTATION("what was routed when the primary went is not told", "lost primary",
         .rule = initialise_primary, .acts.status_weight = tell_all_only)

/* A share below one per cent is taken for none. */
static enum rule_result leave_a_little(struct release *r, int canary)
{
    return r->weights.canary / WEIGHT_PERCENT == 0 && canary == 0 ? RULE_CONTINUE
                                                                  : real_release_route(r, canary);
}
MUTATION("a share below one per cent is not taken back", "canary with parts of a per cent",
         .acts.release_route = leave_a_little)

/* A router that writes something else, for one call of release_route(). */
static const struct router *routing;
static enum rule_result route_by(struct release *r, int canary,
                                 enum rule_result (*set)(struct tick *tick,
                                                         const struct weights *weights))
{
    struct router copy = *r->router;

    routing = r->router;
    copy.set = set;
    r->router = &copy;
    enum rule_result verdict = real_release_route(r, canary);
    r->router = routing;
    return verdict;
}

static enum rule_result set_one_side(struct tick *tick, const struct weights *weights)
{
    struct weights wrong = *weights;

    wrong.primary = WEIGHT_ALL;
    return routing->set(tick, &wrong);
}
static enum rule_result route_one_side(struct release *r, int canary)
{
    return route_by(r, canary, set_one_side);
}
MUTATION("the routes are written with the weight of one side only", "canary",
         .acts.release_route = route_one_side)

static enum rule_result set_more(struct tick *tick, const struct weights *weights)
{
    struct weights now;
    enum rule_result verdict = routing->get(tick, &now);

    return verdict == RULE_CONTINUE && now.canary < weights->canary ? routing->set(tick, weights)
                                                                    : verdict;
}
static enum rule_result route_more(struct release *r, int canary)
{
    return route_by(r, canary, set_more);
}
MUTATION("a share that Knative routes is never taken back", "deletion with Knative",
         .acts.release_route = route_more)

static enum rule_result share_anyhow(struct release *r, int percent)
{
    (void)r;
    (void)percent;
    return RULE_CONTINUE;
}
MUTATION("blue/green gives the canary all traffic whatever pods it has",
         "sides of different sizes, blue/green", .breaks = SAFE_CAPACITY, .rule = bluegreen_advance,
         .acts.share_wait = share_anyhow)

MUTATION("a small canary gets its share whatever pods it has",
         "sides of different sizes, a small canary", .breaks = SAFE_CAPACITY,
         .rule = canary_advance, .acts.share_wait = share_anyhow)

static void note_nothing(struct release *r)
{
    (void)r;
}
MUTATION("the primary gets the number of a small canary",
         "sides of different sizes, a small canary", .acts.share_note_own = note_nothing)

static int64_t one_pod(struct release *r)
{
    (void)r;
    return 1;
}
MUTATION("all traffic is taken for that of one pod", "sides of different sizes that nothing scales",
         .breaks = SAFE_CAPACITY, .acts.capacity_total = one_pod)

/* --- by number of pods */

MUTATION("a step has whatever pods there are", "sizes by number of pods", .breaks = SAFE_CAPACITY,
         .rule = canary_advance, .acts.share_wait = share_anyhow)

MUTATION("pods of others get requests", "by number of pods, with pods of others",
         .rule = pods_allow, .ask = mutation_nothing)

static enum rule_result labels_of_target(struct release *r, int canary, struct json_object **out)
{
    (void)canary;
    *out = json_at(r->info.object, "spec", "selector", "matchLabels", NULL);
    return RULE_CONTINUE;
}
MUTATION("a share leads to the canary alone", "sizes by number of pods",
         .acts.serving_selector = labels_of_target)

static struct service_pods pods_of_primary(struct release *r)
{
    struct service_pods pods = real_serving_pods(r);

    pods.apex_shared = false;
    return pods;
}
static enum rule_result lead_to_primary(struct release *r)
{
    struct service_pods pods = pods_of_primary(r);

    return services_reconcile_apex(r->tick, &pods);
}
MUTATION("the Service is put back under a share", "sizes by number of pods",
         .acts.serving_apex = lead_to_primary)
