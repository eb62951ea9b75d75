#define _GNU_SOURCE /* SCHED_BATCH */

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/process.h"
#include "test/unit.h"

CASE(test_files)
{
    struct rlimit files;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max / 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(process_raise_files(), files.rlim_max);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(files.rlim_cur, files.rlim_max);
    assert_int_equal(process_raise_files(), files.rlim_max);
}

CASE(test_hide)
{
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    process_hide();
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
}

CASE(test_turns)
{
    const struct sched_param none = {0};

    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    process_set_batch(true);
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    process_set_batch(false);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    /* a policy that was set elsewhere stays */
    assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    process_set_batch(true);
    assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
}
