#define _GNU_SOURCE /* syscall */
#include "base/process.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SHORT_TURN_NS = 100 * 1000 }; /* the shortest there is */

long process_raise_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return LONG_MAX;
    if (files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0)
            (void)getrlimit(RLIMIT_NOFILE, &files);
    }
    return files.rlim_cur < LONG_MAX ? (long)files.rlim_cur : LONG_MAX;
}

/* The kernel's struct sched_attr, which the C library does not have. */
struct turns {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* nanoseconds; runtime 0 is the usual */
};

void process_short_turns(bool wanted)
{
    struct turns turns = {.size = sizeof(turns)};

    if (syscall(SYS_sched_getattr, 0, &turns, sizeof(turns), 0) != 0 || turns.policy != SCHED_OTHER)
        return;
    turns.runtime = wanted ? SHORT_TURN_NS : 0;
    (void)syscall(SYS_sched_setattr, 0, &turns, 0);
}

void process_hide(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0);
}
