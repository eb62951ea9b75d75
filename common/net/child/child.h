/*
 * Child processes, supervised so that nothing is left behind.
 *
 * Each command runs under a small pre-forked supervisor (net/child/child.c). It is a subreaper, has
 * the parent-death signal set and holds one end of a socket to us. The command gets a process group
 * of its own. When the command ends or is stopped, or when we die in any way (including kill -9),
 * the supervisor ends all descendants of the command, even those that called setsid(): with TERM,
 * and after the grace period with KILL.
 *
 * done is called exactly once, when the command has ended, all its descendants are gone and its
 * output was read to the end (or cut off after the grace period), and never before child_spawn()
 * has returned.
 */
#ifndef NET_CHILD_H
#define NET_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"

#define CHILD_SUPERVISOR "--supervise-child"

/* Must be the first call of every main() that spawns; does not return in a supervisor. */
void child_main(int argc, char **argv);
/* Makes supervisors in advance; without it the first child_spawn() takes longer. */
void child_prepare(void);

/*
 * A command of the same user can kill its supervisor and leave processes behind. After this call
 * such orphans become our children, and are killed before done is called. Orphans that the first
 * process of a container inherits are reaped as well. For a process with one loop and no children
 * other than those of child_spawn().
 */
void child_adopt_orphans(struct loop *loop);
/* Returns false if the kernel does not list the children of a process: child_limits.processes and
 * memory are then not enforced. */
bool child_can_watch(void);

struct child;

struct child_result {
    enum err err; /* ERR_OK if it ran; otherwise it could not be started, see info */
    const struct errinfo *info;
    int exit_status;        /* 0..255; -1 if ended by a signal */
    int signal;             /* 0 if it exited */
    bool timed_out;         /* timeout_ms passed before the command itself had ended */
    bool stopped;           /* child_stop() was called */
    const char *over_limit; /* "memory" or "processes" if that limit was exceeded, else NULL */
    const char *output;     /* the first max_output bytes of stdout and stderr; NUL-terminated */
    size_t output_len;
    size_t output_total; /* total bytes of output */
    int64_t elapsed_ms;
};
typedef void (*child_done_fn)(void *arg, const struct child_result *result);

/*
 * Limits of a command and all its descendants; 0 is no limit. processes and memory are checked by
 * the supervisor, which ends everything at once when they are exceeded; the kernel enforces the
 * rest.
 */
struct child_limits {
    int64_t memory;         /* resident bytes of all processes together */
    int64_t processes;      /* processes and threads together */
    int64_t user_processes; /* of the user in total (RLIMIT_NPROC): a bound between two checks;
                             * not enforced for root */
    int64_t cpu_s;          /* seconds of processor time per process */
    int64_t files;          /* open files per process */
    int64_t file_size;      /* bytes per written file */
    int64_t nice;           /* added to our own niceness */
    int64_t uid, gid;       /* runs as this user and group (0: ours); needs root */
    int64_t group;          /* supplementary group of that user (0 if none) */
    bool no_new_privileges; /* set-user-id programs gain no privileges */
    bool filter;            /* denies system calls that only administrators or attackers need;
                             * implies no_new_privileges */
    bool first_victim;      /* the OOM killer kills these processes first */
};

/* Switches this process permanently to the user and groups of the limits; uid 0 changes nothing.
 * Returns 0, or -1 with errno. */
int child_limits_become(const struct child_limits *limits);

struct child_spec {
    const char *const *argv;           /* NULL-ended; argv[0] is looked up in PATH */
    const char *const *env;            /* NULL-ended "K=V"; NULL: ours */
    const char *cwd;                   /* NULL: ours */
    const struct child_limits *limits; /* NULL if none */
    int64_t timeout_ms;                /* 0 if none */
    int64_t grace_ms;                  /* time between TERM and KILL, 0: 5 s */
    size_t max_output;                 /* 0: 64 KiB; the rest is read and discarded */
    bool inherit_output;               /* stdout and stderr are ours; nothing is captured */
    bool inherit_stderr;               /* stderr is ours, only stdout is captured (for plugins) */
    /* Called with each piece of output as it arrives; may be NULL. */
    void (*on_output)(void *arg, const char *data, size_t len);
};

/* Never fails immediately: errors are reported through done. */
struct child *child_spawn(struct loop *loop, const struct child_spec *spec, child_done_fn done,
                          void *arg);
/* Sends TERM to everything, KILL after the grace period; done follows. Idempotent. */
void child_stop(struct child *child);
/* The command's process id, 0 until it runs. */
int child_pid(const struct child *child);

#endif
