/* rotation: when its owner is called, and when not. */
#include <signal.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/rotation.h"
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
    loop = loop_new(1000);
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

    struct rotation *rotation =
        rotation_start(loop, (const char *const[]){first, NULL, second}, 3, on_changed, &owner);
    rotation_look(rotation);
    assert_int_equal(owner.calls, 0);
    put(second, "3");
    for (int i = 0; i < 2; i++) {
        rotation_look(rotation);
        assert_int_equal(owner.calls, 1);
    }
    /* what was in one file is now in the other */
    put(first, "3");
    put(second, "1");
    rotation_look(rotation);
    assert_int_equal(owner.calls, 2);
    rotation_stop(rotation);
    rotation_stop(NULL);
}

CASE(what_was_not_taken_is_told_again)
{
    struct owner owner = {.takes = false};

    struct rotation *rotation =
        rotation_start(loop, (const char *const[]){first}, 1, on_changed, &owner);
    put(first, "bad");
    rotation_look(rotation);
    rotation_look(rotation);
    assert_int_equal(owner.calls, 2);
    put(first, "1"); /* what it was at first: still in use */
    rotation_look(rotation);
    assert_int_equal(owner.calls, 2);
    unlink(first);
    rotation_look(rotation);
    rotation_look(rotation);
    assert_int_equal(owner.calls, 4);
    owner.takes = true;
    put(first, "good");
    rotation_look(rotation);
    rotation_look(rotation);
    assert_int_equal(owner.calls, 5);
    rotation_stop(rotation);
}

/* It would have to be waited for: it counts as a file that cannot be read. */
CASE(a_pipe_is_not_read)
{
    struct owner owner = {.takes = true};

    struct rotation *rotation =
        rotation_start(loop, (const char *const[]){pipe_path, first}, 2, on_changed, &owner);
    rotation_look(rotation);
    assert_int_equal(owner.calls, 1);
    rotation_stop(rotation);
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
    rotation_stop(arg);
}

CASE(a_hangup_looks_at_once)
{
    struct owner owner = {.takes = true};
    int64_t began = clock_monotonic_ms();

    loop_take_hangup(loop, "nothing");
    struct rotation *rotation =
        rotation_start(loop, (const char *const[]){first}, 1, on_changed_ends, &owner);
    loop_on_drain(loop, stop, rotation);
    put(first, "another");
    timer_start(loop, 1, 0, raise_hangup, NULL);
    assert_int_equal(loop_run(loop), 0);
    assert_int_equal(owner.calls, 1);
    assert_true(clock_monotonic_ms() - began < ROTATION_LOOK_MS);
}
