/*
 * Child processes, supervised so that nothing is left behind.
 *
 * Each command runs under a small supervisor, which is made before it is needed
 * (net/child/child_nursery.h). It is a subreaper, has the parent-death signal set and holds one end
 * of a socket to us. The command gets a session of its own. When the command ends or is stopped, or
 * when we die in any way (kill -9 included), the supervisor ends all descendants of the command,
 * also those that called setsid(): with TERM, and after the grace period with KILL.
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

/* Every main() that spawns calls this first: it does not return in a supervisor. */
void child_main(int argc, char **argv);
/* Makes the first supervisor before it is needed; without it the first child_spawn() takes longer.
 */
void child_prepare(void);

/*
 * A command of the same user can kill its supervisor and leave processes behind. After this call
 * such orphans become our children, and are killed before done is called. The orphans that the
 * first process of a container is given are reaped as well. For a process that has one loop and no
 * other children than those of child_spawn().
 */
void child_adopt_orphans(struct loop *loop);
/* Whether the kernel says which processes a command has. If not, child_limits.processes and memory
 * are not enforced. */
bool child_can_watch(void);

struct child;

struct child_result {
    enum err err; /* ERR_OK: it ran; otherwise it could not be started (info says why) */
    const struct errinfo *info;
    int exit_status; /* 0..255; -1 when ended by a signal */
    int signal;      /* 0 when it exited */
    bool timed_out;  /* timeout_ms passed before the command itself had ended */
    bool stopped;    /* child_stop() was called */
    const char
        *over_limit; /* "memory" or "processes": more was used than child_limits lets; NULL */
    const char
        *output; /* stdout and stderr as they came, the first max_output bytes; NUL-terminated */
    size_t output_len;
    size_t output_total; /* bytes that came in all */
    int64_t elapsed_ms;
};
typedef void (*child_done_fn)(void *arg, const struct child_result *result);

/*
 * What a command and all its descendants may use. 0 is no limit. processes and memory are watched
 * (net/child/child_watch.h) and end everything at once when they are passed; the rest the kernel
 * holds.
 */
struct child_limits {
    int64_t memory;         /* bytes resident in all processes together */
    int64_t processes;      /* processes and threads together */
    int64_t user_processes; /* of the user in all (RLIMIT_NPROC): a bound on what can come between
                               two looks; the kernel does not hold root to it */
    int64_t cpu_s;          /* seconds of processor time of each process */
    int64_t files;          /* open files of each process */
    int64_t file_size;      /* bytes of each file written */
    int64_t nice;           /* added to our own niceness */
    int64_t uid, gid;       /* becomes this user and group (0: ours); needs root */
    int64_t group;          /* a further group of that user (0: none) */
    bool no_new_privileges; /* no set-user-id program gets more rights */
    bool filter;            /* no system call that only an administrator or an attacker needs
                               (net/child/child_filter.h); implies no_new_privileges */
    bool first_victim;      /* when memory runs out the kernel ends these processes first */
};

struct child_spec {
    const char *const *argv;           /* NULL-ended; argv[0] is looked up in PATH */
    const char *const *env;            /* NULL-ended "K=V"; NULL: ours */
    const char *cwd;                   /* NULL: ours */
    const struct child_limits *limits; /* NULL: none */
    int64_t timeout_ms;                /* 0: none */
    int64_t grace_ms;                  /* between TERM and KILL, 0: 5 s */
    size_t max_output;                 /* 0: 64 KiB; the rest is read and thrown away */
    bool inherit_output;               /* stdout and stderr are ours; nothing is captured */
    bool inherit_stderr; /* stderr is ours, only stdout is captured (a plugin that answers on
                            stdout) */
    /* Called with each piece of output as it comes; may be NULL. */
    void (*on_output)(void *arg, const char *data, size_t len);
};

/* Never fails at once: what goes wrong is reported through done. */
struct child *child_spawn(struct loop *loop, const struct child_spec *spec, child_done_fn done,
                          void *arg);
/* TERM to everything, KILL after the grace period; done follows. Idempotent. */
void child_stop(struct child *child);
/* The command's process id, 0 until it runs. */
int child_pid(const struct child *child);

#endif
