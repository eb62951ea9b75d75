#include "linearizability/rows.h"
#include "test/rows.h"
#include "test/unit.h"

#include "linearizability/order.h"

struct row {
    const char *what, *history, *rows;
    int disagreements, violations;
};
static const struct row_column columns[] = {
    ROW_TEXT(struct row, what),         ROW_TEXT(struct row, history),
    ROW_TEXT(struct row, rows),         ROW_NUMBER(struct row, disagreements),
    ROW_NUMBER(struct row, violations),
};

CASE(rows_and_operations_are_compared)
{
    const struct row none = {0};
    struct json_object *file =
        json_elem(rows_read(arena, "test/linearizability/histories.yaml"), 0);
    size_t count;
    const struct row *rows = ROWS_FILL(arena, json_at(file, "joined", NULL), columns, none, &count);

    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        struct history history;
        struct errinfo ei;
        size_t n_rows, violated = 0;
        FILE *nowhere = fopen("/dev/null", "w");
        assert_non_null(nowhere);
        if (history_read(arena, arena_strdup(arena, rows[i].history), &history, &ei) != ERR_OK)
            fail_msg("%s: %s", rows[i].what, ei.text);
        size_t disagreements =
            rows_join(arena, arena_strdup(arena, rows[i].rows), &history, &n_rows, nowhere);
        for (size_t k = 0; k < history.n_gates; k++)
            violated +=
                order_check(&history.gates[k], history.barriers, history.n_barriers, nowhere)
                    .violations;
        fclose(nowhere);
        if (disagreements != (size_t)rows[i].disagreements ||
            violated != (size_t)rows[i].violations)
            fail_msg("%s: %zu disagreements and %zu violations, not %d and %d", rows[i].what,
                     disagreements, violated, rows[i].disagreements, rows[i].violations);
    }
}
