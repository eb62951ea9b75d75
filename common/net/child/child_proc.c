/* Reads /proc: the processes of the machine, their descent, and what descendants use. */
#define _GNU_SOURCE /* O_CLOEXEC */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child_internal.h"

/* "pid (name) S ppid ...": the name may contain anything, so the last parenthesis counts. */
static bool read_stat(const char *pid_text, struct child_process *out)
{
    char path[64], text[512];

    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid_text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    char state;
    int parent, threads;
    if (!end ||
        sscanf(end + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
               &state, &parent, &threads) != 3 ||
        state == 'X')
        return false;
    /* a process without its first thread looks like a zombie while others run */
    *out = (struct child_process){.pid = (pid_t)strtol(pid_text, NULL, 10),
                                  .parent = parent,
                                  .zombie = state == 'Z' && threads <= 1};
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct child_process *)a)->pid,
          right = ((const struct child_process *)b)->pid;
    return (left > right) - (left < right);
}

struct child_process *child_proc_list(size_t *count)
{
    size_t room = 0;
    struct child_process *list = NULL;
    struct child_process process;
    struct dirent *entry;
    DIR *dir = opendir("/proc");

    *count = 0;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !read_stat(entry->d_name, &process))
            continue;
        if (*count == room) {
            room = room ? room * 2 : 256;
            struct child_process *grown = realloc(list, room * sizeof(*list));
            if (!grown)
                break;
            list = grown;
        }
        list[(*count)++] = process;
    }
    if (dir)
        closedir(dir);
    if (*count > 0)
        qsort(list, *count, sizeof(*list), by_pid);
    return list;
}

static bool is_ours(const struct child_process *list, size_t count, pid_t pid)
{
    const struct child_process key = {.pid = pid};
    const struct child_process *found = bsearch(&key, list, count, sizeof(*list), by_pid);
    return found && found->ours;
}

void child_proc_mark(struct child_process *list, size_t count, pid_t root)
{
    bool changed = count > 0;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < count; i++) {
            if (list[i].ours || list[i].kept)
                continue;
            if (list[i].parent == root || is_ours(list, count, list[i].parent))
                changed = list[i].ours = true;
        }
    }
}

static void keep_some(struct child_process *list, size_t count, const pid_t *keep, size_t n_keep,
                      bool (*is_kept)(pid_t pid))
{
    for (size_t i = 0; i < count; i++)
        list[i].kept = list[i].parent == getpid() && is_kept(list[i].pid);
    for (size_t i = 0; i < n_keep; i++) {
        const struct child_process key = {.pid = keep[i]};
        struct child_process *found = bsearch(&key, list, count, sizeof(*list), by_pid);
        if (found)
            found->kept = true;
    }
}

int child_proc_kill(const pid_t *keep, size_t n_keep, bool (*is_kept)(pid_t pid))
{
    size_t count;
    int alive = 0;
    struct child_process *list = child_proc_list(&count);

    if (count > 0)
        keep_some(list, count, keep, n_keep, is_kept);
    child_proc_mark(list, count, getpid());
    for (size_t i = 0; i < count; i++) {
        if (!list[i].ours)
            continue;
        if (!list[i].zombie) {
            alive++;
            kill(list[i].pid, SIGKILL);
        } else if (list[i].parent == getpid()) {
            waitpid(list[i].pid, NULL, WNOHANG);
        }
    }
    free(list);
    return alive;
}

bool child_usage_needed(const struct child_limits *limits)
{
    return limits->memory > 0 || limits->processes > 0;
}

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
int64_t child_proc_last_pid(void)
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

bool child_usage_supported(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

struct scan {
    struct child_usage *usage;
    int64_t memory, processes;
    pid_t todo[4096]; /* queue of the scan; processes beyond it are counted without their
                       * children */
    int n_todo;
};

static void add_children(struct scan *scan, const char *path)
{
    char text[16384]; /* about two thousand children */
    char *at = text, *end;

    if (read_small(path, text, sizeof(text)) <= 0)
        return;
    for (;;) {
        long pid = strtol(at, &end, 10);
        if (end == at || pid <= 0)
            return;
        if (scan->n_todo < (int)(sizeof(scan->todo) / sizeof(scan->todo[0])))
            scan->todo[scan->n_todo++] = (pid_t)pid;
        else
            scan->processes++;
        at = end;
    }
}

/* Resident bytes, from a statm file; -1 if the process has ended. */
static int64_t resident(int fd)
{
    char text[128];
    long long size, pages;

    if (read_at_start(fd, text, sizeof(text)) <= 0 || sscanf(text, "%lld %lld", &size, &pages) != 2)
        return -1;
    return pages * sysconf(_SC_PAGESIZE);
}

static void forget_files(struct child_usage *usage)
{
    for (int i = 0; i < usage->n_files && i < CHILD_USAGE_FILES; i++)
        close(usage->files[i]);
    usage->n_files = 0;
}

static void add_memory(struct scan *scan, pid_t pid, long thread)
{
    struct child_usage *usage = scan->usage;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%ld/statm", (int)pid, thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t bytes = resident(fd);
    if (bytes > 0)
        scan->memory += bytes;
    if (fd >= 0 && usage->n_files < CHILD_USAGE_FILES) {
        usage->files[usage->n_files++] = fd;
        return;
    }
    if (fd >= 0)
        close(fd);
    usage->n_files = CHILD_USAGE_FILES + 1;
}

/* Adds a process. Each thread lists the children it has made. The memory is read of the last
 * thread, since the first may have ended before the others. */
static void scan_threads(struct scan *scan, pid_t pid, bool with_memory)
{
    char path[64 + NAME_MAX];
    struct dirent *entry;
    long last = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        scan->processes++;
        last = strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, entry->d_name);
        add_children(scan, path);
    }
    if (dir)
        closedir(dir);
    if (last > 0 && with_memory)
        add_memory(scan, pid, last);
}

static enum child_limit full_scan(struct child_usage *usage, const struct child_limits *limits,
                                  pid_t ancestor)
{
    static struct scan scan; /* large, and a supervisor has one thread */

    usage->last_pid = child_proc_last_pid();
    usage->scanned = true;
    forget_files(usage);
    scan.usage = usage;
    scan.n_todo = 0;
    scan_threads(&scan, ancestor, false);
    scan.memory = scan.processes = 0; /* the ancestor itself does not count */
    while (scan.n_todo > 0) {
        pid_t pid = scan.todo[--scan.n_todo];
        scan_threads(&scan, pid, limits->memory > 0);
        if (limits->processes > 0 && scan.processes > limits->processes)
            return CHILD_LIMIT_PROCESSES;
    }
    usage->memory = scan.memory;
    usage->processes = scan.processes;
    return limits->memory > 0 && scan.memory > limits->memory ? CHILD_LIMIT_MEMORY
                                                              : CHILD_LIMIT_NONE;
}

void child_usage_begin(struct child_usage *usage)
{
    *usage = (struct child_usage){.last_pid = child_proc_last_pid()};
}

void child_usage_started(struct child_usage *usage, pid_t command)
{
    int64_t number = child_proc_last_pid();

    /* If the number does not include our own child, it is not reliable, or has wrapped. */
    usage->has_last_pid = usage->last_pid > 0 && number >= command && number > usage->last_pid;
    usage->processes = 0;
}

void child_usage_end(struct child_usage *usage)
{
    forget_files(usage);
}

/* Processes and threads made since the last full scan, -1 if unknown. */
static int64_t made(const struct child_usage *usage)
{
    int64_t number = usage->has_last_pid ? child_proc_last_pid() : -1;

    return number > 0 && number >= usage->last_pid ? number - usage->last_pid : -1;
}

/* Sum over the known processes; -1 if one of them has ended. */
static int64_t memory_of_known(const struct child_usage *usage)
{
    int64_t sum = 0;

    for (int i = 0; i < usage->n_files; i++) {
        int64_t bytes = resident(usage->files[i]);
        if (bytes < 0)
            return -1;
        sum += bytes;
    }
    return sum;
}

enum child_limit child_usage_check(struct child_usage *usage, const struct child_limits *limits,
                                   pid_t ancestor)
{
    int64_t new = made(usage);
    bool may_be_many =
        limits->processes > 0 && (new < 0 || usage->processes + new > limits->processes);
    bool known = usage->scanned && new == 0 && usage->n_files <= CHILD_USAGE_FILES;

    if (may_be_many)
        return full_scan(usage, limits, ancestor);
    if (limits->memory <= 0)
        return CHILD_LIMIT_NONE;
    int64_t memory = known ? memory_of_known(usage) : -1;
    if (memory < 0)
        return full_scan(usage, limits, ancestor);
    usage->memory = memory;
    return memory > limits->memory ? CHILD_LIMIT_MEMORY : CHILD_LIMIT_NONE;
}
