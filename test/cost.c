/* The processor time of a test: cost FILE COMMAND [ARGUMENT...] runs the command and writes a line into FILE:
 *
 *     processor-seconds seconds peak-MiB
 *
 * of the command and all its descendants, those that have become daemons included. Descendants that still run five seconds after
 * the command has ended are named, killed, and fail the test. Exits as the command did, 99 where something was left running. */
#define _GNU_SOURCE /* wait4, asprintf */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEFT_SECONDS = 5, LEFT_RUNNING = 99, POLL_MS = 20 };

static double processor;
static long peak_kib;
static volatile sig_atomic_t command;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pass_on(int number)
{
    if (command > 0)
        kill(command, number);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Reaps one descendant; the process, 0 with WNOHANG while all run, -1 without any. */
static pid_t reap(int *status, int options)
{
    struct rusage usage;
    pid_t pid;

    do {
        pid = wait4(-1, status, options, &usage);
    } while (pid < 0 && errno == EINTR);
    if (pid > 0) {
        processor += seconds(usage.ru_utime) + seconds(usage.ru_stime);
        if (usage.ru_maxrss > peak_kib)
            peak_kib = usage.ru_maxrss;
    }
    return pid;
}

/* The parent of a process, from /proc/PID/stat (proc_pid_stat(5)); 0: the process is gone or a zombie. */
static pid_t parent_of(const char *pid)
{
    char path[64], text[512] = "";
    char state;
    FILE *in;
    const char *end;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    in = fopen(path, "r");
    if (!in)
        return 0;
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    fclose(in);
    end = strrchr(text, ')'); /* the name before it may hold anything */
    if (!end || sscanf(end + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
        return 0;
    return parent;
}

static void name_and_kill(const char *pid)
{
    char path[64], text[240] = "";
    FILE *in;
    size_t i, len = 0;

    snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
    in = fopen(path, "r");
    if (in) {
        len = fread(text, 1, sizeof(text) - 1, in);
        fclose(in);
    }
    for (i = 0; i + 1 < len; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    fprintf(stderr, "left running: %s (process %s)\n", text, pid);
    kill((pid_t)strtol(pid, NULL, 10), SIGKILL);
}

/* Descendants whose parents have ended are children of this process (PR_SET_CHILD_SUBREAPER): children come first, and theirs
 * become children in turn. */
static bool kill_children(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    bool some = false;

    if (!proc)
        return false;
    while ((entry = readdir(proc)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            parent_of(entry->d_name) == getpid()) {
            name_and_kill(entry->d_name);
            some = true;
        }
    closedir(proc);
    return some;
}

/* Waits for what the command has left; true if something had to be killed. */
static bool reap_rest(void)
{
    double deadline = now() + LEFT_SECONDS;
    bool killed = false;
    pid_t pid;
    int status;

    while ((pid = reap(&status, WNOHANG)) >= 0) {
        if (pid > 0)
            continue;
        if (now() > deadline)
            killed = kill_children() || killed;
        usleep(POLL_MS * 1000);
    }
    return killed;
}

int main(int argc, char **argv)
{
    double begin = now();
    bool left;
    FILE *out;
    pid_t pid;
    int status, ended;

    if (argc < 3) {
        fprintf(stderr, "usage: %s FILE COMMAND [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        perror("prctl");
        return 2;
    }
    pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (pid < 0) {
        perror("fork");
        return 2;
    }
    command = pid;
    signal(SIGTERM, pass_on);
    signal(SIGINT, pass_on);
    do {
        ended = reap(&status, 0);
    } while (ended > 0 && ended != pid);
    command = 0;
    left = reap_rest();
    out = fopen(argv[1], "w");
    if (!out || fprintf(out, "%.2f %.2f %ld\n", processor, now() - begin, peak_kib / 1024) < 0 ||
        fclose(out) != 0) {
        perror(argv[1]);
        return 2;
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status) == 0 && left ? LEFT_RUNNING : WEXITSTATUS(status);
}
