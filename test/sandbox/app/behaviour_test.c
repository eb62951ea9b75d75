

#include "app/behaviour.h"
#include "test/unit.h"

CASE(tags)
{
    static const struct {
        const char *image, *version;
        int64_t errors, latency, crash;
    } cases[] = {
        {"demo-app", "latest", 0, 0, -1},
        {"demo-app:2.0.0", "2.0.0", 0, 0, -1},
        {"localhost:5000/x/demo-app:2.0.0", "2.0.0", 0, 0, -1},
        {"localhost:5000/demo-app", "latest", 0, 0, -1},
        {"demo-app:3-errors", "3", 50, 0, -1},
        {"demo-app:3-errors7", "3", 7, 0, -1},
        {"demo-app:4.0.0-slow", "4.0.0", 0, 800, -1},
        {"demo-app:4.0.0-slow1.5s", "4.0.0", 0, 1500, -1},
        {"demo-app:4-rc1-errors100-slow20ms", "4-rc1", 100, 20, -1},
        {"demo-app:4-crash", "4", 0, 0, 0},
        {"demo-app:4-crash3s@sha256:ab", "4", 0, 0, 3000},
        {"demo-app:-slow", "latest", 0, 800, -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct behaviour got;
        struct errinfo ei;
        assert_true(behaviour_is_demo(cases[i].image));
        assert_int_equal(behaviour_of_image(arena, cases[i].image, &got, &ei), ERR_OK);
        assert_string_equal(got.version, cases[i].version);
        assert_int_equal(got.error_percent, cases[i].errors);
        assert_int_equal(got.latency_ms, cases[i].latency);
        assert_int_equal(got.crash_after_ms, cases[i].crash);
    }
}

CASE(refused)
{
    static const char *const cases[] = {"demo-app:1-errors101", "demo-app:1-errorsx",
                                        "demo-app:1-slow-1", "demo-app:1-slow5"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct behaviour got;
        struct errinfo ei = {0};
        enum err err = behaviour_of_image(arena, cases[i], &got, &ei);
        if (i ==
            2) { /* "1-slow-1": the last part is no suffix of ours, so all of it is the version */
            assert_int_equal(err, ERR_OK);
            assert_string_equal(got.version, "1-slow-1");
        } else {
            assert_int_equal(err, ERR_INVALID);
            assert_true(ei.text[0]);
        }
    }
}

CASE(other_images)
{
    assert_false(behaviour_is_demo(NULL));
    assert_false(behaviour_is_demo(""));
    assert_false(behaviour_is_demo("podinfo:1"));
    assert_false(behaviour_is_demo("demo-app-2:1"));
    assert_false(behaviour_is_demo("demo-app/other:1"));
    assert_false(behaviour_is_demo("my-demo-app"));
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
