#include "observe/foresee.h"

#include <string.h>

#include "decide/decide.h"
#include "observe/copies.h"

/* ... of plans in a row; of waits and moves to what is looked for. */
enum { MAX_STEPS = 12, MAX_WAITS = 3, MAX_MOVES = 3, MAX_PLANS = 2048 };

struct foresight {
    struct arena *arena;
    const struct canary *start;
    const char *start_mistake;
    int64_t start_ms;
    const struct stand *until; /* NULL: the first other stand */
    enum assumed assumed;
    bool asked, may_roll_back; /* webhooks, on the way; one of them for a rollback */
    /* Of this way: */
    struct copies copies;
    struct stand at; /* where the last plan has brought it */
    int steps, waits, moves;
    const char *plans;
    struct foreseen *first, **last;
};

/* Of a release that has no steps of weight Flagger's status says no weight, and ours what is routed:
 * its iterations tell where it stands. */
struct stand stand_of(const struct canary *canary)
{
    const struct canary_status *status = &canary->status;
    bool weighted = canary->strategy == STRATEGY_CANARY;

    return (struct stand){.phase = status->phase,
                          .weight = weighted ? status->canary_weight : 0,
                          .iterations = status->iterations,
                          .failed_checks = status->failed_checks};
}

bool stand_same(const struct stand *a, const struct stand *b)
{
    return a->phase == b->phase && a->weight == b->weight && a->iterations == b->iterations &&
           a->failed_checks == b->failed_checks;
}

const char *stand_text(struct arena *arena, const struct stand *stand)
{
    const char *text = stand->phase == PHASE_NONE ? "no phase" : phase_name(stand->phase);

    if (stand->weight != 0)
        text = arena_printf(arena, "%s, %d percent", text, stand->weight);
    if (stand->iterations != 0)
        text = arena_printf(arena, "%s, iteration %d", text, stand->iterations);
    if (stand->failed_checks != 0)
        text = arena_printf(arena, "%s, %d failed checks", text, stand->failed_checks);
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
    f->at = stand_of(f->start);
    f->steps = f->waits = f->moves = 0;
    f->plans = "";
}

struct foresight *foresight_new(struct tick *tick, const struct stand *until)
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

/* --- webhooks, whose answers are assumed */

static struct hook_answer answer(const struct foresight *f, const struct canary_webhook *webhook)
{
    bool passed =
        webhook->type == HOOK_ROLLBACK ? f->assumed == ASSUMED_ROLLBACK : f->assumed != ASSUMED_NO;

    return (struct hook_answer){.passed = passed, .text = passed ? "assumed to pass" : "assumed"};
}

/* True: nothing else is missing. */
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

/* --- plans, which are carried out on copies */

/* Returns whether anything was written. */
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
            continue; /* as it was */
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
    struct stand from = stand_of(f->start);
    struct foreseen *foreseen = ARENA_NEW(f->arena, struct foreseen);

    *foreseen = (struct foreseen){.assumed = f->assumed,
                                  .to = stand_of(canary),
                                  .passed = f->moves > 1 ? f->moves - 1 : 0,
                                  .after_ms = tick->now_ms - f->start_ms,
                                  .plans = f->plans,
                                  .writes = result_of(f)};
    foreseen->moves = !stand_same(&from, &foreseen->to);
    *f->last = foreseen;
    f->last = &foreseen->next;
}

/* The plan's answer to when the rules run again; false: they do not, or too late to tell anything
 * of the next step. */
static bool wait_on(struct foresight *f, struct tick *tick, bool writes)
{
    const struct plan *plan = tick->plan;
    int64_t interval = tick_interval_ms(tick);

    if (plan->again == AGAIN_NOW)
        return true;
    if (plan->again == AGAIN_NEVER && !writes && plan->wake_ms == 0)
        return false;
    tick->now_ms += plan->wake_ms > 0 && plan->wake_ms < interval ? plan->wake_ms : interval;
    return ++f->waits < MAX_WAITS;
}

/* It is where it was to be foreseen to; or has moved too often for that. */
static bool arrives(struct foresight *f, const struct stand *to)
{
    if (stand_same(&f->at, to))
        return false;
    f->at = *to;
    f->moves++;
    return !f->until || stand_same(f->until, to) || f->moves == MAX_MOVES;
}

/* True: the rules go on. */
static bool carry_out(struct foresight *f, struct tick *tick)
{
    struct canary *canary = ARENA_NEW(f->arena, struct canary);
    struct stand to;
    const char *mistake;
    struct errinfo info;
    bool writes = write_plan(f, tick);

    if (accept_view(f->arena, f->copies.canary, canary, &mistake, &info) != ERR_OK) {
        end_way(f, tick, f->start);
        return false;
    }
    to = stand_of(canary);
    bool goes_on = !arrives(f, &to) && ++f->steps < MAX_STEPS && wait_on(f, tick, writes);
    tick_see(tick, canary);
    tick->mistake = mistake;
    if (!goes_on)
        end_way(f, tick, canary);
    return goes_on;
}

/* --- the ways */

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

enum verdict foresee(struct foresight *f, struct tick *tick)
{
    for (;; tick_reset(tick)) {
        enum verdict verdict = decide(tick);
        if (tick->broken)
            return verdict;
        if (verdict == VERDICT_NEED_FACTS) {
            if (!answer_hooks(f, tick))
                return verdict;
        } else if (!carry_out(f, tick) && !next_way(f, tick)) {
            break;
        }
    }
    tick_reset(tick);
    return VERDICT_STOP;
}
