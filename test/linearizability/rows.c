#include "linearizability/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* All rows of one change: a vote that was the last one has two. */
struct change {
    const char *id, *who, *gate;
    int64_t first, last; /* seq */
    int rows, approvals, opens, closes;
    bool asked; /* an operation was recorded */
};

struct join {
    struct arena *arena;
    struct history *history;
    struct change *changes; /* by id */
    size_t n_changes, n_rows, wrong;
    FILE *out;
};

enum { MOST_TOLD = 10 };

static void tell(struct join *j, const char *why, const char *what)
{
    if (j->wrong++ < MOST_TOLD)
        fprintf(j->out, "  DISAGREEMENT %s: %s\n", why, what);
}

static int by_id(const void *a, const void *b)
{
    const struct change *one = a, *other = b;
    int order = strcmp(one->id, other->id);
    return order ? order : (one->first > other->first) - (one->first < other->first);
}

static struct change *change_of(const struct join *j, const char *id)
{
    size_t low = 0, high = j->n_changes;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(j->changes[middle].id, id);
        if (order == 0)
            return &j->changes[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* One change of each row; false for a row that concerns no operation. */
static bool read_row(struct join *j, char *line, struct change *change)
{
    char *words[5], *rest = line;
    for (int i = 0; i < 5; i++) {
        words[i] = strsep(&rest, " ");
        if (!words[i]) {
            tell(j, "a row without five words", line);
            return false;
        }
    }
    j->n_rows++;
    *change = (struct change){.id = words[4], .who = words[3], .gate = words[1], .rows = 1};
    change->first = change->last = strtoll(words[0], NULL, 10);
    change->approvals = strcmp(words[2], "approve") == 0;
    change->opens = strcmp(words[2], "open") == 0;
    change->closes = strcmp(words[2], "close") == 0;
    return strcmp(words[2], "policy") != 0;
}

static void read_rows(struct join *j, char *text)
{
    size_t lines = 1, n = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    j->changes = arena_array(j->arena, lines, sizeof(*j->changes));
    for (char *line; (line = strsep(&text, "\n"));) {
        if (*line && read_row(j, line, &j->changes[n]))
            n++;
    }
    qsort(j->changes, n, sizeof(*j->changes), by_id);
    for (size_t i = 0; i < n; i++) {
        struct change *last = j->n_changes ? &j->changes[j->n_changes - 1] : NULL;
        if (!last || strcmp(last->id, j->changes[i].id) != 0) {
            j->changes[j->n_changes++] = j->changes[i];
            continue;
        }
        last->last = j->changes[i].last;
        last->rows++;
        last->approvals += j->changes[i].approvals;
        last->opens += j->changes[i].opens;
        last->closes += j->changes[i].closes;
    }
}

/* As many rows as one such change makes, and of its kind. */
static bool looks_right(const struct gate *gate, const struct op *op, const struct change *change)
{
    if (strcmp(change->gate, gate->name) != 0 || strcmp(change->who, op->who) != 0)
        return false;
    if (op->step.ask == ASK_CLOSE)
        return change->rows == 1 && change->closes == 1;
    if (gate->rules.quorum == 1)
        return change->rows == 1 && change->opens == 1;
    return change->approvals == 1 && change->opens <= 1 && change->closes == 0;
}

static int64_t next_barrier(const struct history *history, int64_t at)
{
    for (size_t i = 0; i < history->n_barriers; i++) {
        if (history->barriers[i] >= at)
            return history->barriers[i];
    }
    return INT64_MAX;
}

static void resolve(struct join *j, const struct gate *gate, struct op *op, struct change *change)
{
    if (change) {
        change->asked = true;
        if (!looks_right(gate, op, change))
            tell(j, "rows are not those of one such change", op->line);
    }
    if (op->outcome == OUTCOME_UNKNOWN && change) {
        op->outcome = OUTCOME_OK;
        op->answer.changed = SAID_YES;
        op->seq = change->last;
        op->end = next_barrier(j->history, op->begin);
    } else if (op->outcome == OUTCOME_UNKNOWN) {
        op->outcome = OUTCOME_FAILED; /* or it made no difference */
    } else if (op->outcome == OUTCOME_FAILED && change) {
        tell(j, "failed, and has a row", op->line);
    } else if (op->outcome == OUTCOME_OK && op->answer.changed == SAID_YES && !change) {
        tell(j, "was answered, and has no row", op->line);
    } else if (op->outcome == OUTCOME_OK && op->answer.changed != SAID_YES && change) {
        tell(j, "changed nothing, and has a row", op->line);
    } else if (op->outcome == OUTCOME_OK && change && op->seq != change->last) {
        tell(j, "has another number than its row", op->line);
    }
}

static int by_seq(const void *a, const void *b)
{
    const struct op *const *one = a, *const *other = b;
    return ((*one)->seq > (*other)->seq) - ((*one)->seq < (*other)->seq);
}

static void number(struct join *j, struct gate *gate)
{
    struct op **changed = arena_array(j->arena, gate->n_ops + 1, sizeof(struct op *));
    size_t n = 0;
    for (size_t i = 0; i < gate->n_ops; i++) {
        if (gate->ops[i].outcome == OUTCOME_OK && gate->ops[i].seq >= 0)
            changed[n++] = &gate->ops[i];
    }
    qsort(changed, n, sizeof(struct op *), by_seq);
    for (size_t i = 0; i < n; i++)
        changed[i]->turn = i + 1;
    gate->numbered = true;
    gate->changes = changed;
    gate->n_changes = n;
}

static bool has_ids(const struct gate *gate)
{
    for (size_t i = 0; i < gate->n_ops; i++) {
        if (gate->ops[i].step.ask != ASK_CHECK)
            return strcmp(gate->ops[i].id, "-") != 0;
    }
    return false;
}

size_t rows_join(struct arena *arena, char *text, struct history *history, size_t *n_rows,
                 FILE *out)
{
    struct join j = {.arena = arena, .history = history, .out = out};
    read_rows(&j, text);
    for (size_t i = 0; i < history->n_gates; i++) {
        struct gate *gate = &history->gates[i];
        if (!has_ids(gate))
            continue;
        for (size_t k = 0; k < gate->n_ops; k++) {
            struct op *op = &gate->ops[k];
            if (op->step.ask != ASK_CHECK)
                resolve(&j, gate, op, change_of(&j, op->id));
        }
        number(&j, gate);
    }
    for (size_t i = 0; i < j.n_changes; i++) {
        if (!j.changes[i].asked && strcmp(j.changes[i].id, "-") != 0)
            tell(&j, "a row that nobody asked for", j.changes[i].id);
    }
    *n_rows = j.n_rows;
    return j.wrong;
}
