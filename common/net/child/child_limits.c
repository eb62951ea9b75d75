/* Limits of a command that the kernel enforces, and its filter of system calls. */
#define _GNU_SOURCE /* setgroups, CLONE_* */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
     * Loads the machine type, and kills on another one. Loads the call's number, and kills on x32.
     * clone3 gets ENOSYS, since a filter cannot see its arguments, and clone may make no namespace.
     * Then one comparison per denied call, each jumping to one of the last two instructions.
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

/* Raising the own score needs no privilege. */
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
