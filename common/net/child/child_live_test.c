/* child_live: who is asked to look, and who is taken for an orphan. */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child_live.h"
#include "net/child/child_watch.h"
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

/* Turns the loop until the counter has moved. */
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
    struct loop *loop = loop_new(1000);
    struct child_live never = {.look = look, .child = &looks[0]},
                      soon = {.patience = 5, .look = look, .child = &looks[1]},
                      late = {.patience = INT64_MAX, .look = look, .child = &looks[2]};

    if (child_watch_number() < 0)
        skip(); /* this kernel numbers nothing */
    child_live_add(loop, &never);
    child_live_add(loop, &soon);
    child_live_add(loop, &late);
    make_processes(5);
    turn_until(loop, &looks[1], 1);
    make_processes(5);
    turn_until(loop, &looks[1], 2);
    assert_int_equal(looks[0], 0);
    assert_int_equal(looks[2], 0);
    child_live_remove(&soon);
    child_live_remove(&never);
    child_live_remove(&late);
    assert_int_equal(loop_run(loop), 0); /* nobody is watched: no timer is left */
    loop_free(loop);
}

CASE(those_without_a_supervisor_are_orphans)
{
    struct loop *loop = loop_new(1000);
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
    struct child_live live = {.supervisor = kept};
    child_live_add(loop, &live);
    assert_int_equal(child_live_kill_orphans(), 1);
    assert_int_equal(waitpid(orphan, &status, 0), orphan);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(kill(kept, 0), 0);
    /* once it was waited for, its number means nobody */
    child_live_ended(kept + 1);
    assert_int_equal(live.supervisor, kept);
    child_live_ended(kept);
    assert_int_equal(live.supervisor, 0);
    assert_int_equal(child_live_kill_orphans(), 1);
    assert_int_equal(waitpid(kept, &status, 0), kept);
    child_live_remove(&live);
    assert_int_equal(child_live_kill_orphans(), 0);
    loop_free(loop);
}
