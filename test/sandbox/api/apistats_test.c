#include "api/apistats.h"

#include <stdio.h>

#include "object/try.h"

CASE(test_ring)
{
    struct apistats *stats = apistats_new();
    for (int i = 0; i < APISTATS_RING + 5; i++) {
        uint64_t seq = apistats_begin(stats, "a", "get", "pods", "/p", 1000);
        apistats_finish(stats, seq, 200);
    }
    apistats_finish(stats, 1, 500); /* long gone: must not touch who has its place now */
    struct json_object *all = json_at(apistats_requests(stats, arena, 0), "requests", NULL);
    assert_int_equal(json_len(all), APISTATS_RING);
    assert_int_equal(json_int_at(json_elem(all, 0), -1, "seq", NULL), 6);
    assert_int_equal(json_int_at(json_elem(all, APISTATS_RING - 5), -1, "status", NULL), 200);
    struct json_object *tail = apistats_requests(stats, arena, APISTATS_RING + 4);
    assert_int_equal(json_len(json_at(tail, "requests", NULL)), 1);
    assert_int_equal(json_int_at(tail, -1, "last", NULL), APISTATS_RING + 5);
    apistats_free(stats);
}

/* Agents choose their own names: however many there are, the table stays bounded and the sum is
 * right. */
CASE(test_bounded)
{
    struct apistats *stats = apistats_new();
    for (int i = 0; i < APISTATS_ROWS_MAX + 50; i++) {
        char agent[32];
        (void)snprintf(agent, sizeof(agent), "agent-%d", i);
        apistats_begin(stats, agent, "get", "pods", "/p", 0);
    }
    struct json_object *counts = apistats_counts(stats, arena);
    assert_true(json_len(json_at(counts, "counts", NULL)) <= APISTATS_ROWS_MAX);
    assert_int_equal(json_int_at(counts, -1, "requests", NULL), APISTATS_ROWS_MAX + 50);
    apistats_free(stats);
}

CASE(test_sent)
{
    struct apistats *stats = apistats_new();
    apistats_begin(stats, "a", "watch", "pods", "/p", 0);
    apistats_sent(stats, "a", "watch", "pods", 70, 1);
    apistats_sent(stats, "a", "watch", "pods", 30, 1);
    apistats_sent(stats, "b", "watch", "pods", 30, 1); /* was not counted: nothing to add to */
    struct json_object *rows = json_at(apistats_counts(stats, arena), "counts", NULL);
    assert_int_equal(json_len(rows), 1);
    assert_int_equal(json_int_at(json_elem(rows, 0), -1, "bytes", NULL), 100);
    assert_int_equal(json_int_at(json_elem(rows, 0), -1, "events", NULL), 2);
    apistats_free(stats);
}
