#include "tick/wake.h"

#include <string.h>

#include "base/json.h"
#include "test/unit.h"

enum { INTERVAL = 60000 };

/* Each row: a plan that a run at time 1000 carried out in 10 ms, and when the next one is. */
CASE(test_timers)
{
    static const struct {
        struct plan plan;
        int64_t next_due; /* before */
        int64_t after;
    } rows[] = {
        {{.again = AGAIN_NEVER}, 0, -1},
        {{.again = AGAIN_NEVER, .wake_ms = 500}, 0, 500},
        {{.again = AGAIN_NOW}, 0, 0},
        {{.again = AGAIN_INTERVAL, .stepped = true}, 0, INTERVAL - 10},
        {{.again = AGAIN_INTERVAL}, 0, INTERVAL - 10},
        {{.again = AGAIN_INTERVAL}, 1500, 490}, /* a step is due before that */
        {{.again = AGAIN_INTERVAL, .wake_ms = 200}, 1500, 200},
        {{.again = AGAIN_INTERVAL, .wake_ms = 900}, 1500, 490},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wake wake = {.next_due = rows[i].next_due};
        wake_ran(&wake, &rows[i].plan, PHASE_Progressing, 1000, INTERVAL);
        assert_int_equal(wake_after(&wake, &rows[i].plan, 1000, 1010, INTERVAL), rows[i].after);
    }
}

CASE(test_now_has_an_end)
{
    const struct plan now = {.again = AGAIN_NOW}, rest = {.again = AGAIN_NEVER};
    struct wake wake = {0};

    for (int i = 0; i < 10; i++) {
        wake_ran(&wake, &now, PHASE_Progressing, 0, INTERVAL);
        assert_int_equal(wake_after(&wake, &now, 0, 0, INTERVAL), 0);
        assert_false(wake_is_restless(&wake));
    }
    wake_ran(&wake, &now, PHASE_Progressing, 0, INTERVAL);
    assert_true(wake_is_restless(&wake));
    assert_int_equal(wake_after(&wake, &now, 0, 0, INTERVAL), INTERVAL);
    wake_ran(&wake, &rest, PHASE_Progressing, 0, INTERVAL);
    assert_false(wake_is_restless(&wake));
}

CASE(test_due)
{
    struct wake wake = {.next_due = 1000};

    assert_false(wake_is_due(&wake, PHASE_Progressing, 999, INTERVAL));
    assert_true(wake_is_due(&wake, PHASE_Progressing, 1000, INTERVAL));
    assert_true(wake_is_due(&wake, PHASE_Failed, 999, INTERVAL));
    wake.next_due = 10 * INTERVAL; /* the interval was an hour */
    assert_false(wake_is_due(&wake, PHASE_Progressing, 0, INTERVAL));
    assert_true(wake_is_due(&wake, PHASE_Progressing, INTERVAL, INTERVAL));
}

CASE(test_status)
{
    static const struct {
        enum phase phase;
        bool reads_status, hears;
    } rows[] = {
        {PHASE_Succeeded, false, false},  {PHASE_Initialized, false, false},
        {PHASE_Failed, false, false},     {PHASE_Failed, true, true},
        {PHASE_Initialized, true, true},  {PHASE_Progressing, false, true},
        {PHASE_Terminating, false, true}, {PHASE_NONE, false, true},
    };
    struct wake wake = {0};

    assert_true(wake_hears_status(&wake));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct plan plan = {.reads_status = rows[i].reads_status};
        wake_ran(&wake, &plan, rows[i].phase, 0, INTERVAL);
        assert_int_equal(wake_hears_status(&wake), rows[i].hears);
    }
    wake_forget(&wake);
    assert_true(wake_hears_status(&wake));
}

CASE(test_sleep)
{
    assert_true(wake_sleeps(&(struct plan){.again = AGAIN_NEVER}));
    assert_false(wake_sleeps(&(struct plan){.again = AGAIN_NEVER, .wake_ms = 1}));
    assert_false(wake_sleeps(&(struct plan){.again = AGAIN_NOW}));
    assert_false(wake_sleeps(&(struct plan){.again = AGAIN_INTERVAL}));
}

CASE(test_news)
{
    static const struct {
        struct wake_change change;
        bool hears;
        enum wake_news news;
    } rows[] = {
        {{.known = "5", .now = "5"}, true, WAKE_ECHO},
        {{.known = "5", .now = "6"}, false, WAKE_NEWS},
        {{.known = "5", .now = ""}, false, WAKE_NEWS},
        {{.known = NULL, .now = "5"}, false, WAKE_NEWS},
        {{.known = "6", .previous = "5", .now = "5"}, true, WAKE_PAST},
        {{.known = "5", .now = "6", .status_only = true}, false, WAKE_STATUS},
        {{.known = "5", .now = "6", .status_only = true}, true, WAKE_NEWS},
        {{.known = "5", .now = "6", .status_only = true, .is_canary = true}, false, WAKE_NEWS},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(wake_news(&rows[i].change, rows[i].hears), rows[i].news);
}

CASE(test_more_than_status)
{
    static const char first[] =
        "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\",\"labels\":{\"a\":\"b\"}},"
        "\"spec\":{\"replicas\":1},\"status\":{\"replicas\":1,\"latest\":\"a-1\"}}";
    static const struct {
        const char *patch;
        bool more;
    } rows[] = {
        {"{\"status\":{\"replicas\":0}}", false},
        {"{\"status\":null}", true}, /* the field that is news goes as well */
        {"{\"metadata\":{\"resourceVersion\":\"2\",\"generation\":2}}", false},
        {"{\"metadata\":{\"managedFields\":[]}}", false},
        {"{\"metadata\":{\"labels\":{\"a\":\"c\"}}}", true},
        {"{\"metadata\":{\"annotations\":{\"a\":\"c\"}}}", true},
        {"{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}", true},
        {"{\"spec\":{\"replicas\":0}}", true},
        {"{\"data\":{\"a\":\"b\"}}", true},
        {"{\"status\":{\"latest\":\"a-2\"}}", true},
    };
    struct arena *arena = arena_new();
    struct json_object *tree, *patch;

    assert_int_equal(json_parse(arena, first, strlen(first), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = rows[i].patch;
        assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &patch, NULL),
                         ERR_OK);
        bool more = wake_spec_hash(tree, "latest") !=
                    wake_spec_hash(json_merge(arena, tree, patch), "latest");
        assert_int_equal(more, rows[i].more);
    }
    arena_free(arena);
}
