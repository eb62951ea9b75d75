#define _GNU_SOURCE /* pipe2, closefrom */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/child/child.h"
#include "net/loop_test.h"
#include "test/unit.h"

enum { DEADLINE_MS = 20000 };

struct outcome {
    int count;
    enum err err;
    char info[512];
    int exit_status;
    int signal;
    bool timed_out, stopped;
    char output[8192];
    size_t output_len, output_total;
    size_t pieces;
    struct child *child;
    int stop_when; /* stage at which on_output stops the child */
};

static void on_done(void *arg, const struct child_result *result)
{
    struct outcome *o = arg;
    o->count++;
    o->err = result->err;
    snprintf(o->info, sizeof(o->info), "%s", result->info->text);
    o->exit_status = result->exit_status;
    o->signal = result->signal;
    o->timed_out = result->timed_out;
    o->stopped = result->stopped;
    o->output_len = result->output_len;
    o->output_total = result->output_total;
    snprintf(o->output, sizeof(o->output), "%s", result->output);
    o->child = NULL;
}

static void count_output(void *arg, const char *data, size_t len)
{
    struct outcome *o = arg;
    o->pieces += len;
}

static void run_spec(const struct child_spec *spec, struct outcome *o)
{
    struct loop *loop = loop_new(10000);
    o->child = child_spawn(loop, spec, on_done, o);
    assert_int_equal(o->count, 0);
    LOOP_UNTIL(loop, o->count > 0);
    assert_int_equal(loop_run(loop), 0); /* nothing is left open */
    assert_int_equal(o->count, 1);
    loop_free(loop);
}

static void run_shell(const char *script, struct child_spec spec, struct outcome *o)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    spec.argv = argv;
    run_spec(&spec, o);
}

/* True if running and not a zombie. */
static bool is_alive(int pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    const char *end = strrchr(text, ')');
    return n > 0 && end && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

CASE(test_results)
{
    static const struct {
        const char *script;
        int exit_status, signal;
        const char *output;
    } cases[] = {
        {"exit 0", 0, 0, ""},
        {"echo out; echo err >&2; exit 3", 3, 0, "out\nerr\n"},
        {"exit 255", 255, 0, ""},
        {"kill -KILL $$", -1, SIGKILL, ""},
        {"kill -TERM $$", -1, SIGTERM, ""},
        {"kill -SEGV $$", -1, SIGSEGV, ""},
        {"read line; echo \"got:$line\"", 0, 0, "got:\n"}, /* no input */
        {"exec 3<&-; printf done", 0, 0, "done"},
    };
    EACH_ROW (row, cases) {
        struct outcome o = {0};
        run_shell(row->script, (struct child_spec){0}, &o);
        assert_int_equal(o.err, ERR_OK);
        assert_int_equal(o.exit_status, row->exit_status);
        assert_int_equal(o.signal, row->signal);
        assert_string_equal(o.output, row->output);
        assert_int_equal(o.output_total, strlen(row->output));
        assert_false(o.timed_out || o.stopped);
    }
}

CASE(test_cannot_start)
{
    static const char *const missing[] = {"no-such-command-here", NULL};
    static const char *const directory[] = {"/", NULL};
    static const char *const empty[] = {NULL};
    static const char *const fine[] = {"true", NULL};
    static const struct {
        const char *const *argv;
        const char *cwd;
        enum err err;
        const char *info;
    } cases[] = {
        {missing, NULL, ERR_NOT_FOUND,
         "cannot run \"no-such-command-here\": No such file or directory"},
        {directory, NULL, ERR_DENIED, "cannot run \"/\": Permission denied"},
        {empty, NULL, ERR_INVALID, "cannot start a process for \"\": Invalid argument"},
        {fine, "/no/such/place", ERR_NOT_FOUND,
         "cannot enter the working directory for \"true\": No such file or directory"},
    };
    EACH_ROW (row, cases) {
        struct outcome o = {0};
        run_spec(&(struct child_spec){.argv = row->argv, .cwd = row->cwd}, &o);
        assert_int_equal(o.err, row->err);
        assert_string_equal(o.info, row->info);
        assert_int_equal(o.exit_status, -1);
    }
}

CASE(test_surroundings)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", "COLOUR=blue", NULL};
    struct outcome o = {0};

    /* A descriptor that could leak, and a signal that we ignore, as the loop ignores SIGPIPE. */
    int leak = fcntl(STDERR_FILENO, F_DUPFD, 20);
    assert_true(leak >= 20);
    signal(SIGUSR1, SIG_IGN);
    run_shell("pwd; echo $COLOUR; ls /proc/self/fd | tr '\\n' ' '; echo; "
              "grep -E 'Sig(Blk|Ign)' /proc/self/status",
              (struct child_spec){.env = env, .cwd = "/usr"}, &o);
    signal(SIGUSR1, SIG_DFL);
    close(leak);
    /* ls itself has its directory open as 3. */
    assert_string_equal(o.output, "/usr\nblue\n0 1 2 3 \nSigBlk:\t0000000000000000\n"
                                  "SigIgn:\t0000000000000000\n");
}

CASE(test_capture_choices)
{
    struct outcome o = {0};

    run_shell("echo out; exec 2>/dev/null; echo err >&2",
              (struct child_spec){.inherit_stderr = true}, &o);
    assert_string_equal(o.output, "out\n");
    o = (struct outcome){0};
    run_shell("exit 4", (struct child_spec){.inherit_output = true}, &o);
    assert_int_equal(o.exit_status, 4);
    assert_string_equal(o.output, "");
}

CASE(test_endless_output)
{
    static const char *const yes[] = {"yes", NULL};
    struct outcome o = {0};

    run_spec(
        &(struct child_spec){
            .argv = yes, .timeout_ms = 1000, .max_output = 1000, .on_output = count_output},
        &o);
    assert_true(o.timed_out);
    assert_int_equal(o.signal, SIGTERM);
    assert_int_equal(o.output_len, 1000);
    assert_true(o.output_total > 1000);
    assert_int_equal(o.pieces, o.output_total);
}

static void stop_on_output(void *arg, const char *data, size_t len)
{
    struct outcome *o = arg;
    if (o->child)
        child_stop(o->child);
}

CASE(test_ignores_term)
{
    struct outcome o = {0};
    int64_t start = clock_monotonic_ms();

    run_shell("trap '' TERM; echo ready; while :; do sleep 0.05; done",
              (struct child_spec){.on_output = stop_on_output, .grace_ms = 200}, &o);
    assert_true(o.stopped);
    assert_int_equal(o.signal, SIGKILL);
    assert_string_equal(o.output, "ready\n");
    assert_true(clock_monotonic_ms() - start >= 200);
}

/* Reads n process ids, one per line. */
static void read_pids(const char *text, int *pids, int n)
{
    for (int i = 0; i < n; i++) {
        char *end;
        pids[i] = (int)strtol(text, &end, 10);
        assert_true(pids[i] > 1);
        text = end;
    }
}

CASE(test_leaves_nothing)
{
    static const struct {
        const char *script;
        int pids;
    } cases[] = {
        /* in the background, in the group */
        {"sleep 1000 & echo $!", 1},
        /* in a session of its own */
        {"setsid sleep 1000 & echo $!", 1},
        /* a daemon: double fork, session, ignores TERM, has closed its output */
        {"setsid sh -c 'trap \"\" TERM HUP; (sh -c \"echo \\$\\$; exec sleep 1000 >/dev/null "
         "2>&1\" &) ; "
         "echo $$; exec sleep 1000' & sleep 1",
         2},
        /* a chain of generations */
        {"sh -c 'sh -c \"setsid sh -c \\\"echo \\\\\\$\\\\\\$; sleep 1000; true\\\" & sleep 1\" "
         "& "
         "sleep 1' & sleep 1",
         1},
    };
    EACH_ROW (row, cases) {
        struct outcome o = {0};
        int pids[4];
        run_shell(row->script, (struct child_spec){.grace_ms = 300}, &o);
        assert_int_equal(o.err, ERR_OK);
        assert_int_equal(o.exit_status, 0);
        read_pids(o.output, pids, row->pids);
        for (int p = 0; p < row->pids; p++)
            assert_false(is_alive(pids[p]));
    }
}

/* A stopped process is continued, so that it ends on TERM without waiting for the grace period. */
CASE(test_stopped_descendant)
{
    struct outcome o = {0};
    int pids[1];
    int64_t start = clock_monotonic_ms();

    run_shell("setsid sleep 1000 & echo $!; kill -STOP $!", (struct child_spec){.grace_ms = 15000},
              &o);
    assert_int_equal(o.exit_status, 0);
    read_pids(o.output, pids, 1);
    assert_false(is_alive(pids[0]));
    assert_true(clock_monotonic_ms() - start < 10000);
}

CASE(test_stop_at_each_stage)
{
    const char *argv[] = {"sh", "-c", "echo $$; sleep 1000", NULL};
    for (int stage = 0; stage < 4; stage++) {
        struct loop *loop = loop_new(10000);
        struct outcome o = {0};
        struct child_spec spec = {.argv = argv, .grace_ms = 300};
        if (stage == 3)
            spec.on_output = stop_on_output;
        o.child = child_spawn(loop, &spec, on_done, &o);
        struct child *child = o.child;
        if (stage == 1)
            uv_run(loop_uv(loop), UV_RUN_NOWAIT);
        if (stage == 2)
            LOOP_UNTIL(loop, child_pid(child) > 0);
        if (stage < 3) {
            child_stop(child);
            child_stop(child); /* idempotent */
        }
        assert_int_equal(o.count, 0);
        LOOP_UNTIL(loop, o.count > 0);
        assert_int_equal(o.err, ERR_OK);
        assert_true(o.stopped);
        assert_int_equal(o.signal, SIGTERM);
        assert_int_equal(loop_run(loop), 0);
        assert_int_equal(o.count, 1);
        loop_free(loop);
    }
}

static int parent_of(int pid)
{
    char path[64], text[256] = "", name;
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    assert_true(n > 0);
    assert_int_equal(sscanf(strrchr(text, ')') + 1, " %c %d", &name, &parent), 2);
    return parent;
}

CASE(test_supervisor_killed)
{
    const char *argv[] = {"sleep", "1000", NULL};
    struct loop *loop = loop_new(10000);
    struct outcome o = {0};

    struct child *child = child_spawn(loop, &(struct child_spec){.argv = argv}, on_done, &o);
    LOOP_UNTIL(loop, child_pid(child) > 0);
    int pid = child_pid(child);
    kill(parent_of(pid), SIGKILL);
    LOOP_UNTIL(loop, o.count > 0);
    assert_int_equal(o.err, ERR_RETRY);
    assert_string_equal(o.info, "\"sleep\": its supervisor was killed");
    loop_run(loop);
    loop_free(loop);
    for (int64_t end = clock_monotonic_ms() + DEADLINE_MS; is_alive(pid);) {
        assert_true(clock_monotonic_ms() < end);
        usleep(1000);
    }
}

/* Runs in a process of its own: spawns, writes the ids to fd and runs until killed. */
static void doomed_parent(int fd)
{
    const char *argv[] = {
        "sh", "-c",
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; true' & "
        "echo $$; sleep 1000; true",
        NULL};
    struct loop *loop = loop_new(10000);
    struct outcome o = {0};

    dup2(fd, STDOUT_FILENO);
    child_spawn(loop, &(struct child_spec){.argv = argv, .grace_ms = 200, .inherit_output = true},
                on_done, &o);
    loop_run(loop);
    _exit(9);
}

CASE(test_killed_parent_leaves_nothing)
{
    int fds[2];
    char text[128] = "";
    size_t len = 0;
    int pids[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t parent = fork();
    if (parent == 0)
        doomed_parent(fds[1]);
    close(fds[1]);
    while (len < sizeof(text) - 1 &&
           (!strchr(text, '\n') || strchr(text, '\n') == strrchr(text, '\n'))) {
        ssize_t n = read(fds[0], text + len, sizeof(text) - 1 - len);
        assert_true(n > 0);
        len += (size_t)n;
    }
    read_pids(text, pids, 2);
    assert_true(is_alive(pids[0]) && is_alive(pids[1]));
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int64_t end = clock_monotonic_ms() + DEADLINE_MS;
         is_alive(pids[0]) || is_alive(pids[1]);) {
        assert_true(clock_monotonic_ms() < end);
        usleep(1000);
    }
    close(fds[0]);
}

CASE(test_many)
{
    enum { COUNT = 20 };
    const char *argv[] = {"sh", "-c", "echo hello; exit 5", NULL};
    struct loop *loop = loop_new(10000);
    struct outcome o[COUNT] = {0};

    for (int i = 0; i < COUNT; i++)
        child_spawn(loop, &(struct child_spec){.argv = argv}, on_done, &o[i]);
    assert_int_equal(loop_run(loop), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(o[i].count, 1);
        assert_int_equal(o[i].exit_status, 5);
        assert_string_equal(o[i].output, "hello\n");
    }
    loop_free(loop);
}

/* A command may stop its supervisor again and again. */
CASE(test_stopped_supervisor)
{
    struct outcome o = {0};
    run_shell("kill -STOP $PPID; sleep 30", (struct child_spec){.timeout_ms = 200, .grace_ms = 200},
              &o);
    assert_int_equal(o.err, ERR_OK);
    assert_true(o.timed_out);
    o = (struct outcome){0};
    run_shell("while :; do kill -STOP $PPID; done",
              (struct child_spec){.timeout_ms = 200, .grace_ms = 1}, &o);
    assert_true(o.timed_out);
}

/* Processes left behind by a command get the grace period, which does not count as the command's
 * time. */
CASE(test_time_ends_with_the_command)
{
    struct outcome o = {0};
    run_shell("( (trap '' TERM; echo ready; exec sleep 60) & ) | (read ready; exit 7)",
              (struct child_spec){.timeout_ms = 4000, .grace_ms = 4500}, &o);
    assert_int_equal(o.err, ERR_OK);
    assert_int_equal(o.exit_status, 7);
    assert_false(o.timed_out);
    /* they cannot keep the supervisor from ending either */
    o = (struct outcome){0};
    run_shell("p=$PPID; ( (trap 'while kill -STOP $p; do :; done' TERM; echo ready;"
              "            while :; do sleep 1; done) & ) | (read ready; exit 7)",
              (struct child_spec){.timeout_ms = 60000, .grace_ms = 500}, &o);
    assert_int_equal(o.exit_status, 7);
    assert_false(o.timed_out);
}

static void *count_for_ever(void *arg)
{
    for (;;)
        usleep(1000);
    return NULL;
}

/* A program whose first thread ends: the process looks like a zombie, but runs on. */
static void be_headless(void)
{
    pthread_t thread;
    signal(SIGTERM, SIG_IGN);
    dprintf(STDOUT_FILENO, "%d\n", (int)getpid());
    if (pthread_create(&thread, NULL, count_for_ever, NULL) == 0)
        pthread_exit(NULL);
    _exit(1);
}

CASE(test_headless_process)
{
    struct outcome o = {0};
    char self[1024] = "", command[4096];
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    /* in the command's own group, and in a session of its own; it ends when both have begun */
    snprintf(command, sizeof(command),
             "(setsid %s --headless & %s --headless &) | (read a; read b; echo $a $b)", self, self);
    int64_t begin = clock_monotonic_ms();
    run_shell(command, (struct child_spec){.grace_ms = 100}, &o);
    assert_int_equal(o.exit_status, 0);
    assert_true(clock_monotonic_ms() - begin < 9000);
    char *rest = o.output;
    for (int i = 0; i < 2; i++) {
        long pid = strtol(rest, &rest, 10);
        assert_true(pid > 0);
        assert_int_equal(kill((pid_t)pid, 0), -1);
    }
}

/* Last, since it affects the whole process. */
CASE(test_orphans_of_a_killed_supervisor)
{
    static const char *const bystander[] = {"sh", "-c", "sleep 0.5; exit 5", NULL};
    static const char *const rebel[] = {"sh", "-c",
                                        "setsid sleep 71.828 & (sleep 71.828 & sleep 71.828) & "
                                        "sleep 0.1; kill -KILL $PPID; sleep 30",
                                        NULL};
    struct outcome other = {0}, o = {0};
    struct loop *loop = loop_new(10000);

    child_adopt_orphans(loop);
    struct child_spec spec = {.argv = bystander};
    other.child = child_spawn(loop, &spec, on_done, &other);
    spec.argv = rebel;
    o.child = child_spawn(loop, &spec, on_done, &o);
    LOOP_UNTIL(loop, o.count > 0);
    assert_int_equal(o.err, ERR_RETRY);
    assert_int_equal(other.count, 0);
    LOOP_UNTIL(loop, other.count > 0);
    assert_int_equal(other.exit_status, 5);
    assert_int_equal(loop_run(loop), 0);
    loop_free(loop);
    assert_int_equal(waitpid(-1, NULL, WNOHANG),
                     0); /* no zombie is left, and the next supervisor is ready */
    o = (struct outcome){0};
    run_shell("pgrep -f '^sleep 71[.]828'", (struct child_spec){0}, &o);
    assert_string_equal(o.output, "");
}

static void before_all(int argc, char **argv)
{
    child_main(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--headless") == 0)
        be_headless();
}

UNIT_FIRST(before_all)
