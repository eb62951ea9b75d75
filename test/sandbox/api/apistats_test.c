#include "api/apistats.h"

#include <stdio.h>

#include "object/try.h"

/* Agents choose their own names: however many there are, the table stays bounded and the sum is
 * right. */
CASE(test_bounded)
{
    struct apistats *stats = apistats_new();
    for (int i = 0; i < APISTATS_ROWS_MAX + 50; i++) {
        char agent[32];
        (void)snprintf(agent, sizeof(agent), "agent-%d", i);
        apistats_count(stats, agent, "get", "pods");
    }
    struct json_object *counts = apistats_counts(stats, arena);
    assert_true(json_len(json_at(counts, "counts", NULL)) <= APISTATS_ROWS_MAX);
    assert_int_equal(json_int_at(counts, -1, "requests", NULL), APISTATS_ROWS_MAX + 50);
    apistats_free(stats);
}

CASE(test_sent)
{
    struct apistats *stats = apistats_new();
    apistats_count(stats, "a", "watch", "pods");
    apistats_sent(stats, "a", "watch", "pods", 70, 1);
    apistats_sent(stats, "a", "watch", "pods", 30, 1);
    apistats_sent(stats, "b", "watch", "pods", 30, 1); /* was not counted: nothing to add to */
    struct json_object *rows = json_at(apistats_counts(stats, arena), "counts", NULL);
    assert_int_equal(json_len(rows), 1);
    assert_int_equal(json_int_at(json_elem(rows, 0), -1, "bytes", NULL), 100);
    assert_int_equal(json_int_at(json_elem(rows, 0), -1, "events", NULL), 2);
    apistats_free(stats);
}
