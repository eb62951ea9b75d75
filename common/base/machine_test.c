#include "base/machine.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum door { DOOR_SHUT, DOOR_OPEN, DOOR_GONE };
static const struct machine_state states[] = {
    [DOOR_SHUT] = {.name = "shut", .next = 1u << DOOR_OPEN | 1u << DOOR_GONE},
    [DOOR_OPEN] = {.name = "open", .next = 1u << DOOR_SHUT | 1u << DOOR_OPEN},
    [DOOR_GONE] = {.name = "gone"},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "door_state",
                                       .level = LOG_INFO};

/* The log line of a transition; the caller frees it. */
static char *logged(enum door from, enum door to)
{
    FILE *file = tmpfile();
    char *text = calloc(1, 1000);

    assert_non_null(text);
    log_set_fd(fileno(file));
    machine_step(&machine, from, to, "podinfo.test", "somebody went through",
                 LOG_STR("room", "kitchen"));
    log_set_fd(STDERR_FILENO);
    assert_true(pread(fileno(file), text, 999, 0) >= 0);
    fclose(file);
    return text;
}

CASE(a_step_is_logged)
{
    char *text = logged(DOOR_SHUT, DOOR_OPEN);

    assert_non_null(strstr(text, "\"event\":\"door_state\",\"canary\":\"podinfo.test\","
                                 "\"msg\":\"somebody went through\",\"room\":\"kitchen\","
                                 "\"from\":\"shut\",\"to\":\"open\"}"));
    free(text);
}

CASE(a_step_below_the_level_is_not)
{
    assert_true(log_set_level("warn"));
    char *text = logged(DOOR_OPEN, DOOR_SHUT);

    assert_true(log_set_level("info"));
    assert_string_equal(text, "");
    free(text);
}

/* The signal that ends a process with this transition, 0 if none. */
static int ends(enum door from, enum door to)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        machine_check(&machine, (int)from, (int)to);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

CASE(only_steps_of_the_table_are_taken)
{
    static const bool allowed[3][3] = {
        [DOOR_SHUT] = {[DOOR_OPEN] = true, [DOOR_GONE] = true},
        [DOOR_OPEN] = {[DOOR_SHUT] = true, [DOOR_OPEN] = true},
    };
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
            assert_int_equal(ends((enum door)from, (enum door)to), allowed[from][to] ? 0 : SIGABRT);
}

CASE(states_have_names)
{
    assert_int_equal(machine.count, 3);
    assert_string_equal(machine_name(&machine, DOOR_GONE), "gone");
}
