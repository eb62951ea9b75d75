/*
 * The table of rules for readers, as checked in: MATRIX.txt shows the phases in which each rule
 * runs, RULES.md the action of each. UPDATE_GOLDEN=1 writes both.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "decide/rules.h"
#include "test/unit.h"

enum { COLUMN = 5, MOST = 1 << 20 };

#define MATRIX "controller/decide/MATRIX.txt"
#define PAGE   "controller/decide/RULES.md"

/* The list is between these lines of the page. */
static const char list_begin[] = "<!-- rules.def -->\n", list_end[] = "<!-- end of rules.def -->\n";

static const char head[] =
    "Which rules are asked in which phase, from top to bottom, until one of them ends the tick\n"
    "(controller/decide/rules.def; what each does: RULES.md, 3).\n"
    "\n"
    "  x  asked\n"
    "  a  asked if the spec is accepted\n"
    "  r  asked if the spec is refused\n"
    "  -  not asked in this phase\n"
    "\n"
    "A strategy in brackets is the only one by which the rule is asked. The phases:\n"
    "\n"
    "  none  no phase yet          wait  Waiting             prom  Promoting\n"
    "  init  Initializing          prog  Progressing         fina  Finalising\n"
    "  idle  Initialized           gate  WaitingPromotion    term  Terminating\n"
    "  succ  Succeeded             fail  Failed              gone  Terminated\n"
    "\n";

/* The columns, in the order in which a Canary passes them. */
static const struct {
    enum phase phase;
    const char *title;
} columns[] = {
    {PHASE_NONE, "none"},        {PHASE_Initializing, "init"},     {PHASE_Initialized, "idle"},
    {PHASE_Succeeded, "succ"},   {PHASE_Failed, "fail"},           {PHASE_Waiting, "wait"},
    {PHASE_Progressing, "prog"}, {PHASE_WaitingPromotion, "gate"}, {PHASE_Promoting, "prom"},
    {PHASE_Finalising, "fina"},  {PHASE_Terminating, "term"},      {PHASE_Terminated, "gone"},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void print_rule(FILE *out, const struct rule *rule)
{
    static const char marks[] = {[ALWAYS] = 'x', [IF_ACCEPTED] = 'a', [IF_REFUSED] = 'r'};
    char name[64];

    snprintf(name, sizeof(name), "%s", rule->name);
    for (enum strategy s = STRATEGY_CANARY; s <= STRATEGY_AB_TESTING; s++) {
        if (rule->strategies == 1u << s)
            snprintf(name, sizeof(name), "%s (%s)", rule->name, strategy_name(s));
    }
    fprintf(out, "%-32s", name);
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(out, "%*c", COLUMN,
                rule->phases & 1u << columns[i].phase ? marks[rule->asked] : '-');
    fputc('\n', out);
}

static void print_matrix(FILE *out)
{
    fputs(head, out);
    fprintf(out, "%-32s", "");
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(out, "%*s", COLUMN, columns[i].title);
    fputc('\n', out);
    for (size_t i = 0; i < n_rules; i++)
        print_rule(out, &rules[i]);
}

/* "IN(Failed) | RUNNING" as "Failed, running". */
static void print_phases(FILE *out, const char *set)
{
    for (const char *at = set; *at; at++) {
        if (strncmp(at, "IN(", 3) == 0) {
            size_t len = strcspn(at += 3, ")");
            fprintf(out, "%.*s", (int)len, at);
            at += len;
        } else if (strncmp(at, " |", 2) == 0) {
            fputc(',', out);
            at++;
        } else {
            fputc(tolower((unsigned char)*at), out);
        }
    }
}

static void print_list(FILE *out)
{
    static const struct {
        const char *name, *phases, *what;
    } rows[] = {
#define RULE(name_, phases_, strategy_, asked_, what_) {#name_, #phases_, what_},
#include "decide/rules.def"
#undef RULE
    };
    static const char *const specs[] = {
        [ALWAYS] = "", [IF_ACCEPTED] = "accepted", [IF_REFUSED] = "refused"};

    fputs("| rule | phases | spec | what it does |\n|---|---|---|---|\n", out);
    for (size_t i = 0; i < n_rules; i++) {
        fprintf(out, "| `%s` | ", rows[i].name);
        print_phases(out, rows[i].phases);
        fprintf(out, " | %s | %s |\n", specs[rules[i].asked], rows[i].what);
    }
}

/* Compares the file in the tree with `text`, or writes it. */
static void check(struct arena *arena, const char *path, const char *stands, const char *text)
{
    struct errinfo ei;

    if (strcmp(stands, text) == 0)
        return;
    if (getenv("UPDATE_GOLDEN")) {
        assert_int_equal(file_write(path, text, strlen(text), 0644, &ei), ERR_OK);
        return;
    }
    fprintf(stderr, "%s is not what rules.def says, which is (UPDATE_GOLDEN=1 writes it):\n%s",
            path, text);
    fail();
}

static char *read_page(struct arena *arena, const char *path)
{
    char *text;
    size_t len;
    struct errinfo ei;

    assert_int_equal(file_read(arena, path, MOST, &text, &len, &ei), ERR_OK);
    return text;
}

/* The text that `print` writes, owned by the arena. */
static const char *printed(struct arena *arena, void (*print)(FILE *out))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    print(out);
    fclose(out);
    const char *kept = arena_strdup(arena, text);
    free(text);
    return kept;
}

CASE(test_the_matrix_is_the_one_in_the_tree)
{
    check(arena, MATRIX, read_page(arena, MATRIX), printed(arena, print_matrix));
}

CASE(test_the_page_has_the_list_of_rules)
{
    char *stands = read_page(arena, PAGE);
    const char *begin = strstr(stands, list_begin), *end = strstr(stands, list_end);

    assert_true(begin && end && begin < end);
    int before = (int)(begin + strlen(list_begin) - stands);
    check(arena, PAGE, stands,
          arena_printf(arena, "%.*s%s%s", before, stands, printed(arena, print_list), end));
}

/*
 * Every phase has a rule that ends its tick regardless of the others: for a Canary that is not
 * being deleted, the last one, for each strategy.
 */
CASE(test_no_phase_is_left_out)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        unsigned asked = 0;
        for (size_t k = 0; k < n_rules; k++)
            asked += (rules[k].phases & 1u << columns[i].phase) != 0;
        assert_true(asked > 1);
    }
    for (int s = STRATEGY_CANARY; s <= STRATEGY_AB_TESTING; s++) {
        unsigned phases = 0;
        for (size_t k = 0; k < n_rules; k++)
            phases |= rules[k].strategies & 1u << s ? rules[k].phases : 0;
        assert_int_equal(phases, ANALYSING);
    }
}

CASE(test_each_rule_stands_once)
{
    for (size_t i = 0; i < n_rules; i++) {
        for (size_t k = 0; k < i; k++)
            assert_true(rules[i].ask != rules[k].ask);
        assert_true((rules[i].phases & ~(unsigned)EVERY) == 0);
    }
}
