/*
 * Private to the supervision of child processes. Two programs share it: the daemon (child.c) and
 * flagger-child (child_supervisor.c, child_limits.c), which is embedded in the daemon. If none is
 * embedded, the daemon executes itself and plays both roles.
 */
#ifndef NET_CHILD_INTERNAL_H
#define NET_CHILD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/arena.h"
#include "net/child/child.h"

/*
 * child.c: the registry of children with a live supervisor. They are not orphans, and each is told
 * to count its processes when there may be too many. Embedded in struct child.
 */
struct child_entry {
    struct child_entry *next, *prev;
    pid_t supervisor;           /* 0 until it has sent its process id, and after it has ended */
    int64_t forks_until_check;  /* on the whole machine; 0: never check */
    int64_t last_pid;           /* child_proc_last_pid() at the last check */
    void (*check)(void *child); /* asks the supervisor to count */
    void *child;
};

void child_registry_add(struct loop *loop, struct child_entry *entry);
/* Must be called at most once, after child_registry_add(). */
void child_registry_remove(struct child_entry *entry);
/* Must be called when a supervisor was reaped: its process id may be reused. */
void child_registry_reaped(pid_t supervisor);
/* Kills all descendants except supervisors and their descendants; returns the number that were
 * alive. */
int child_registry_kill_orphans(void);

/*
 * child.c: pre-forked supervisors. Executing this program costs several times as much as most
 * commands, so a small one is embedded and executed once: the spawn server, which forks supervisors
 * and keeps some of them waiting at a common socket for the next command. A supervisor whose
 * command ends soon returns to that socket, and no longer holds anything of that command; if the
 * command takes longer, or others wait, the spawn server makes another supervisor. It clones them
 * with its own parent as theirs, so they are children of the daemon.
 *
 * The spawn server has no secrets: it is executed with an empty environment and reads no command.
 * If it is killed, the next command starts a new one. It ends with the daemon.
 */

/* Starts the spawn server if there is none. Returns 0 or an errno. */
int spawn_server_start(void);
/* Sends a supervisor its socket and the command's stdout and stderr; all three remain the caller's.
 * Returns 0 or an errno; EAGAIN if too many commands wait. */
int spawn_server_send(int socket, int out, int err);
/* The process id of the spawn server, 0 if there is none. */
pid_t spawn_server_pid(void);
/* Returns true for a process that runs the program of supervisors. */
bool spawn_server_owns(pid_t pid);
/* Must be called for every reaped child: it may have been the spawn server. */
void spawn_server_reaped(pid_t pid);
/* Ends the spawn server, waiting supervisors and commands not begun; supervisors at work stay. */
void spawn_server_end(void);

/*
 * child_supervisor.c: the command for a supervisor, as one text of at most SPAWN_REQUEST_MAX bytes,
 * and the message that passes its descriptors.
 */
enum { SPAWN_REQUEST_MAX = 16 * 1024 * 1024, CHILD_LIMITS_TEXT = 256 };
enum { SPAWN_SOCKET = 3, SPAWN_FDS = 3 };

struct spawn_request {
    int64_t grace_ms;
    const char *cwd; /* "" for the supervisor's own */
    struct child_limits limits;
    char **argv, **env; /* NULL-ended */
    char *text;         /* holds all of these texts */
    size_t text_len;
};

/* Owned by the arena; begins with its length. NULL if too long. The environment is ours if the spec
 * has none. */
const char *spawn_request_text(struct arena *arena, const struct child_spec *spec, int64_t grace_ms,
                               size_t *len);
/* Waits for a request on a blocking socket. Returns false at the end of the socket, or if the
 * text is invalid; memory is then not freed before the process ends. */
bool spawn_request_receive(int fd, struct spawn_request *out);
/* Also clears the memory: the environment may contain passwords. */
void spawn_request_fini(struct spawn_request *request);
/* The limits as one field of the text; limits may be NULL. Returns text. */
char *child_limits_text(const struct child_limits *limits, char text[CHILD_LIMITS_TEXT]);
/* Returns false if the text was not made by child_limits_text(). */
bool child_limits_read(const char *text, struct child_limits *out);

/* A message with the three descriptors of a command. */
struct fd_message {
    struct msghdr msg;
    struct iovec iov;
    char byte;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(SPAWN_FDS * sizeof(int))];
};

void fd_message_init(struct fd_message *message);

/*
 * Messages between a daemon and the supervisor of a command.
 *
 * The daemon sends a spawn request, then SUPERVISOR_CHECK (processes were made: count them). If its
 * side of the socket closes, also by its death, everything must end. The supervisor sends PID
 * (value: its process id), then exactly one of CHDIR_FAILED, EXEC_FAILED, FORK_FAILED,
 * LIMITS_FAILED (value: errno) or STARTED (value: process id of the command). STARTED is followed
 * by at most one OVER_LIMIT (value: enum child_limit), at most one EXITED (the command has ended;
 * the processes it left behind have the grace period), at most one LEFT (value: number of processes
 * that could not be killed) or REUSED (the supervisor does not end with the socket, but takes
 * another command), and one ENDED (value: the status of waitpid).
 */
enum supervisor_kind {
    SUPERVISOR_CHECK = 1,
    SUPERVISOR_PID,
    SUPERVISOR_FORK_FAILED,
    SUPERVISOR_CHDIR_FAILED,
    SUPERVISOR_EXEC_FAILED,
    SUPERVISOR_STARTED,
    SUPERVISOR_LIMITS_FAILED,
    SUPERVISOR_OVER_LIMIT,
    SUPERVISOR_EXITED,
    SUPERVISOR_LEFT,
    SUPERVISOR_REUSED,
    SUPERVISOR_ENDED,
};

struct supervisor_msg {
    int32_t kind;
    int32_t value;
};

/*
 * child_limits.c: limits that the kernel enforces.
 *
 * child_limits_apply() is the last call in the forked child before the command is executed. Returns
 * 0, or -1 with errno; after that nothing may be executed.
 */
int child_limits_apply(const struct child_limits *limits);
/*
 * Denies system calls that no load test needs, with EPERM: those of administrators (mounts,
 * modules, clocks, kexec), of debuggers (ptrace, memory of other processes) and those used to
 * escape from containers (namespaces, keyrings, bpf, io_uring, userfaultfd). Programs of another
 * machine type or of the x32 ABI are killed. For this process and its descendants; needs
 * no_new_privs. Returns 0, or -1 with errno (ENOSYS: there is no filter for this machine type).
 */
int child_filter_apply(void);

/*
 * Processes of the machine, from /proc, and what the descendants of a supervisor use
 * together. Heap memory; an allocation failure must not end the process here.
 */
struct child_process {
    pid_t pid;
    pid_t parent;
    bool zombie;
    bool kept; /* set by the caller: neither it nor its descendants are marked */
    bool ours; /* set by child_proc_mark() */
};

/* Sorted by pid; the caller frees it. NULL with count 0 on failure. */
struct child_process *child_proc_list(size_t *count);
/* Marks the descendants of `root`. */
void child_proc_mark(struct child_process *list, size_t count, pid_t root);
/*
 * Sends SIGKILL to every descendant of this process, and reaps its zombies, except `keep`, children
 * for which is_kept() returns true, and their descendants. Returns the number that were still
 * alive.
 */
int child_proc_kill(const pid_t *keep, size_t n_keep, bool (*is_kept)(pid_t pid));
/* The number that the kernel last assigned to a process or thread in our view, -1 if unknown. */
int64_t child_proc_last_pid(void);

/*
 * Usage, for the limits that the kernel does not enforce. A full scan costs about ten system calls
 * per process, so it is made only when needed. The kernel numbers processes and threads
 * consecutively: while fewer were created on the whole machine than a command may still create, it
 * cannot exceed the limit. If that number is unknown (a virtual /proc), every check is a full scan.
 */
enum child_limit { CHILD_LIMIT_NONE, CHILD_LIMIT_MEMORY, CHILD_LIMIT_PROCESSES };
enum { CHILD_USAGE_FILES = 16 };

struct child_usage {
    int64_t memory, processes; /* at the last full scan; memory also at quick checks */
    int64_t last_pid;          /* before the last full scan */
    bool has_last_pid;         /* the kernel reports it */
    bool scanned;
    int files[CHILD_USAGE_FILES]; /* statm files of processes, to read their memory again */
    int n_files;                  /* CHILD_USAGE_FILES + 1 if there were too many */
};

/* Returns true if a limit is set that is not enforced by the kernel. */
bool child_usage_needed(const struct child_limits *limits);
/* Full scans need /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN). */
bool child_usage_supported(void);
/* begin must be called before the command is started, started after it; end closes the files. */
void child_usage_begin(struct child_usage *usage);
void child_usage_started(struct child_usage *usage, pid_t command);
void child_usage_end(struct child_usage *usage);
/* Returns the limit that the descendants of `ancestor` exceed now. */
enum child_limit child_usage_check(struct child_usage *usage, const struct child_limits *limits,
                                   pid_t ancestor);

#endif
