#include "linearizability/history.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 12, OP_WORDS = 12, MAX_NAMES = 8 };

/* Small numbers for names, in the order they were met; number 0 is taken by "-". */
struct names {
    const char *what;
    const char *text[MAX_NAMES];
    int n, most;
};

struct reader {
    struct arena *arena;
    struct history *history;
    struct names hooks, revisions, people;
    size_t cap_gates, cap_barriers, number;
    struct errinfo *ei;
};

static enum err bad(struct reader *r, const char *why, const char *text)
{
    return err_set(r->ei, ERR_INVALID, "line %zu: expected %s, found %s", r->number, why, text);
}

/* A copy with room for one more when the array is full; what was there stays with the arena. */
static void *grown(struct arena *arena, void *old, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return old;
    *cap = *cap ? *cap * 2 : 16;
    void *all = arena_array(arena, *cap, size);
    if (n > 0)
        memcpy(all, old, n * size);
    return all;
}

static enum err read_number(struct reader *r, const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno || end == text || *end || *number < 0 ? bad(r, "a number", text) : ERR_OK;
}

static enum err read_name(struct reader *r, struct names *names, const char *text, int *number)
{
    if (strcmp(text, "-") == 0) {
        *number = 0;
        return ERR_OK;
    }
    for (int i = 0; i < names->n; i++) {
        if (strcmp(names->text[i], text) == 0) {
            *number = i + 1;
            return ERR_OK;
        }
    }
    if (names->n + 1 >= names->most)
        return bad(r, names->what, text);
    names->text[names->n++] = text;
    *number = names->n;
    return ERR_OK;
}

static enum err read_choice(struct reader *r, const char *const *choices, const char *text, int *at)
{
    for (*at = 0; choices[*at]; ++*at) {
        if (strcmp(choices[*at], text) == 0)
            return ERR_OK;
    }
    return bad(r, choices[0], text);
}

static struct gate *gate_named(struct reader *r, const char *name)
{
    struct history *history = r->history;
    for (size_t i = 0; i < history->n_gates; i++) {
        if (strcmp(history->gates[i].name, name) == 0)
            return &history->gates[i];
    }
    history->gates =
        grown(r->arena, history->gates, history->n_gates, &r->cap_gates, sizeof(*history->gates));
    struct gate *gate = &history->gates[history->n_gates++];
    *gate = (struct gate){.name = name, .rules = {.quorum = 1}};
    return gate;
}

static enum err read_op(struct reader *r, char **words, const char *line)
{
    static const char *const outcomes[] = {"ok", "failed", "unknown", NULL};
    static const char *const asks[] = {"check", "open", "close", NULL};
    static const char *const says[] = {"no", "yes", "refused", "-", NULL};
    struct op op = {.line = line, .number = r->number, .seq = -1, .id = words[11], .who = words[7]};
    int outcome, ask, changed, open;
    enum err err;
    if ((err = read_number(r, words[0], &op.begin)) != ERR_OK ||
        (err = read_number(r, words[1], &op.end)) != ERR_OK ||
        (err = read_choice(r, outcomes, words[2], &outcome)) != ERR_OK ||
        (err = read_choice(r, asks, words[4], &ask)) != ERR_OK ||
        (err = read_name(r, &r->hooks, words[5], &op.step.hook)) != ERR_OK ||
        (err = read_name(r, &r->revisions, words[6], &op.step.revision)) != ERR_OK ||
        (err = read_name(r, &r->people, words[7], &op.step.person)) != ERR_OK ||
        (err = read_choice(r, says, words[8], &changed)) != ERR_OK ||
        (err = read_choice(r, says, words[9], &open)) != ERR_OK)
        return err;
    if (strcmp(words[10], "-") != 0 && (err = read_number(r, words[10], &op.seq)) != ERR_OK)
        return err;
    if (op.end < op.begin)
        return bad(r, "an end that is not before the beginning", words[1]);
    op.outcome = (enum outcome)outcome;
    op.step.ask = (enum ask)ask;
    op.answer = (struct answer){.changed = (enum said)changed, .open = (enum said)open};
    struct gate *gate = gate_named(r, words[3]);
    gate->ops = grown(r->arena, gate->ops, gate->n_ops, &gate->cap, sizeof(*gate->ops));
    gate->ops[gate->n_ops++] = op;
    r->history->n_ops++;
    r->history->n_unknown += op.outcome == OUTCOME_UNKNOWN;
    return ERR_OK;
}

static enum err read_rules(struct reader *r, char **words)
{
    int64_t quorum;
    enum err err = read_number(r, words[2], &quorum);
    if (err == ERR_OK && (quorum < 1 || quorum > MODEL_PEOPLE))
        err = bad(r, "a quorum of at least one and no more than there are people", words[2]);
    if (err == ERR_OK)
        gate_named(r, words[1])->rules.quorum = (int)quorum;
    return err;
}

static enum err read_barrier(struct reader *r, char **words)
{
    struct history *history = r->history;
    int64_t at;
    enum err err = read_number(r, words[1], &at);
    if (err != ERR_OK)
        return err;
    if (history->n_barriers > 0 && history->barriers[history->n_barriers - 1] > at)
        return bad(r, "barriers in the order of time", words[1]);
    history->barriers = grown(r->arena, history->barriers, history->n_barriers, &r->cap_barriers,
                              sizeof(*history->barriers));
    history->barriers[history->n_barriers++] = at;
    return ERR_OK;
}

static enum err read_line(struct reader *r, char *line)
{
    char *words[MAX_WORDS + 1] = {0};
    int n = 0;
    const char *whole = arena_strdup(r->arena, line);
    for (char *at = line; n <= MAX_WORDS;) {
        while (isspace((unsigned char)*at))
            *at++ = '\0';
        if (!*at)
            break;
        words[n++] = at;
        while (*at && !isspace((unsigned char)*at))
            at++;
    }
    if (n == 0 || words[0][0] == '#')
        return ERR_OK;
    if (n == 3 && strcmp(words[0], "rules") == 0)
        return read_rules(r, words);
    if (n == 2 && strcmp(words[0], "barrier") == 0)
        return read_barrier(r, words);
    if (n != OP_WORDS)
        return bad(r, "12 words", whole);
    return read_op(r, words, whole);
}

static int by_begin(const void *a, const void *b)
{
    const struct op *one = a, *other = b;
    return (one->begin > other->begin) - (one->begin < other->begin);
}

enum err history_read(struct arena *arena, char *text, struct history *history, struct errinfo *ei)
{
    struct reader r = {
        .arena = arena,
        .history = history,
        .hooks = {.what = "one of two hooks at most", .most = MODEL_HOOKS},
        .revisions = {.what = "one of two revisions at most", .most = MODEL_REVISIONS},
        .people = {.what = "one of four people at most", .most = MODEL_PEOPLE},
        .ei = ei};
    *history = (struct history){0};
    while (*text) {
        char *end = strchr(text, '\n');
        if (end)
            *end = '\0';
        r.number++;
        enum err err = read_line(&r, text);
        if (err != ERR_OK)
            return err;
        if (!end)
            break;
        text = end + 1;
    }
    for (size_t i = 0; i < history->n_gates; i++) {
        if (history->gates[i].n_ops > 0)
            qsort(history->gates[i].ops, history->gates[i].n_ops, sizeof(struct op), by_begin);
    }
    return ERR_OK;
}
