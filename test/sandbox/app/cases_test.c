/* The demo app, by the rows of cases.yaml. */
#include "app/demo.h"
#include "base/metrics.h"
#include "object/form.h"
#include "object/test_talk.h"

/* Resident bytes, as the page of metrics has them. */
static double memory(struct talk *talk)
{
    static const char name[] = "\nprocess_resident_memory_bytes ";
    const char *at = strstr(talk_ask(talk, NULL, "GET /metrics", NULL).text, name);

    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

/*
 * With an app of its own. failed: how many of twenty answers are to fail; grows: by how many bytes
 * they are to make it larger.
 */
static struct json_object *talk(struct arena *arena, struct json_object *row)
{
    struct errinfo ei = {0};
    struct talk talk = {.loop = loop_new(2000), .arena = arena};
    struct demo *demo = NULL;
    const struct demo_options options = {
        .address = "127.0.0.1",
        .pod = "web-1",
        .behaviour = {.version = "7.1",
                      .error_percent = json_int_at(row, 0, "errors", NULL),
                      .latency_ms = json_int_at(row, 0, "latency", NULL),
                      .leak_kb = json_int_at(row, 0, "leak", NULL)},
        .ready_delay_ms = json_int_at(row, 0, "ready_delay", NULL)};
    int64_t failed = 0, wanted = json_int_at(row, -1, "failed", NULL);
    assert_int_equal(demo_new(talk.loop, &options, &demo, &ei), ERR_OK);
    talk.port = demo_port(demo);
    talk_open(&talk);
    struct json_object *out = talk_steps(&talk, row);
    double grows = (double)json_int_at(row, 0, "grows", NULL);
    double before = memory(&talk);
    for (int i = 0; i < 20 && wanted >= 0; i++) {
        struct talk_answer answer = talk_ask(&talk, NULL, "GET /", NULL);
        failed += answer.status == 500;
        assert_true(answer.elapsed_ms >= options.behaviour.latency_ms - 1);
    }
    assert_true(wanted < 0 || failed == wanted);
    assert_true(grows == 0 || memory(&talk) - before >= grows);
    talk_close(&talk);
    loop_drain(talk.loop);
    assert_int_equal(loop_run(talk.loop), 0);
    demo_free(demo);
    loop_free(talk.loop);
    metrics_reset();
    return out;
}

static struct json_object *behaviour(struct arena *arena, struct json_object *row)
{
    const char *image = json_str_at(row, "image", NULL);
    struct behaviour got;
    struct errinfo ei = {0};
    if (!behaviour_is_demo(image))
        return NULL;
    if (behaviour_of_image(arena, image, &got, &ei) != ERR_OK)
        return cases_error(arena, &ei);
    struct json_object *out = form(arena, "[%s, %ld, %ld, %ld]", got.version, got.error_percent,
                                   got.latency_ms, got.crash_after_ms);
    if (got.most_at_once > 0)
        json_object_array_add(out, json_object_new_int64(got.most_at_once));
    if (got.latency_varies)
        json_object_array_add(out, json_object_new_string("varies"));
    if (got.leak_kb > 0)
        json_object_array_add(
            out, json_object_new_string(arena_printf(arena, "%lld KiB", (long long)got.leak_kb)));
    if (got.native)
        json_object_array_add(out, json_object_new_string("native"));
    return out;
}

CASE(even_errors)
{
    for (int64_t percent = 0; percent <= 100; percent++) {
        int64_t acc = 0;
        int failed = 0;
        for (int i = 0; i < 1000; i++)
            failed += behaviour_fails(percent, &acc);
        assert_int_equal(failed, percent * 10);
    }
}

CASE(errors_by_chance)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint64_t dice = seed;
        int failed = 0, never = 0, twice = 0;
        bool before = false;
        for (int i = 0; i < 100000; i++) {
            bool fails = behaviour_fails_by_chance(3, &dice);
            failed += fails;
            twice += fails && before;
            before = fails;
            never += behaviour_fails_by_chance(0, &dice);
            assert_true(behaviour_fails_by_chance(100, &dice));
        }
        /* six standard deviations on both sides */
        assert_in_range(failed, 2676, 3324);
        assert_in_range(twice, 33, 147);
        assert_int_equal(never, 0);
    }
}

CASE(latency_by_chance)
{
    enum { DRAWS = 10000 };
    uint64_t dice = 7;
    int faster = 0, slow = 0;

    for (int i = 0; i < DRAWS; i++) {
        int64_t ms = behaviour_latency_by_chance(1000, &dice);
        assert_true(ms > 0);
        faster += ms < 1000;
        slow += ms > 5096;
    }
    /* six standard deviations on both sides */
    assert_in_range(faster, 4700, 5300);
    assert_in_range(slow, 40, 160);
}

static const struct cases_group groups[] = {{"conversations", talk}, {"images", behaviour}};

CASES("test/sandbox/app/cases.yaml", groups)
