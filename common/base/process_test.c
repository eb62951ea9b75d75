#define _GNU_SOURCE /* syscall */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"

static void test_files(void **state)
{
    struct rlimit files;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max / 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(process_raise_files(), files.rlim_max);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(files.rlim_cur, files.rlim_max);
    assert_int_equal(process_raise_files(), files.rlim_max);
}

static void test_hide(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    process_hide();
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
}

/* Of what sched_getattr() tells: 64-bit words, the runtime is the fourth. */
static uint64_t turn_ns(void)
{
    uint64_t words[6] = {0};

    assert_int_equal(syscall(SYS_sched_getattr, 0, words, sizeof(words), 0), 0);
    return words[3];
}

static void test_turns(void **state)
{
    (void)state;
    uint64_t usual = turn_ns();
    int niceness = getpriority(PRIO_PROCESS, 0);
    if (usual == 0)
        skip(); /* a kernel that knows one length */
    process_short_turns(true);
    assert_in_range(turn_ns(), 1, usual - 1);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), niceness);
    process_short_turns(false);
    assert_int_equal(turn_ns(), usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_hide),
        cmocka_unit_test(test_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
