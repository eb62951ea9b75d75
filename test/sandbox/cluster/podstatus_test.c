
#include <string.h>

#include "cluster/meta.h"
#include "cluster/podstatus.h"
#include "test/unit.h"

static void states(void **state)
{
    static const struct {
        struct podstatus_in in;
        const char *phase, *reason; /* reason NULL: running */
    } cases[] = {
        {{.state = POD_WAITING, .reason = "CreateContainerConfigError"},
         "Pending",
         "CreateContainerConfigError"},
        {{.state = POD_RUNNING}, "Running", NULL},
        {{.state = POD_RUNNING, .ready = true}, "Running", NULL},
        {{.state = POD_BACKOFF,
          .reason = "CrashLoopBackOff",
          .restarts = 2,
          .has_last = true,
          .last_exit = 3},
         "Running",
         "CrashLoopBackOff"},
        {{.state = POD_BACKOFF, .reason = "CrashLoopBackOff", .has_last = true, .last_signal = 9},
         "Running",
         "CrashLoopBackOff"},
        {{.state = POD_STOPPING}, "Running", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct podstatus_in in = cases[i].in;
        in.pod = json_own(
            arena,
            json_tokener_parse(
                "{'spec':{'containers':[{'name':'app','image':'demo-app:1'},{'name':'side'}]}}"));
        in.container = "app";
        in.address = "127.64.0.3";
        struct json_object *s = podstatus_make(arena, &in);
        assert_string_equal(json_str_at(s, "phase", NULL), cases[i].phase);
        assert_int_equal(meta_condition_true(json_at(s, "conditions", NULL), "Ready"), in.ready);
        struct json_object *c = json_elem(json_at(s, "containerStatuses", NULL), 0);
        assert_int_equal(json_int_at(c, -1, "restartCount", NULL), in.restarts);
        const char *reason = json_str_at(c, "state", "waiting", "reason", NULL);
        if (cases[i].reason)
            assert_string_equal(reason, cases[i].reason);
        else
            assert_non_null(json_at(c, "state", "running", NULL));
        if (in.has_last)
            assert_int_equal(json_int_at(c, -1, "lastState", "terminated", "exitCode", NULL),
                             in.last_signal ? 137 : 3);
        arena_free(arena);
    }
}

UNIT_MAIN(cmocka_unit_test(states))
