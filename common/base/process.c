#include "base/process.h"

#include <limits.h>
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
