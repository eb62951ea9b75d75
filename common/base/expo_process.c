#include "base/expo_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log_queue.h"

static void put(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s ", name, help, name, type, name);
    buf_real(out, value);
    buf_puts(out, "\n");
}

/* The beginning of a file of /proc; false when it cannot be read. */
static bool read_proc(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The number in front of which skip blanks stand. */
static double number_after(const char *text, int skip)
{
    for (; skip > 0 && text; skip--) {
        text = strchr(text, ' ');
        text = text ? text + 1 : NULL;
    }
    return text ? strtod(text, NULL) : 0;
}

static void put_memory(struct buf *out)
{
    char statm[128];
    if (read_proc("/proc/self/statm", statm, sizeof(statm)))
        put(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
            number_after(statm, 1) * (double)sysconf(_SC_PAGESIZE));
}

static void put_cpu(struct buf *out)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        put(out, "process_cpu_seconds_total", "counter",
            "Total user and system CPU time spent in seconds.",
            (double)used.tv_sec + (double)used.tv_nsec / 1e9);
}

static void put_descriptors(struct buf *out)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return;
    int count = -1; /* not this one */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    put(out, "process_open_fds", "gauge", "Number of open file descriptors.", count);
}

/* The second that the process began: ticks since boot, and when the machine booted. */
static void put_start(struct buf *out)
{
    char stat[1024], kernel[16384];
    if (!read_proc("/proc/self/stat", stat, sizeof(stat)) ||
        !read_proc("/proc/stat", kernel, sizeof(kernel)))
        return;
    const char *fields = strrchr(stat, ')'); /* behind the program's name, which may hold blanks */
    const char *boot = strstr(kernel, "btime ");
    if (fields && boot)
        put(out, "process_start_time_seconds", "gauge",
            "Start time of the process since unix epoch in seconds.",
            number_after(boot, 1) + number_after(fields, 20) / (double)sysconf(_SC_CLK_TCK));
}

static void put_log(struct buf *out)
{
    put(out, "process_log_dropped_lines_total", "counter",
        "Lines of the log that were dropped because nobody read it.", (double)log_queue_dropped());
}

void expo_process_write(struct buf *out)
{
    put_cpu(out);
    put_descriptors(out);
    put_memory(out);
    put_start(out);
    put_log(out);
}
