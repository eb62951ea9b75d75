/* Changes after which the callback is called, and those after which it is not. */
#include <signal.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/loop.h"
#include "test/unit.h"

static const char *first, *second, *pipe_path;
static struct loop *loop;

struct owner {
    int calls;
    bool takes;
};

static bool on_changed(void *arg)
{
    struct owner *owner = arg;
    owner->calls++;
    return owner->takes;
}

static void put(const char *path, const char *text)
{
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), ERR_OK);
}

static int set_up(void **state)
{
    first = unit_put("first", "1");
    second = unit_put("second", "2");
    pipe_path = unit_path("pipe");
    loop = loop_new(10000);
    return mkfifo(pipe_path, 0600);
}

static int tear_down(void **state)
{
    loop_free(loop);
    return 0;
}

CASE(a_change_is_told_once)
{
    struct owner owner = {.takes = true};

    struct file_watch *watch =
        file_watch_start(loop, (const char *const[]){first, NULL, second}, 3, on_changed, &owner);
    file_watch_check(watch);
    assert_int_equal(owner.calls, 0);
    put(second, "3");
    for (int i = 0; i < 2; i++) {
        file_watch_check(watch);
        assert_int_equal(owner.calls, 1);
    }
    /* the files have swapped their content */
    put(first, "3");
    put(second, "1");
    file_watch_check(watch);
    assert_int_equal(owner.calls, 2);
    file_watch_stop(watch);
    file_watch_stop(NULL);
}

CASE(what_was_not_taken_is_told_again)
{
    struct owner owner = {.takes = false};

    struct file_watch *watch =
        file_watch_start(loop, (const char *const[]){first}, 1, on_changed, &owner);
    put(first, "bad");
    file_watch_check(watch);
    file_watch_check(watch);
    assert_int_equal(owner.calls, 2);
    put(first, "1"); /* the first content, which is still in use */
    file_watch_check(watch);
    assert_int_equal(owner.calls, 2);
    unlink(first);
    file_watch_check(watch);
    file_watch_check(watch);
    assert_int_equal(owner.calls, 4);
    owner.takes = true;
    put(first, "good");
    file_watch_check(watch);
    file_watch_check(watch);
    assert_int_equal(owner.calls, 5);
    file_watch_stop(watch);
}

/* A pipe would block: it counts as unreadable. */
CASE(a_pipe_is_not_read)
{
    struct owner owner = {.takes = true};

    struct file_watch *watch =
        file_watch_start(loop, (const char *const[]){pipe_path, first}, 2, on_changed, &owner);
    file_watch_check(watch);
    assert_int_equal(owner.calls, 1);
    file_watch_stop(watch);
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void raise_hangup(void *arg)
{
    kill(getpid(), SIGHUP);
}

static bool on_changed_ends(void *arg)
{
    loop_drain(loop);
    return on_changed(arg);
}

static void stop(void *arg)
{
    file_watch_stop(arg);
}

CASE(a_hangup_looks_at_once)
{
    struct owner owner = {.takes = true};
    int64_t began = clock_monotonic_ms();

    loop_take_hangup(loop, "nothing");
    struct file_watch *watch =
        file_watch_start(loop, (const char *const[]){first}, 1, on_changed_ends, &owner);
    loop_on_drain(loop, stop, watch);
    put(first, "another");
    timer_start(loop, 1, 0, raise_hangup, NULL);
    assert_int_equal(loop_run(loop), 0);
    assert_int_equal(owner.calls, 1);
    assert_true(clock_monotonic_ms() - began < FILE_WATCH_MS);
}
