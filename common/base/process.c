#define _GNU_SOURCE /* SCHED_BATCH */
#include "base/process.h"

#include <limits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

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

void process_hide(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* A policy chosen by the parent process is kept. */
void process_set_batch(bool batch)
{
    int from = batch ? SCHED_OTHER : SCHED_BATCH, to = batch ? SCHED_BATCH : SCHED_OTHER;

    if (sched_getscheduler(0) == from)
        (void)sched_setscheduler(0, to, &(struct sched_param){0});
}
