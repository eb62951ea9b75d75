#define _GNU_SOURCE /* O_CLOEXEC */
#include "net/child/child_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* "pid (name) S ppid ...": the name may hold anything, so the last parenthesis counts. */
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
    /* a process whose first thread has ended looks like one while the others run */
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

struct child_process *child_tree_list(size_t *count)
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

void child_tree_mark(struct child_process *list, size_t count, pid_t root)
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

int child_tree_kill(const pid_t *keep, size_t n_keep, bool (*is_kept)(pid_t pid))
{
    size_t count;
    int alive = 0;
    struct child_process *list = child_tree_list(&count);

    if (count > 0)
        keep_some(list, count, keep, n_keep, is_kept);
    child_tree_mark(list, count, getpid());
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
