#include "linearizability/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "linearizability/explain.h"

enum event_type { EVENT_BEGIN, EVENT_END, EVENT_BARRIER };
struct event {
    int64_t at;
    enum event_type type;
    const struct op *op;
};

struct walk {
    const struct gate *gate;
    FILE *out;
    struct explanations now, seen, then;
    const struct op *slots[EXPLAIN_SLOTS];
    uint64_t first[EXPLAIN_SLOTS];    /* slots that ask for the same, have the same answer, and end
                                         sooner */
    struct step kinds[EXPLAIN_KINDS]; /* what the unknown operations since the last barrier do */
    int begun[EXPLAIN_KINDS];
    int n_kinds;
    int64_t start, at, last_barrier;
    struct order_result result;
};

/* --- moments */

static const struct answer any_answer = {.changed = NOT_TOLD, .open = NOT_TOLD};

/* What says of itself that it changes nothing loses nothing by having its moment as early as it
 * can: all else stays as possible as it was. */
static void settle(const struct walk *w, struct explanation *e)
{
    for (int slot = 0; slot < EXPLAIN_SLOTS; slot++) {
        const struct op *op = w->slots[slot];
        model_state state = e->state;
        if (!op || e->done >> slot & 1 ||
            (op->step.ask != ASK_CHECK && op->answer.changed != SAID_NO &&
             op->answer.changed != SAID_REFUSED))
            continue;
        if (model_apply(&w->gate->rules, &op->step, &op->answer, &state) && state == e->state)
            e->done |= (uint64_t)1 << slot;
    }
}

/* Adds every explanation that has one more moment than e. Of operations that do the same and were
 * answered the same, the one that must be done first goes first: any other order can be turned into
 * this one. */
static void expand_known(struct walk *w, const struct explanation *e)
{
    for (int slot = 0; slot < EXPLAIN_SLOTS; slot++) {
        const struct op *op = w->slots[slot];
        struct explanation next = *e;
        if (!op || e->done >> slot & 1 || w->first[slot] & ~e->done || op->step.ask == ASK_CHECK ||
            !model_apply(&w->gate->rules, &op->step, &op->answer, &next.state))
            continue;
        next.done |= (uint64_t)1 << slot;
        settle(w, &next);
        explain_add(&w->seen, &next);
    }
}

/* The one change whose turn it is. */
static void expand_numbered(struct walk *w, const struct explanation *e)
{
    struct explanation next = *e;
    if (e->turn >= w->gate->n_changes)
        return;
    const struct op *op = w->gate->changes[e->turn];
    if (op->begin > w->at || !model_apply(&w->gate->rules, &op->step, &op->answer, &next.state))
        return;
    next.turn++;
    settle(w, &next);
    explain_add(&w->seen, &next);
}

static void expand_unknown(struct walk *w, const struct explanation *e)
{
    for (int kind = 0; kind < w->n_kinds; kind++) {
        struct explanation next = *e;
        if (e->used[kind] >= w->begun[kind] ||
            !model_apply(&w->gate->rules, &w->kinds[kind], &any_answer, &next.state) ||
            next.state == e->state) /* nobody can tell whether it happened */
            continue;
        next.used[kind]++;
        settle(w, &next);
        explain_add(&w->seen, &next);
    }
}

/* --- what is told of a violation */

static double seconds(const struct walk *w, int64_t at)
{
    return (double)(at - w->start) / 1e9;
}

static void tell_op(const struct walk *w, const char *how, const struct op *op)
{
    fprintf(w->out, "    %-10s %10.6f to %10.6f s  %s\n", how, seconds(w, op->begin),
            seconds(w, op->end), op->line);
}

/* What bears on it: all that overlaps it or is unknown, and the last changes before it. */
static void tell(const struct walk *w, const struct op *bad)
{
    enum { MOST = 24, BEFORE = 6, TEXT = 400, TOLD = 10 };
    if (w->result.violations > TOLD)
        return;
    char text[TEXT];
    size_t told = 0, before = 0, i;
    fprintf(w->out,
            "  VIOLATION gate %s, line %zu: no order of what was asked explains this answer\n",
            w->gate->name, bad->number);
    tell_op(w, "the answer", bad);
    for (i = 0; i < w->now.n && i < 4; i++) {
        model_describe(w->now.all[i].state, text, sizeof(text));
        fprintf(w->out, "    the gate may have been: %s\n", text);
    }
    for (i = w->gate->n_ops; i-- > 0 && told < MOST;) {
        const struct op *op = &w->gate->ops[i];
        bool change = op->step.ask != ASK_CHECK && op->outcome != OUTCOME_FAILED;
        if (op == bad || op->begin > bad->end || op->end < w->last_barrier || !change)
            continue;
        if (op->outcome == OUTCOME_UNKNOWN)
            tell_op(w, "unknown", op);
        else if (op->end >= bad->begin)
            tell_op(w, "beside it", op);
        else if (before++ < BEFORE)
            tell_op(w, "before it", op);
        else
            continue;
        told++;
    }
}

/* --- the walk */

/* A step without what makes no difference to the state. */
static struct step effect_of(const struct walk *w, const struct op *op)
{
    struct step step = op->step;
    if (step.ask != ASK_OPEN || w->gate->rules.quorum == 1)
        step.person = 0;
    return step;
}

static void begin_unknown(struct walk *w, const struct op *op)
{
    struct step step = effect_of(w, op);
    int kind;
    for (kind = 0; kind < w->n_kinds; kind++) {
        if (memcmp(&w->kinds[kind], &step, sizeof(step)) == 0)
            break;
    }
    assert(kind < EXPLAIN_KINDS); /* there are no more different steps than that */
    if (kind == w->n_kinds) {
        w->begun[w->n_kinds] = 0;
        w->kinds[w->n_kinds++] = step;
    }
    if (w->begun[kind] < UINT8_MAX)
        w->begun[kind]++;
}

/* The rest of the gate's history is not looked at: what was left out could explain it. */
static bool give_up(struct walk *w, const struct op *op, const char *why)
{
    fprintf(w->out, "  GAVE UP gate %s, line %zu: %s\n", w->gate->name, op->number, why);
    w->result.gave_up++;
    return false;
}

static bool same(const struct walk *w, const struct op *one, const struct op *other)
{
    struct step a = effect_of(w, one), b = effect_of(w, other);
    return memcmp(&a, &b, sizeof(a)) == 0 && one->answer.changed == other->answer.changed &&
           one->answer.open == other->answer.open;
}

static void begin_known(struct walk *w, const struct op *op, int slot)
{
    w->slots[slot] = op;
    w->first[slot] = 0;
    for (int other = 0; other < EXPLAIN_SLOTS; other++) {
        if (other == slot || !w->slots[other] || !same(w, w->slots[other], op))
            continue;
        if (w->slots[other]->end <= op->end)
            w->first[slot] |= (uint64_t)1 << other;
        else
            w->first[other] |= (uint64_t)1 << slot;
    }
}

static bool begin(struct walk *w, const struct op *op)
{
    if (op->turn > 0)
        return true; /* its moment comes when it is its turn */
    if (op->outcome == OUTCOME_UNKNOWN) {
        begin_unknown(w, op);
        return true;
    }
    for (int slot = 0; slot < EXPLAIN_SLOTS; slot++) {
        if (!w->slots[slot]) {
            begin_known(w, op, slot);
            return true;
        }
    }
    return give_up(w, op, "more operations at once than can be followed");
}

/*
 * An operation of unknown outcome that happened where nothing has needed it yet may as well happen
 * later: of two explanations that differ only in that, the one without it stays.
 */
static void thin(struct walk *w)
{
    for (size_t i = 0; i < w->then.n; i++) {
        const struct explanation e = w->then.all[i];
        for (int kind = 0; kind < w->n_kinds && !e.dropped; kind++) {
            struct explanation next = e;
            if (e.used[kind] >= w->begun[kind] ||
                !model_apply(&w->gate->rules, &w->kinds[kind], &any_answer, &next.state) ||
                next.state == e.state)
                continue;
            next.used[kind]++;
            explain_drop(&w->then, &next);
        }
    }
}

/* After a violation the walk goes on as if the answer had not come. */
static void forgive(struct walk *w, const struct op *op, uint64_t bit)
{
    explain_clear(&w->then);
    for (size_t i = 0; i < w->now.n; i++) {
        struct explanation e = w->now.all[i];
        if (e.dropped)
            continue;
        e.done &= ~bit;
        explain_add(&w->then, &e);
        e.turn = op->turn > e.turn ? op->turn : e.turn;
        if (model_apply(&w->gate->rules, &op->step, &any_answer, &e.state))
            explain_add(&w->then, &e);
    }
}

static bool had(const struct explanation *e, const struct op *op, uint64_t bit)
{
    return op->turn > 0 ? e->turn >= op->turn : (e->done & bit) != 0;
}

/* Only explanations in which the operation has had its moment may stay. */
static bool end(struct walk *w, const struct op *op)
{
    int slot = 0;
    while (op->turn == 0 && w->slots[slot] != op)
        slot++;
    uint64_t bit = op->turn == 0 ? (uint64_t)1 << slot : 0;
    explain_clear(&w->seen);
    explain_clear(&w->then);
    for (size_t i = 0; i < w->now.n; i++) {
        struct explanation e = w->now.all[i];
        if (e.dropped)
            continue;
        if (!had(&e, op, bit))
            settle(w, &e);
        explain_add(&w->seen, &e);
    }
    for (size_t i = 0; i < w->seen.n; i++) {
        struct explanation e = w->seen.all[i];
        if (e.dropped)
            continue;
        if (had(&e, op, bit)) {
            e.done &= ~bit;
            explain_add(&w->then, &e);
        } else {
            expand_known(w, &e);
            expand_unknown(w, &e);
            expand_numbered(w, &e);
        }
    }
    if (w->seen.full)
        return give_up(w, op, "more explanations than can be followed");
    if (w->then.n == 0) {
        w->result.violations++;
        tell(w, op);
        forgive(w, op, bit);
    }
    thin(w);
    if (bit)
        w->slots[slot] = NULL;
    for (int other = 0; other < EXPLAIN_SLOTS; other++)
        w->first[other] &= ~bit;
    explain_swap(&w->now, &w->then);
    if (w->seen.n > w->result.widest)
        w->result.widest = w->seen.n;
    return true;
}

/* What is unknown and was needed for no answer yet has happened by now, or never will. */
static bool barrier(struct walk *w, int64_t at)
{
    explain_clear(&w->seen);
    explain_clear(&w->then);
    for (size_t i = 0; i < w->now.n; i++) {
        if (!w->now.all[i].dropped)
            explain_add(&w->seen, &w->now.all[i]);
    }
    for (size_t i = 0; i < w->seen.n; i++) {
        struct explanation e = w->seen.all[i],
                           after = {.state = e.state, .done = e.done, .turn = e.turn};
        if (e.dropped)
            continue;
        explain_add(&w->then, &after);
        expand_unknown(w, &e);
    }
    explain_swap(&w->now, &w->then);
    w->n_kinds = 0;
    w->last_barrier = at;
    return !w->seen.full || give_up(w, &w->gate->ops[0], "too much of unknown outcome");
}

static int by_time(const void *a, const void *b)
{
    const struct event *one = a, *other = b;
    if (one->at != other->at)
        return one->at < other->at ? -1 : 1;
    return (one->type > other->type) - (one->type < other->type);
}

static bool counts(const struct op *op)
{
    return op->outcome == OUTCOME_OK ||
           (op->outcome == OUTCOME_UNKNOWN && op->step.ask != ASK_CHECK);
}

static size_t events_of(const struct gate *gate, const int64_t *barriers, size_t n_barriers,
                        struct event *events)
{
    size_t n = 0;
    for (size_t i = 0; i < gate->n_ops; i++) {
        const struct op *op = &gate->ops[i];
        if (!counts(op))
            continue;
        events[n++] = (struct event){op->begin, EVENT_BEGIN, op};
        if (op->outcome == OUTCOME_OK)
            events[n++] = (struct event){op->end, EVENT_END, op};
    }
    for (size_t i = 0; i < n_barriers; i++)
        events[n++] = (struct event){barriers[i], EVENT_BARRIER, NULL};
    qsort(events, n, sizeof(*events), by_time);
    return n;
}

static bool step(struct walk *w, const struct event *event)
{
    w->at = event->at;
    switch (event->type) {
    case EVENT_BARRIER:
        return barrier(w, event->at);
    case EVENT_BEGIN:
        return begin(w, event->op);
    case EVENT_END:
        return end(w, event->op);
    }
    return false;
}

struct order_result order_check(const struct gate *gate, const int64_t *barriers, size_t n_barriers,
                                FILE *out)
{
    struct walk w = {.gate = gate, .out = out, .start = gate->n_ops ? gate->ops[0].begin : 0};
    struct explanation first = {.state = MODEL_CLOSED};
    struct event *events = heap_array(gate->n_ops * 2 + n_barriers + 1, sizeof(*events));
    size_t n = events_of(gate, barriers, n_barriers, events);
    explain_clear(&w.now);
    explain_add(&w.now, &first);
    for (size_t i = 0; i < n && step(&w, &events[i]); i++)
        continue;
    explain_fini(&w.now);
    explain_fini(&w.seen);
    explain_fini(&w.then);
    free(events);
    return w.result;
}
