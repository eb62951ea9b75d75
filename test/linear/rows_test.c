#include "linear/rows.h"
#include "test/unit.h"

#include "linear/order.h"

/* Operations are BEGIN END OUTCOME GATE ACTION HOOK REVISION PERSON CHANGED OPEN SEQ ID, rows
 * SEQ GATE ACTION WHO ID. */
struct row {
    const char *what;
    size_t disagreements, violations;
    const char *history, *rows;
};

static const struct row rows[] = {
    {"a change and its row", 0, 0, "1 2 ok g open - - ann yes yes 7 c1\n", "7 g open ann c1\n"},
    {"an answered change without a row", 1, 0, "1 2 ok g open - - ann yes yes 7 c1\n", ""},
    {"two rows of one change", 1, 0, "1 2 ok g open - - ann yes yes 8 c1\n",
     "7 g open ann c1\n8 g open ann c1\n"},
    {"a row under another name", 1, 0, "1 2 ok g open - - ann yes yes 7 c1\n", "7 g open bob c1\n"},
    {"a row of another gate", 1, 0, "1 2 ok g open - - ann yes yes 7 c1\n", "7 h open ann c1\n"},
    {"a row with another number", 1, 0, "1 2 ok g open - - ann yes yes 7 c1\n",
     "8 g open ann c1\n"},
    {"a row that nobody asked for", 1, 0, "1 2 ok g open - - ann yes yes 7 c1\n",
     "7 g open ann c1\n8 g close ann c2\n"},
    {"a row of what failed", 1, 0, "1 2 failed g open - - ann - - - c1\n", "7 g open ann c1\n"},
    {"a row of what changed nothing", 1, 0,
     "1 2 ok g open - - ann yes yes 7 c1\n3 4 ok g open - - ann no yes - c2\n",
     "7 g open ann c1\n8 g open ann c2\n"},
    {"unknown, and not there: it has not happened", 0, 1,
     "1 2 unknown g open - - ann - - - c1\n3 4 ok g check - - ann - yes - -\n", ""},
    {"unknown, and there: it has happened", 0, 0,
     "1 2 unknown g open - - ann - - - c1\n3 4 ok g check - - ann - yes - -\n",
     "7 g open ann c1\n"},
    {"it has happened by the barrier", 0, 1,
     "1 2 unknown g open - - ann - - - c1\nbarrier 5\n6 7 ok g check - - ann - no - -\n",
     "7 g open ann c1\n"},
    {"the order of the rows is not that of the answers", 0, 1,
     "1 2 ok g open - - ann yes yes 8 c1\n3 4 ok g close - - ann yes no 7 c2\n",
     "7 g close ann c2\n8 g open ann c1\n"},
    {"checks see the changes in the order of the rows", 0, 0,
     "1 9 ok g open - - ann yes yes 7 c1\n1 9 ok g close - - ann yes no 8 c2\n"
     "2 3 ok g check - - ann - yes - -\n4 5 ok g check - - ann - no - -\n",
     "7 g open ann c1\n8 g close ann c2\n"},
    {"they do not", 0, 1,
     "1 9 ok g open - - ann yes yes 7 c1\n1 9 ok g close - - ann yes no 8 c2\n"
     "2 3 ok g check - - ann - yes - -\n4 5 ok g check - - ann - no - -\n"
     "6 7 ok g check - - ann - yes - -\n",
     "7 g open ann c1\n8 g close ann c2\n"},
    {"a vote and another one that opens", 0, 0,
     "rules g 2\n1 2 ok g open - - ann yes no 7 c1\n3 4 ok g open - - bob yes yes 9 c2\n",
     "7 g approve ann c1\n8 g approve bob c2\n9 g open bob c2\n"},
    {"one person's votes open", 0, 1,
     "rules g 2\n1 2 ok g open - - ann yes no 7 c1\n3 4 ok g open - - ann yes yes 9 c2\n",
     "7 g approve ann c1\n8 g approve ann c2\n9 g open ann c2\n"},
    {"a gate that opens without a vote", 1, 0, "rules g 2\n1 2 ok g open - - ann yes - 7 c1\n",
     "7 g open ann c1\n"},
    {"rows of policies are of no operation", 0, 0, "1 2 ok g open - - ann yes yes 7 c1\n",
     "6 g policy - -\n7 g open ann c1\n"},
};

CASE(rows_and_operations_are_compared)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct history history;
        struct errinfo ei;
        size_t n_rows, violations = 0;
        FILE *nowhere = fopen("/dev/null", "w");
        assert_non_null(nowhere);
        if (history_read(arena, arena_strdup(arena, rows[i].history), &history, &ei) != ERR_OK)
            fail_msg("%s: %s", rows[i].what, ei.text);
        size_t disagreements =
            rows_join(arena, arena_strdup(arena, rows[i].rows), &history, &n_rows, nowhere);
        for (size_t k = 0; k < history.n_gates; k++)
            violations +=
                order_check(&history.gates[k], history.barriers, history.n_barriers, nowhere)
                    .violations;
        fclose(nowhere);
        if (disagreements != rows[i].disagreements || violations != rows[i].violations)
            fail_msg("%s: %zu disagreements and %zu violations, not %zu and %zu", rows[i].what,
                     disagreements, violations, rows[i].disagreements, rows[i].violations);
    }
}
