#define _GNU_SOURCE /* setgroups */
#include "net/child/child_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/child/child_filter.h"

#define FIELDS(l)                                                                                  \
    &(l)->memory, &(l)->processes, &(l)->user_processes, &(l)->cpu_s, &(l)->files,                 \
        &(l)->file_size, &(l)->nice, &(l)->uid, &(l)->gid, &(l)->group

enum { FLAG_NO_NEW_PRIVILEGES = 1, FLAG_FILTER = 2, FLAG_FIRST_VICTIM = 4 };

char *child_limits_text(const struct child_limits *limits, char text[CHILD_LIMITS_TEXT])
{
    struct child_limits copy = limits ? *limits : (struct child_limits){0};
    const int64_t *fields[] = {FIELDS(&copy)};
    int flags = (copy.no_new_privileges ? FLAG_NO_NEW_PRIVILEGES : 0) |
                (copy.filter ? FLAG_FILTER : 0) | (copy.first_victim ? FLAG_FIRST_VICTIM : 0);
    int len = snprintf(text, CHILD_LIMITS_TEXT, "%d", flags);

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        len += snprintf(text + len, (size_t)(CHILD_LIMITS_TEXT - len), ",%" PRId64, *fields[i]);
    return text;
}

bool child_limits_read(const char *text, struct child_limits *out)
{
    *out = (struct child_limits){0};
    int64_t *fields[] = {FIELDS(out)};
    char *end;
    long flags = strtol(text, &end, 10);

    out->no_new_privileges = flags & FLAG_NO_NEW_PRIVILEGES;
    out->filter = flags & FLAG_FILTER;
    out->first_victim = flags & FLAG_FIRST_VICTIM;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (*end != ',')
            return false;
        *fields[i] = strtoll(end + 1, &end, 10);
    }
    return *end == '\0';
}

/* --- what the kernel holds */

static int set_limit(__rlimit_resource_t resource, int64_t value)
{
    struct rlimit limit;

    if (value <= 0)
        return 0;
    if (getrlimit(resource, &limit) != 0)
        return -1;
    /* never more than we have ourselves */
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)value)
        limit.rlim_max = (rlim_t)value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit);
}

int child_limits_become(const struct child_limits *limits)
{
    gid_t gid = limits->gid > 0 ? (gid_t)limits->gid : (gid_t)limits->uid;

    gid_t group = (gid_t)limits->group;

    if (limits->uid <= 0)
        return 0;
    if (setgroups(limits->group > 0 ? 1 : 0, &group) != 0 || setgid(gid) != 0 ||
        setuid((uid_t)limits->uid) != 0)
        return -1;
    return 0;
}

/* Raising the own score needs no right. */
static void volunteer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    ssize_t n = write(fd, "1000", 4);
    (void)n;
    close(fd);
}

int child_limits_apply(const struct child_limits *limits)
{
    if (limits->first_victim)
        volunteer();
    errno = 0;
    if (limits->nice > 0 && nice((int)limits->nice) == -1 && errno != 0)
        return -1;
    if (set_limit(RLIMIT_CPU, limits->cpu_s) != 0 || set_limit(RLIMIT_NOFILE, limits->files) != 0 ||
        set_limit(RLIMIT_FSIZE, limits->file_size) != 0 ||
        set_limit(RLIMIT_DATA, limits->memory) != 0 ||
        set_limit(RLIMIT_NPROC, limits->user_processes) != 0)
        return -1;
    if (child_limits_become(limits) != 0)
        return -1;
    if ((limits->no_new_privileges || limits->filter) &&
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return limits->filter ? child_filter_apply() : 0;
}
