/* Children that are told to count, and processes that are taken for orphans. */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child_internal.h"
#include "test/unit.h"

enum { DEADLINE_MS = 10000 };

static int looks[3];

static void look(void *child)
{
    ++*(int *)child;
}

static void on_late(void *arg)
{
    *(bool *)arg = true;
}

static void make_processes(int count)
{
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
}

/* Runs the loop until the counter is at least `at_least`. */
static void turn_until(struct loop *loop, const int *counter, int at_least)
{
    bool late = false;
    struct timer *deadline = timer_start(loop, DEADLINE_MS, 0, on_late, &late);

    while (*counter < at_least && !late)
        uv_run(loop_uv(loop), UV_RUN_ONCE);
    assert_false(late);
    timer_stop(deadline);
}

CASE(those_are_told_whose_patience_is_over)
{
    struct loop *loop = loop_new(10000);
    struct child_entry never = {.check = look, .child = &looks[0]},
                       soon = {.forks_until_check = 5, .check = look, .child = &looks[1]},
                       late = {.forks_until_check = INT64_MAX, .check = look, .child = &looks[2]};

    if (child_proc_last_pid() < 0)
        skip(); /* this kernel does not report process ids */
    child_registry_add(loop, &never);
    child_registry_add(loop, &soon);
    child_registry_add(loop, &late);
    make_processes(5);
    turn_until(loop, &looks[1], 1);
    make_processes(5);
    turn_until(loop, &looks[1], 2);
    assert_int_equal(looks[0], 0);
    assert_int_equal(looks[2], 0);
    child_registry_remove(&soon);
    child_registry_remove(&never);
    child_registry_remove(&late);
    assert_int_equal(loop_run(loop), 0); /* without children no timer is left */
    loop_free(loop);
}

CASE(those_without_a_supervisor_are_orphans)
{
    struct loop *loop = loop_new(10000);
    int status;
    pid_t kept = fork();

    if (kept == 0) {
        for (;;)
            pause();
    }
    pid_t orphan = fork();
    if (orphan == 0) {
        for (;;)
            pause();
    }
    struct child_entry live = {.supervisor = kept};
    child_registry_add(loop, &live);
    assert_int_equal(child_registry_kill_orphans(), 1);
    assert_int_equal(waitpid(orphan, &status, 0), orphan);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(kill(kept, 0), 0);
    /* once it was reaped, its process id may be reused */
    child_registry_reaped(kept + 1);
    assert_int_equal(live.supervisor, kept);
    child_registry_reaped(kept);
    assert_int_equal(live.supervisor, 0);
    assert_int_equal(child_registry_kill_orphans(), 1);
    assert_int_equal(waitpid(kept, &status, 0), kept);
    child_registry_remove(&live);
    assert_int_equal(child_registry_kill_orphans(), 0);
    loop_free(loop);
}
