#include "api/apistats.h"

#include <stdio.h>

#include "object/try.h"

static void test_counts(void **state)
{
    struct apistats *stats = apistats_new();
    struct arena *arena = arena_new();
    apistats_begin(stats, "flagger/1", "watch", "pods", "/api/v1/pods", 0);
    apistats_begin(stats, "flagger/1", "update", "leases.coordination.k8s.io", "/apis/x", 0);
    apistats_begin(stats, "flagger/1", "get", "pods", "/api/v1/pods/x", 0);
    apistats_begin(stats, "flagger/1", "get", "pods", "/api/v1/pods/y", 0);
    apistats_begin(stats, NULL, "list", "pods", "/api/v1/pods", 0);
    apistats_begin(stats, "test", "get", "", "/sandbox/stats", 0);
    struct json_object *counts = apistats_counts(stats, arena);
    assert_int_equal(json_int_at(counts, -1, "requests", NULL), 5);
    assert_int_equal(json_int_at(counts, -1, "busy", NULL), 3);
    try_same(arena, json_at(counts, "agents", NULL),
             "{'flagger/1':{'requests':4,'busy':2},'':{'requests':1,'busy':1}}");
    assert_int_equal(json_len(json_at(counts, "counts", NULL)), 4);
    apistats_reset(stats);
    assert_int_equal(json_int_at(apistats_counts(stats, arena), -1, "requests", NULL), 0);
    arena_free(arena);
    apistats_free(stats);
}

static void test_ring(void **state)
{
    struct apistats *stats = apistats_new();
    struct arena *arena = arena_new();
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
    arena_free(arena);
    apistats_free(stats);
}

/* Agents choose their own names: however many there are, the table stays bounded and the sum is
 * right. */
static void test_bounded(void **state)
{
    struct apistats *stats = apistats_new();
    struct arena *arena = arena_new();
    for (int i = 0; i < APISTATS_ROWS_MAX + 50; i++) {
        char agent[32];
        (void)snprintf(agent, sizeof(agent), "agent-%d", i);
        apistats_begin(stats, agent, "get", "pods", "/p", 0);
    }
    struct json_object *counts = apistats_counts(stats, arena);
    assert_true(json_len(json_at(counts, "counts", NULL)) <= APISTATS_ROWS_MAX);
    assert_int_equal(json_int_at(counts, -1, "requests", NULL), APISTATS_ROWS_MAX + 50);
    arena_free(arena);
    apistats_free(stats);
}

UNIT_MAIN(cmocka_unit_test(test_counts), cmocka_unit_test(test_ring),
          cmocka_unit_test(test_bounded))
