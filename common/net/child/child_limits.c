/* Limits of a command: those enforced by the kernel, its filter of system calls, and its usage,
 * which is counted by reading /proc. */
#define _GNU_SOURCE /* setgroups, CLONE_* */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child_internal.h"

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE

static const uint32_t denied[] = {
    SYS_acct,
    SYS_add_key,
    SYS_adjtimex,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fspick,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
    SYS_chroot,
    SYS_pidfd_getfd,
    SYS_nfsservctl,
};

enum {
    N_DENIED = sizeof(denied) / sizeof(denied[0]),
    X32_BIT = 0x40000000,
    HEAD = 11,
    TAIL = 3,
    NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                 CLONE_NEWPID | CLONE_NEWNET,
    TO_EPERM = N_DENIED + 1, /* from the end of the head */
};

/* The lower half of a call's first argument. */
#define ARGUMENT                                                                                   \
    (offsetof(struct seccomp_data, args) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))

int child_filter_apply(void)
{
    /*
     * Loads the machine type, and kills on any other one. Loads the call's number, and kills on
     * x32. clone3 gets ENOSYS, since a filter cannot see its arguments, and clone must not create a
     * namespace. Then one comparison per denied call, each jumping to one of the last two
     * instructions.
     */
    struct sock_filter program[HEAD + N_DENIED + TAIL] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, TO_EPERM + 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, TO_EPERM + 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    for (int i = 0; i < N_DENIED; i++)
        program[HEAD + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i],
                                                         (uint8_t)(N_DENIED - i), 0);
    program[HEAD + N_DENIED] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[HEAD + N_DENIED + 1] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    program[HEAD + N_DENIED + 2] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    struct sock_fprog filter = {.len = HEAD + N_DENIED + TAIL, .filter = program};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

#else

int child_filter_apply(void)
{
    errno = ENOSYS;
    return -1;
}

#endif

static int set_limit(__rlimit_resource_t resource, int64_t value)
{
    struct rlimit limit;

    if (value <= 0)
        return 0;
    if (getrlimit(resource, &limit) != 0)
        return -1;
    /* the hard limit can only be lowered */
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

/* Raising one's own score needs no privilege. */
static void raise_oom_score(void)
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
        raise_oom_score();
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

/* --- /proc: the processes of the machine, their descent, and the usage of descendants */

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
    /* a process whose first thread has ended looks like a zombie while other threads run */
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

/* Adds a process. Each thread lists the children it has created. Memory is read from the last
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

    /* If the number does not include our own child, it is unreliable, or has wrapped. */
    usage->has_last_pid = usage->last_pid > 0 && number >= command && number > usage->last_pid;
    usage->processes = 0;
}

void child_usage_end(struct child_usage *usage)
{
    forget_files(usage);
}

/* Number of processes and threads created since the last full scan, -1 if unknown. */
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
