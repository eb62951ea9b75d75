/* The table of rules as a person reads it: MATRIX.txt says what is asked in which phase. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/rules.h"
#include "test/unit.h"

enum { COLUMN = 5, MOST = 32768 };

#define MATRIX "controller/decide/MATRIX.txt"

static const char head[] =
    "Which rules are asked in which phase, from top to bottom, until one of them ends the tick\n"
    "(controller/decide/rules.c; what each does: RULES.md, 3).\n"
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

/* It stands in the tree, so that a change of it is seen. */
CASE(test_the_matrix_is_the_one_in_the_tree)
{
    static char stands[MOST];
    char *printed = NULL;
    size_t size = 0;

    FILE *out = open_memstream(&printed, &size);
    assert_non_null(out);
    print_matrix(out);
    fclose(out);

    FILE *file = fopen(MATRIX, "r");
    size_t n = file ? fread(stands, 1, sizeof(stands) - 1, file) : 0;
    if (file)
        fclose(file);
    stands[n] = '\0';
    if (strcmp(printed, stands) != 0) {
        fprintf(stderr, "%s is not what rules.c says, which is:\n", MATRIX);
        fputs(printed, stderr);
        fail();
    }
    free(printed);
}

/* Every phase has a rule that ends its tick whatever the others say: the last one of a living
 * Canary is asked by each strategy. */
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
