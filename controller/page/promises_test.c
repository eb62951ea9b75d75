/* The promises of the page: slices that end, what is kept and shared, and the words of plan. */
#include "page/promises.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "decide/promise.h"
#include "test/rows.h"
#include "test/unit.h"

static int64_t clock_ms, clock_calls;

/* Each look at the clock takes a millisecond. */
static int64_t fake_ms(void)
{
    clock_calls++;
    return clock_ms++;
}

static const char base[] =
    "{'apiVersion':'flagger.app/"
    "v1beta1','kind':'Canary','metadata':{'name':'a','namespace':'test'},"
    "'spec':{'targetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'a'},"
    "'service':{'port':80},'analysis':{'interval':'1m','threshold':5,'maxWeight':50,"
    "'stepWeight':10,'judge':{'type':'sequential'},"
    "'metrics':[{'name':'request-success-rate','interval':'1m','thresholdRange':{'min':99}}]}}}";

/* One that has had a release with counts: each ten seconds 1,000 requests of the primary, of which
 * `bad` failed, and 100 or 200 of the canary. */
static struct canary *canary_of(struct arena *arena, const char *patch, int bad)
{
    struct canary *canary = ARENA_NEW(arena, struct canary);
    const char *counts = "";
    struct errinfo ei;

    for (int i = 1; i <= 12; i++)
        counts = arena_printf(arena, "%s%s[%d,%d,%d,0,1000,%d]", counts, i > 1 ? "," : "", i * 10,
                              i <= 6 ? 10 : 20, i <= 6 ? 100 : 200, bad);
    const char *status = arena_printf(
        arena,
        "{'status':{'history':[{'outcome':'promoted','looks':[{'name':'request-success-rate',"
        "'since':'2026-01-01T00:00:00Z','bad':'failed','counts':[%s]}]}]}}",
        counts);
    struct json_object *tree = json_merge(arena, rows_json(arena, base), rows_json(arena, status));
    if (patch)
        tree = json_merge(arena, tree, rows_json(arena, patch));
    if (canary_view(arena, tree, canary, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return canary;
}

static const char *shown(struct promises *promises, struct arena *arena, struct canary *canary)
{
    return json_text(arena, promises_show(promises, arena, canary));
}

static const char computing[] = "[{\"metric\":\"request-success-rate\",\"computing\":true}]";

/* Without slices: 13.75 requests a second of either side in 120 s. */
static const char *sentence(struct arena *arena, const struct canary *canary, int bad)
{
    const struct traffic traffic = {.per_second = 120, .bad = bad / 1000.0, .clump = 1};
    struct power_stretch list[12];
    const struct stretches stretches = {list, 12};
    struct promise *promise = promise_new(arena, &canary->analysis.metrics[0], &traffic);

    for (int i = 0; i < 12; i++)
        list[i] = (struct power_stretch){10, i < 6 ? 0.091 : 0.17, i < 6 ? 0.91 : 0.83};
    struct power_search *search =
        promise_search(&canary->analysis, &canary->analysis.metrics[0], &stretches, &traffic);
    while (!power_search_continue(search, INT_MAX))
        ;
    promise->least = power_search_least(search);
    promise->found = power_search_found(search);
    power_search_free(search);
    return promise_sentence(arena, promise);
}

CASE(a_promise_comes_in_slices)
{
    struct loop *loop = loop_new(100);
    struct promises *promises = promises_new(loop, fake_ms);
    struct canary *canary = canary_of(arena, NULL, 10);
    int slices = 0;

    assert_false(promises_slice(promises));
    assert_string_equal(shown(promises, arena, canary), computing);
    for (int64_t before = clock_calls; promises_slice(promises); before = clock_calls) {
        assert_true(clock_calls - before <= PROMISE_SLICE_MS + 3);
        slices++;
        clock_ms -= PROMISE_SLICE_MS + 3; /* the page is still open */
    }
    assert_true(slices > 200);
    assert_string_equal(shown(promises, arena, canary),
                        arena_printf(arena,
                                     "[{\"metric\":\"request-success-rate\",\"text\":\"%s\"}]",
                                     sentence(arena, canary, 10)));
    promises_free(promises);
    loop_free(loop);
}

/* Until no slice is left, as if no time went by. */
static int search_all(struct promises *promises)
{
    int slices = 0;

    for (int64_t at = clock_ms; promises_slice(promises); clock_ms = at)
        slices++;
    return slices;
}

CASE(a_result_is_kept_by_what_it_depends_on)
{
    static const struct {
        const char *patch;
        int bad;
        bool same;
    } rows[] = {
        {"{'metadata':{'name':'b'}}", 10, true},
        {"{'spec':{'analysis':{'threshold':9,'interval':'2m'}}}", 10, true},
        {NULL, 20, false},
        {"{'spec':{'analysis':{'judge':{'minRequests':500}}}}", 10, false},
        {"{'spec':{'analysis':{'judge':{'falseAlarmRate':0.05}}}}", 10, false},
        {"{'spec':{'analysis':{'judge':{'tolerate':{'errorRate':'1 %-points'}}}}}", 10, false},
    };
    struct loop *loop = loop_new(100);
    struct promises *promises = promises_new(loop, fake_ms);

    assert_string_equal(shown(promises, arena, canary_of(arena, NULL, 10)), computing);
    assert_true(search_all(promises) > 0);
    EACH_ROW (row, rows) {
        const char *text = shown(promises, arena, canary_of(arena, row->patch, row->bad));
        assert_int_equal(strcmp(text, computing) != 0, row->same);
    }
    promises_free(promises);
    loop_free(loop);
}

CASE(what_no_page_wants_is_given_up)
{
    struct loop *loop = loop_new(100);
    struct promises *promises = promises_new(loop, fake_ms);
    struct canary *canary = canary_of(arena, NULL, 10), *other = canary_of(arena, NULL, 30);

    (void)shown(promises, arena, canary);
    (void)shown(promises, arena, other);
    assert_true(promises_slice(promises));
    clock_ms += PROMISE_ASKED_MS;
    (void)shown(promises, arena, other);
    assert_true(search_all(promises) > 0);
    assert_true(strcmp(shown(promises, arena, other), computing) != 0);
    assert_string_equal(shown(promises, arena, canary), computing);
    promises_free(promises);
    loop_free(loop);
}

CASE(without_judge_or_counts_there_is_none)
{
    static const char *const patches[] = {
        "{'spec':{'analysis':{'judge':null}}}",
        "{'status':{'history':null}}",
        "{'status':{'history':[{'outcome':'promoted','looks':[{'name':'request-success-rate',"
        "'counts':[[10,10,5,0,0,0]]}]}]}}",
        "{'status':{'history':[{'outcome':'promoted','looks':[{'name':'request-success-rate',"
        "'counts':[[10,'x']]}]},7]}}",
        "{'spec':{'analysis':{'metrics':[{'name':'request-duration','interval':'1m',"
        "'compare':'primary'}]}}}",
    };
    struct loop *loop = loop_new(100);
    struct promises *promises = promises_new(loop, fake_ms);

    EACH_ROW (patch, patches)
        assert_null(promises_show(promises, arena, canary_of(arena, *patch, 10)));
    assert_false(promises_slice(promises));
    promises_free(promises);
    loop_free(loop);
}

/* More pages than are kept: the first ones have their promises, the others wait for room. */
CASE(memory_is_bounded)
{
    struct loop *loop = loop_new(100);
    struct promises *promises = promises_new(loop, fake_ms);
    enum { PAGES = PROMISES_KEPT + 5 };
    struct canary *canaries[PAGES];

    for (int i = 0; i < PAGES; i++) {
        canaries[i] = canary_of(
            arena, arena_printf(arena, "{'spec':{'analysis':{'judge':{'minRequests':%d}}}}", i + 1),
            10);
        assert_string_equal(shown(promises, arena, canaries[i]), computing);
    }
    clock_ms += PROMISE_ASKED_MS + 1;
    assert_string_equal(shown(promises, arena, canaries[PAGES - 1]), computing);
    assert_true(search_all(promises) > 0);
    assert_true(strcmp(shown(promises, arena, canaries[PAGES - 1]), computing) != 0);
    promises_free(promises);
    loop_free(loop);
}

/* --- with a real loop and clock: the figures are printed, and not asserted */

enum { BEAT_CANARIES = 100 };

struct beat {
    struct loop *loop;
    struct promises *promises;
    struct canary *canaries[BEAT_CANARIES];
    int n;
    int64_t last_ms, late_ms, end_ms;
};

/* Of the processor: what other programs take is none of a slice. */
static int64_t used_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A tick each ten milliseconds, and pages that ask. */
static void on_beat(void *arg)
{
    struct beat *beat = arg;
    int64_t now = clock_monotonic_ms(), late = now - beat->last_ms - 10;
    struct arena *arena = arena_new();

    beat->late_ms = late > beat->late_ms ? late : beat->late_ms;
    for (int i = 0; i < beat->n; i++)
        (void)promises_show(beat->promises, arena, beat->canaries[i]);
    arena_free(arena);
    beat->last_ms = clock_monotonic_ms();
    if (now < beat->end_ms)
        (void)timer_start(beat->loop, 10, 0, on_beat, beat);
    else
        loop_drain(beat->loop);
}

CASE(a_loop_with_other_work)
{
    for (int n = 1; n <= BEAT_CANARIES; n += BEAT_CANARIES - 1) {
        struct loop *loop = loop_new(10000);
        struct beat beat = {
            .loop = loop, .n = n, .promises = promises_new(loop, clock_monotonic_ms)};
        int64_t longest = 0;
        for (int i = 0; i < n; i++)
            beat.canaries[i] = canary_of(
                arena,
                arena_printf(arena, "{'spec':{'analysis':{'judge':{'minRequests':%d}}}}", i + 1),
                10);
        beat.last_ms = clock_monotonic_ms();
        beat.end_ms = beat.last_ms + 300;
        (void)timer_start(loop, 10, 0, on_beat, &beat);
        assert_int_equal(loop_run(loop), 0);
        for (int i = 0; i < 100; i++) {
            int64_t begin = used_us();
            if (!promises_slice(beat.promises))
                break;
            longest = used_us() - begin > longest ? used_us() - begin : longest;
        }
        print_message(
            "%d pages: longest slice %.1f ms of the processor, a tick at most %lld ms late\n", n,
            (double)longest / 1000, (long long)beat.late_ms);
        promises_free(beat.promises);
        loop_free(loop);
    }
}
