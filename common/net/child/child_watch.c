#define _GNU_SOURCE /* O_CLOEXEC */
#include "net/child/child_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool child_watch_needed(const struct child_limits *limits)
{
    return limits->memory > 0 || limits->processes > 0;
}

/* --- one file */

static ssize_t read_at_start(int fd, char *text, size_t room)
{
    ssize_t n = fd < 0 ? -1 : pread(fd, text, room - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return n;
}

static ssize_t read_small(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read_at_start(fd, text, room);

    if (fd >= 0)
        close(fd);
    return n;
}

/* "0.31 0.42 0.40 2/131 4711": the last number is that of the newest process or thread. */
int64_t child_watch_number(void)
{
    static int fd = -1;
    char text[128];

    if (fd < 0)
        fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (read_at_start(fd, text, sizeof(text)) <= 0)
        return -1;
    const char *last = strrchr(text, ' ');
    int64_t number = last ? strtoll(last + 1, NULL, 10) : 0;
    return number > 0 ? number : -1;
}

bool child_watch_possible(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

/* --- a full look */

struct usage {
    struct child_watch *watch;
    int64_t memory, processes;
    pid_t todo[4096]; /* whose children are still to be looked at; what is beyond counts as too many
                       */
    int n_todo;
};

static void add_children(struct usage *usage, const char *path)
{
    char text[16384]; /* some two thousand children */
    char *at = text, *end;

    if (read_small(path, text, sizeof(text)) <= 0)
        return;
    for (;;) {
        long pid = strtol(at, &end, 10);
        if (end == at || pid <= 0)
            return;
        if (usage->n_todo < (int)(sizeof(usage->todo) / sizeof(usage->todo[0])))
            usage->todo[usage->n_todo++] = (pid_t)pid;
        else
            usage->processes++;
        at = end;
    }
}

/* Bytes resident, from a statm file; -1: the process has ended. */
static int64_t resident(int fd)
{
    char text[128];
    long long size, pages;

    if (read_at_start(fd, text, sizeof(text)) <= 0 || sscanf(text, "%lld %lld", &size, &pages) != 2)
        return -1;
    return pages * sysconf(_SC_PAGESIZE);
}

static void forget_files(struct child_watch *watch)
{
    for (int i = 0; i < watch->n_files && i < CHILD_WATCH_FILES; i++)
        close(watch->files[i]);
    watch->n_files = 0;
}

static void add_memory(struct usage *usage, pid_t pid, long thread)
{
    struct child_watch *watch = usage->watch;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%ld/statm", (int)pid, thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t bytes = resident(fd);
    if (bytes > 0)
        usage->memory += bytes;
    if (fd >= 0 && watch->n_files < CHILD_WATCH_FILES) {
        watch->files[watch->n_files++] = fd;
        return;
    }
    if (fd >= 0)
        close(fd);
    watch->n_files = CHILD_WATCH_FILES + 1;
}

/* Adds a process. Children belong to the thread that made them; the memory is told by the last
 * thread, since the first may have ended before the others. */
static void look_at_threads(struct usage *usage, pid_t pid, bool with_memory)
{
    char path[64 + NAME_MAX];
    struct dirent *entry;
    long last = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        usage->processes++;
        last = strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, entry->d_name);
        add_children(usage, path);
    }
    if (dir)
        closedir(dir);
    if (last > 0 && with_memory)
        add_memory(usage, pid, last);
}

static enum child_limit look_fully(struct child_watch *watch, const struct child_limits *limits,
                                   pid_t ancestor)
{
    static struct usage usage; /* large, and a supervisor has one thread */

    watch->number = child_watch_number();
    watch->looked = true;
    forget_files(watch);
    usage.watch = watch;
    usage.n_todo = 0;
    look_at_threads(&usage, ancestor, false);
    usage.memory = usage.processes = 0; /* the ancestor's own do not count */
    while (usage.n_todo > 0) {
        pid_t pid = usage.todo[--usage.n_todo];
        look_at_threads(&usage, pid, limits->memory > 0);
        if (limits->processes > 0 && usage.processes > limits->processes)
            return CHILD_LIMIT_PROCESSES;
    }
    watch->memory = usage.memory;
    watch->processes = usage.processes;
    return limits->memory > 0 && usage.memory > limits->memory ? CHILD_LIMIT_MEMORY
                                                               : CHILD_LIMIT_NONE;
}

/* --- when a full look is needed */

void child_watch_begin(struct child_watch *watch)
{
    *watch = (struct child_watch){.number = child_watch_number()};
}

void child_watch_started(struct child_watch *watch, pid_t command)
{
    int64_t number = child_watch_number();

    /* A number that does not count our own child is not the kernel's, or has begun anew. */
    watch->numbered = watch->number > 0 && number >= command && number > watch->number;
    watch->processes = 0;
}

void child_watch_end(struct child_watch *watch)
{
    forget_files(watch);
}

/* How many processes and threads were made since the last full look; -1: nobody knows. */
static int64_t made(const struct child_watch *watch)
{
    int64_t number = watch->numbered ? child_watch_number() : -1;

    return number > 0 && number >= watch->number ? number - watch->number : -1;
}

/* The processes that we know are all there are: -1 when one of them has ended. */
static int64_t memory_of_known(const struct child_watch *watch)
{
    int64_t sum = 0;

    for (int i = 0; i < watch->n_files; i++) {
        int64_t bytes = resident(watch->files[i]);
        if (bytes < 0)
            return -1;
        sum += bytes;
    }
    return sum;
}

enum child_limit child_watch_look(struct child_watch *watch, const struct child_limits *limits,
                                  pid_t ancestor)
{
    int64_t new = made(watch);
    bool may_be_many =
        limits->processes > 0 && (new < 0 || watch->processes + new > limits->processes);
    bool known = watch->looked && new == 0 && watch->n_files <= CHILD_WATCH_FILES;

    if (may_be_many)
        return look_fully(watch, limits, ancestor);
    if (limits->memory <= 0)
        return CHILD_LIMIT_NONE;
    int64_t memory = known ? memory_of_known(watch) : -1;
    if (memory < 0)
        return look_fully(watch, limits, ancestor);
    watch->memory = memory;
    return memory > limits->memory ? CHILD_LIMIT_MEMORY : CHILD_LIMIT_NONE;
}
