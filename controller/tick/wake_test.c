#include "tick/wake.h"

#include <string.h>

#include "base/json.h"
#include "test/unit.h"

enum { INTERVAL = 60000 };

/* Each row: a plan that a run at time 1000 carried out in 10 ms, and the time of the next one. */
CASE(test_timers)
{
    static const struct {
        struct plan plan;
        int64_t next_due; /* before */
        int64_t after;
    } rows[] = {
        {{.requeue = REQUEUE_NEVER}, 0, -1},
        {{.requeue = REQUEUE_NEVER, .wake_ms = 500}, 0, 500},
        {{.requeue = REQUEUE_NOW}, 0, 0},
        {{.requeue = REQUEUE_INTERVAL, .stepped = true}, 0, INTERVAL - 10},
        {{.requeue = REQUEUE_INTERVAL}, 0, INTERVAL - 10},
        {{.requeue = REQUEUE_INTERVAL}, 1500, 490}, /* a step is due before the interval ends */
        {{.requeue = REQUEUE_INTERVAL, .wake_ms = 200}, 1500, 200},
        {{.requeue = REQUEUE_INTERVAL, .wake_ms = 900}, 1500, 490},
    };

    EACH_ROW (row, rows) {
        struct wake wake = {.next_due = row->next_due};
        wake_ran(&wake, &row->plan, PHASE_Progressing, 1000, INTERVAL);
        assert_int_equal(wake_after(&wake, &row->plan, 1000, 1010, INTERVAL), row->after);
    }
}

CASE(test_now_has_an_end)
{
    const struct plan now = {.requeue = REQUEUE_NOW}, rest = {.requeue = REQUEUE_NEVER};
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
    EACH_ROW (row, rows) {
        const struct plan plan = {.reads_status = row->reads_status};
        wake_ran(&wake, &plan, row->phase, 0, INTERVAL);
        assert_int_equal(wake_hears_status(&wake), row->hears);
    }
    wake_forget(&wake);
    assert_true(wake_hears_status(&wake));
}

CASE(test_sleep)
{
    assert_true(wake_sleeps(&(struct plan){.requeue = REQUEUE_NEVER}));
    assert_false(wake_sleeps(&(struct plan){.requeue = REQUEUE_NEVER, .wake_ms = 1}));
    assert_false(wake_sleeps(&(struct plan){.requeue = REQUEUE_NOW}));
    assert_false(wake_sleeps(&(struct plan){.requeue = REQUEUE_INTERVAL}));
}

CASE(test_news)
{
    static const struct {
        struct wake_change change;
        bool hears;
        enum wake_news news;
    } rows[] = {
        {{.known = 5, .now = 5}, true, WAKE_ECHO},
        {{.known = 5, .now = 6}, false, WAKE_NEWS},
        {{.known = 5, .now = 1}, false, WAKE_NEWS},
        {{.known = 0, .now = 5}, false, WAKE_NEWS},
        {{.known = 6, .previous = 5, .now = 5}, true, WAKE_PAST},
        {{.known = 5, .now = 6, .status_only = true}, false, WAKE_STATUS},
        {{.known = 5, .now = 6, .status_only = true}, true, WAKE_NEWS},
        {{.known = 5, .now = 6, .status_only = true, .is_canary = true}, false, WAKE_NEWS},
    };

    EACH_ROW (row, rows)
        assert_int_equal(wake_news(&row->change, row->hears), row->news);
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
        {"{\"status\":null}", true}, /* the field that counts as news is removed as well */
        {"{\"metadata\":{\"resourceVersion\":\"2\",\"generation\":2}}", false},
        {"{\"metadata\":{\"managedFields\":[]}}", false},
        {"{\"metadata\":{\"labels\":{\"a\":\"c\"}}}", true},
        {"{\"metadata\":{\"annotations\":{\"a\":\"c\"}}}", true},
        {"{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}", true},
        {"{\"spec\":{\"replicas\":0}}", true},
        {"{\"data\":{\"a\":\"b\"}}", true},
        {"{\"status\":{\"latest\":\"a-2\"}}", true},
    };
    struct json_object *tree, *patch;

    assert_int_equal(json_parse(arena, first, strlen(first), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    EACH_ROW (row, rows) {
        const char *text = row->patch;
        assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &patch, NULL),
                         ERR_OK);
        bool more = wake_spec_hash(tree, "latest") !=
                    wake_spec_hash(json_merge(arena, tree, patch), "latest");
        assert_int_equal(more, row->more);
    }
}
