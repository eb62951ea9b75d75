#include "shadow/foresee.h"

#include <string.h>

#include "decide/decide.h"
#include "tick/fact.h"
#include "tick/plan.h"

/* Limits: plans in a row; waits and moves until the expected position. */
enum { MAX_STEPS = 12, MAX_WAITS = 3, MAX_MOVES = 3, MAX_PLANS = 2048 };

struct foresight {
    struct arena *arena;
    const struct canary *start;
    const char *start_mistake;
    int64_t start_ms;
    const struct position *until; /* NULL: the first position that differs */
    enum assumed assumed;
    bool asked, may_roll_back; /* webhooks on the way; one of them for a rollback */
    /* Of the current alternative: */
    struct copies copies;
    struct position at; /* the position in which the last plan left the release */
    int steps, waits, moves;
    const char *plans;
    struct foreseen *first, **last;
};

/*
 * For a release without weight steps, Flagger's status has no weight and ours has the routed one,
 * so its iterations determine the position.
 */
struct position position_of(const struct canary *canary)
{
    const struct canary_status *status = &canary->status;
    bool weighted = canary->strategy == STRATEGY_CANARY;

    return (struct position){.phase = status->phase,
                             .weight = weighted ? status->canary_weight : 0,
                             .iterations = status->iterations,
                             .failed_checks = status->failed_checks};
}

bool position_same(const struct position *a, const struct position *b)
{
    return a->phase == b->phase && a->weight == b->weight && a->iterations == b->iterations &&
           a->failed_checks == b->failed_checks;
}

const char *position_text(struct arena *arena, const struct position *position)
{
    const char *text = position->phase == PHASE_NONE ? "no phase" : phase_name(position->phase);

    if (position->weight != 0)
        text = arena_printf(arena, "%s, %s percent", text, weight_text(arena, position->weight));
    if (position->iterations != 0)
        text = arena_printf(arena, "%s, iteration %d", text, position->iterations);
    if (position->failed_checks != 0)
        text = arena_printf(arena, "%s, %d failed checks", text, position->failed_checks);
    return text;
}

static void begin_way(struct foresight *f, struct tick *tick)
{
    for (const struct copy *copy = f->copies.first; copy; copy = copy->next)
        fact_replace(tick, copy->resource, copy->namespace_, copy->name, copy->base);
    facts_forget(tick, NEED_HOOK);
    tick_see(tick, f->start);
    tick->mistake = f->start_mistake;
    tick->now_ms = f->start_ms;
    tick->due = true;
    f->copies = (struct copies){.arena = f->arena, .canary = f->start->json};
    f->at = position_of(f->start);
    f->steps = f->waits = f->moves = 0;
    f->plans = "";
}

struct foresight *foresight_new(struct tick *tick, const struct position *until)
{
    struct foresight *f = ARENA_NEW(tick->arena, struct foresight);

    *f = (struct foresight){.arena = tick->arena,
                            .start = tick->live,
                            .start_mistake = tick->mistake,
                            .start_ms = tick->now_ms,
                            .until = until};
    f->last = &f->first;
    begin_way(f, tick);
    return f;
}

const struct foreseen *foresight_result(const struct foresight *f)
{
    return f->first;
}

/* --- webhooks, with assumed answers */

static struct hook_answer answer(const struct foresight *f, const struct canary_webhook *webhook)
{
    bool passed =
        webhook->type == HOOK_ROLLBACK ? f->assumed == ASSUMED_ROLLBACK : f->assumed != ASSUMED_NO;

    return (struct hook_answer){.passed = passed, .text = passed ? "assumed to pass" : "assumed"};
}

/* True if no other fact is missing. */
static bool answer_hooks(struct foresight *f, struct tick *tick)
{
    struct need **at = &tick->needs;

    while (*at) {
        struct need *need = *at;
        if (need->kind != NEED_HOOK) {
            at = &need->next;
            continue;
        }
        const struct canary_webhook *webhook = &tick->canary->analysis.webhooks[need->webhook];
        fact_hook(tick, need, answer(f, webhook));
        f->asked = true;
        f->may_roll_back = f->may_roll_back || webhook->type == HOOK_ROLLBACK;
        *at = need->next;
    }
    return tick->needs == NULL;
}

/* --- plans, applied to copies */

/* Returns true if an object was written. */
static bool write_plan(struct foresight *f, struct tick *tick)
{
    const char *outline = plan_outline(tick, MAX_PLANS);

    if (outline)
        f->plans = arena_printf(f->arena, "%s%s", f->plans, outline);
    return copies_carry_out(&f->copies, tick);
}

static struct foreseen_write *result_of(struct foresight *f)
{
    struct foreseen_write *first = NULL;

    for (const struct copy *copy = f->copies.first; copy; copy = copy->next) {
        struct json_object *patch =
            copy->now ? json_merge_diff(f->arena, copy->base, copy->now) : NULL;
        if (copy->now ? !patch : !copy->base)
            continue; /* unchanged */
        struct foreseen_write *write = ARENA_NEW(f->arena, struct foreseen_write);
        *write = (struct foreseen_write){.next = first,
                                         .resource = copy->resource,
                                         .namespace_ = copy->namespace_,
                                         .name = copy->name,
                                         .patch = patch};
        first = write;
    }
    return first;
}

static void end_way(struct foresight *f, const struct tick *tick, const struct canary *canary)
{
    struct position from = position_of(f->start);
    struct foreseen *foreseen = ARENA_NEW(f->arena, struct foreseen);

    *foreseen = (struct foreseen){.assumed = f->assumed,
                                  .to = position_of(canary),
                                  .passed = f->moves > 1 ? f->moves - 1 : 0,
                                  .after_ms = tick->now_ms - f->start_ms,
                                  .plans = f->plans,
                                  .writes = result_of(f)};
    foreseen->moves = !position_same(&from, &foreseen->to);
    if (!foreseen->moves)
        waiting_of(f->arena, f->copies.canary, &foreseen->waits);
    *f->last = foreseen;
    f->last = &foreseen->next;
}

/*
 * Waits until the plan wants the rules to run again; false if it never does, or too late to matter
 * for the next step.
 */
static bool wait_on(struct foresight *f, struct tick *tick, bool writes)
{
    const struct plan *plan = tick->plan;
    int64_t interval = tick_interval_ms(tick);

    if (plan->requeue == REQUEUE_NOW)
        return true;
    if (plan->requeue == REQUEUE_NEVER && !writes && plan->wake_ms == 0)
        return false;
    tick->now_ms += plan->wake_ms > 0 && plan->wake_ms < interval ? plan->wake_ms : interval;
    return ++f->waits < MAX_WAITS;
}

/* The release is at the expected position, or has moved too often. */
static bool arrives(struct foresight *f, const struct position *to)
{
    if (position_same(&f->at, to))
        return false;
    f->at = *to;
    f->moves++;
    return !f->until || position_same(f->until, to) || f->moves == MAX_MOVES;
}

/* True if the rules continue. */
static bool carry_out(struct foresight *f, struct tick *tick)
{
    struct canary *canary = ARENA_NEW(f->arena, struct canary);
    struct position to;
    const char *mistake;
    struct errinfo info;
    bool writes = write_plan(f, tick);

    if (accept_view(f->arena, f->copies.canary, canary, &mistake, &info) != ERR_OK) {
        end_way(f, tick, f->start);
        return false;
    }
    to = position_of(canary);
    bool goes_on = !arrives(f, &to) && ++f->steps < MAX_STEPS && wait_on(f, tick, writes);
    tick_see(tick, canary);
    tick->mistake = mistake;
    if (!goes_on)
        end_way(f, tick, canary);
    return goes_on;
}

/* --- alternatives */

static bool next_way(struct foresight *f, struct tick *tick)
{
    bool more = f->assumed == ASSUMED_YES  ? f->asked
                : f->assumed == ASSUMED_NO ? f->may_roll_back
                                           : false;

    begin_way(f, tick);
    if (more)
        f->assumed++;
    return more;
}

enum rule_result foresee(struct foresight *f, struct tick *tick)
{
    for (;; tick_reset(tick)) {
        enum rule_result verdict = decide(tick);
        if (tick->broken)
            return verdict;
        if (verdict == RULE_NEEDS_FACTS) {
            if (!answer_hooks(f, tick))
                return verdict;
        } else if (!carry_out(f, tick) && !next_way(f, tick)) {
            break;
        }
    }
    tick_reset(tick);
    return RULE_DONE;
}

struct copy *copies_find(const struct copies *copies, const struct kube_resource *resource,
                         const char *namespace_, const char *name)
{
    for (struct copy *copy = copies->first; copy; copy = copy->next)
        if (kube_resource_same(copy->resource, resource) && strcmp(copy->name, name) == 0 &&
            strcmp(copy->namespace_, namespace_) == 0)
            return copy;
    return NULL;
}

static struct copy *add(struct copies *copies, const struct kube_resource *resource,
                        const char *namespace_, const char *name, struct json_object *object)
{
    struct copy *copy = ARENA_NEW(copies->arena, struct copy);

    *copy = (struct copy){.next = copies->first,
                          .resource = resource,
                          .namespace_ = arena_strdup(copies->arena, namespace_),
                          .name = arena_strdup(copies->arena, name),
                          .base = object,
                          .now = object};
    copies->first = copy;
    return copy;
}

void copies_put(struct copies *copies, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *object)
{
    struct copy *copy = copies_find(copies, resource, namespace_, name);

    if (copy)
        copy->now = object;
    else
        (void)add(copies, resource, namespace_, name, object);
}

static struct copy *copy_of(struct copies *copies, struct tick *tick, const struct effect *effect)
{
    const char *name =
        effect->name ? effect->name : json_str_at(effect->body, "metadata", "name", NULL);
    struct copy *copy = copies_find(copies, effect->resource, effect->namespace_, name);
    struct json_object *base = NULL;

    if (copy)
        return copy;
    /* an object that no rule has read is created */
    (void)need_object(tick, effect->resource, effect->namespace_, name, &base);
    return add(copies, effect->resource, effect->namespace_, name, base);
}

static void write_copy(struct copies *copies, struct tick *tick, const struct effect *effect)
{
    if (effect->resource == &tick_canaries) {
        copies->canary = json_merge(copies->arena, copies->canary, effect->body);
        return;
    }
    struct copy *copy = copy_of(copies, tick, effect);
    copy->now = effect->kind == EFFECT_DELETE ? NULL
                : effect->kind == EFFECT_CREATE
                    ? json_copy(copies->arena, effect->body)
                    : json_merge(copies->arena, copy->now, effect->body);
    fact_replace(tick, copy->resource, copy->namespace_, copy->name, copy->now);
}

bool copies_carry_out(struct copies *copies, struct tick *tick)
{
    bool writes = false;

    for (struct effect *effect = tick->plan->first; effect; effect = effect->next) {
        switch (effect->kind) {
        case EFFECT_CREATE:
        case EFFECT_PATCH:
        case EFFECT_DELETE:
            write_copy(copies, tick, effect);
            writes = true;
            break;
        case EFFECT_STATUS:
            copies->canary = json_merge(copies->arena, copies->canary, effect->body);
            writes = true;
            break;
        default:
            break;
        }
    }
    return writes;
}
