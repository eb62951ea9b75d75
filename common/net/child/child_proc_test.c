/* Real descendants are counted, with their threads and memory. */
#define _GNU_SOURCE /* pipe2 */

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child_internal.h"
#include "test/unit.h"

enum { MIB = 1024 * 1024 };

static struct child_usage watch;

static _Noreturn void stay(int ready)
{
    (void)!write(ready, "x", 1);
    for (;;)
        pause();
}

/* Starts a child in a group of its own, with `bytes` of memory and `children` small children;
 * returns when all of them run. */
static pid_t begin(size_t bytes, int children)
{
    int ready[2];
    char byte;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setpgid(0, 0);
        for (int i = 0; i < children; i++)
            if (fork() == 0)
                stay(ready[1]);
        if (bytes > 0 && mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
            _exit(1);
        stay(ready[1]);
    }
    close(ready[1]);
    for (int i = 0; i <= children; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end(pid_t family)
{
    kill(-family, SIGKILL);
    assert_int_equal(waitpid(family, NULL, 0), family);
}

static enum child_limit look(int64_t processes, int64_t memory)
{
    const struct child_limits limits = {.processes = processes, .memory = memory};

    return child_usage_check(&watch, &limits, getpid());
}

CASE(some_limits_are_to_be_watched)
{
    assert_false(child_usage_needed(&(struct child_limits){.files = 1, .cpu_s = 1}));
    assert_true(child_usage_needed(&(struct child_limits){.memory = 1}));
    assert_true(child_usage_needed(&(struct child_limits){.processes = 1}));
}

CASE(processes_are_counted_with_their_children)
{
    if (!child_usage_supported())
        skip();
    child_usage_begin(&watch);
    pid_t family = begin(0, 4);
    child_usage_started(&watch, family);
    assert_int_equal(look(4, 0), CHILD_LIMIT_PROCESSES);
    assert_int_equal(look(5, 0), CHILD_LIMIT_NONE);
    end(family);
}

/* A full scan is made only if the limit may be exceeded. */
CASE(a_look_is_taken_where_it_matters)
{
    if (!child_usage_supported() || child_proc_last_pid() < 0)
        skip();
    child_usage_begin(&watch);
    pid_t first = begin(0, 0);
    child_usage_started(&watch, first);
    assert_int_equal(look(INT64_MAX / 2, 0), CHILD_LIMIT_NONE);
    assert_false(watch.scanned);
    pid_t more = begin(0, 5);
    assert_int_equal(look(6, 0), CHILD_LIMIT_PROCESSES);
    assert_true(watch.scanned);
    end(more);
    assert_int_equal(look(6, 0), CHILD_LIMIT_NONE);
    end(first);
}

/* Without process ids from the kernel, every check is a full scan. */
CASE(without_numbers_every_look_is_full)
{
    if (!child_usage_supported())
        skip();
    child_usage_begin(&watch);
    watch.last_pid = -1;
    pid_t family = begin(0, 2);
    child_usage_started(&watch, family);
    assert_false(watch.has_last_pid);
    assert_int_equal(look(1000, 0), CHILD_LIMIT_NONE);
    assert_int_equal(watch.processes, 3);
    assert_int_equal(look(2, 0), CHILD_LIMIT_PROCESSES);
    end(family);
}

CASE(memory_is_that_of_all)
{
    if (!child_usage_supported())
        skip();
    child_usage_begin(&watch);
    pid_t one = begin(20 * MIB, 0);
    child_usage_started(&watch, one);
    assert_int_equal(look(0, 15 * MIB), CHILD_LIMIT_MEMORY);
    assert_int_equal(look(0, 1000 * (int64_t)MIB), CHILD_LIMIT_NONE);
    int64_t of_one = watch.memory;
    assert_true(of_one >= 20 * MIB);
    /* again, by the known processes */
    assert_int_equal(look(0, 15 * MIB), CHILD_LIMIT_MEMORY);
    pid_t other = begin(30 * MIB, 0);
    assert_int_equal(look(0, 1000 * (int64_t)MIB), CHILD_LIMIT_NONE);
    assert_true(watch.memory >= of_one + 30 * MIB);
    /* one of the known processes has ended */
    end(one);
    assert_int_equal(look(0, 1000 * (int64_t)MIB), CHILD_LIMIT_NONE);
    assert_in_range(watch.memory, 30 * MIB, of_one + 30 * MIB - 1);
    end(other);
}
