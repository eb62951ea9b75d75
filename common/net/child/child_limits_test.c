/* The text of limits, and their enforcement on real children. */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/child/child_internal.h"
#include "test/unit.h"

CASE(the_text_carries_everything)
{
    const struct child_limits limits = {.memory = INT64_MAX,
                                        .processes = 2,
                                        .user_processes = 3,
                                        .cpu_s = 4,
                                        .files = 5,
                                        .file_size = INT64_MAX,
                                        .nice = 7,
                                        .uid = 4294967294,
                                        .group = 10001,
                                        .gid = 9,
                                        .no_new_privileges = true,
                                        .filter = true,
                                        .first_victim = true};
    char text[CHILD_LIMITS_TEXT], retry[CHILD_LIMITS_TEXT];
    struct child_limits read;
    assert_true(child_limits_read(child_limits_text(&limits, text), &read));
    assert_string_equal(child_limits_text(&read, retry), text);
    assert_int_equal(read.memory, INT64_MAX);
    assert_int_equal(read.uid, 4294967294);
    assert_int_equal(read.group, 10001);
    assert_true(read.filter && read.first_victim && read.no_new_privileges);
    assert_true(child_limits_read(child_limits_text(NULL, text), &read));
    assert_int_equal(read.processes, 0);
}

CASE(other_texts_are_refused)
{
    static const char *const bad[] = {"",
                                      "1",
                                      "0,1,2,3,4,5,6,7,8",
                                      "0,1,2,3,4,5,6,7,8,9",
                                      "0,1,2,3,4,5,6,7,8,9,10,11",
                                      "0,1,2,3,4,5,6,7,8,9,x",
                                      "true"};
    struct child_limits read;
    EACH_ROW (row, bad)
        assert_false(child_limits_read(*row, &read));
}

struct run {
    const char *command;
    struct child_limits limits;
    const char *over; /* child_result.over_limit */
    int status;       /* exit status; -1 if ended by a signal */
    const char *output;
};

static struct child_result result;
static char output[256], why[64];

static void on_done(void *arg, const struct child_result *got)
{
    result = *got;
    snprintf(output, sizeof(output), "%s", got->output ? got->output : "");
    snprintf(why, sizeof(why), "%s", got->over_limit ? got->over_limit : "");
}

static void run(const struct run *run)
{
    struct loop *loop = loop_new(20000);
    const char *const argv[] = {"sh", "-c", run->command, NULL};
    struct child_spec spec = {
        .argv = argv, .limits = &run->limits, .timeout_ms = 20000, .grace_ms = 500};
    result = (struct child_result){.err = ERR_RETRY};
    (void)child_spawn(loop, &spec, on_done, NULL);
    assert_int_equal(loop_run(loop), 0);
    loop_free(loop);
    if (result.err != ERR_OK || strcmp(why, run->over ? run->over : "") != 0 ||
        result.exit_status != run->status || (run->output && strcmp(output, run->output) != 0))
        fail_msg("%s: err %s, over \"%s\", status %d, output \"%s\"", run->command,
                 err_name(result.err), why, result.exit_status, output);
}

CASE(children_are_held)
{
    static const struct run runs[] = {
        {"ulimit -n; ulimit -t", {.files = 77, .cpu_s = 5}, NULL, 0, "77\n5\n"},
        {"nice", {.nice = 3}, NULL, 0, NULL},
        {"head -c 5000 /dev/zero >/tmp/child_limits_test; status=$?; rm -f "
         "/tmp/child_limits_test; exit $status",
         {.file_size = 4096},
         NULL,
         153, /* 128 + SIGXFSZ */
         NULL},
        {"for i in 1 2 3 4 5 6; do sleep 30 & done; wait", {.processes = 5}, "processes", -1, NULL},
        {"sleep 0.3; exit 3", {.processes = 5, .memory = 1 << 30}, NULL, 3, NULL},
        /* ":" keeps the shell from executing sleep directly, whose memory is small */
        {"for i in 1 2 3 4; do (x=$(head -c 16000000 /dev/zero | tr '\\0' a); sleep 30; :) & "
         "done; wait",
         {.memory = 48 << 20},
         "memory",
         -1,
         NULL},
        {"cat /proc/self/oom_score_adj", {.first_victim = true}, NULL, 0, "1000\n"},
        {"sed -n 's/^NoNewPrivs:.//p' /proc/self/status",
         {.no_new_privileges = true},
         NULL,
         0,
         "1\n"},
        {"sed -n 's/^Seccomp:.//p' /proc/self/status", {.filter = true}, NULL, 0, "2\n"},
        {"unshare -U true 2>/dev/null", {.filter = true}, NULL, 1, ""},
    };
    EACH_ROW (row, runs)
        run(row);
}

static void *hog(void *arg)
{
    enum { SIZE = 64 << 20 };
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; memory != MAP_FAILED && i < SIZE; i += 4096)
        memory[i] = 1;
    sleep(30);
    return NULL;
}

/* Memory that RLIMIT_DATA does not count, of a process whose first thread has ended. */
static void be_headless_hog(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, hog, NULL) == 0)
        pthread_exit(NULL);
    _exit(1);
}

CASE(memory_behind_a_thread_that_ended_counts)
{
    static char command[4200];
    ssize_t len = readlink("/proc/self/exe", command, sizeof(command) - 20);
#ifdef __SANITIZE_ADDRESS__
    skip(); /* a sanitizer reserves more than the limit */
#endif
    assert_true(len > 0);
    memcpy(command + len, " --headless-hog", sizeof(" --headless-hog"));
    run(&(struct run){command, {.memory = 32 << 20}, "memory", -1, NULL});
}

CASE(root_becomes_somebody_else)
{
    static const struct run as_nobody = {
        "id -u; id -g; id -G", {.uid = 65534}, NULL, 0, "65534\n65534\n65534\n"};
    if (geteuid() != 0)
        skip();
    run(&as_nobody);
    static const struct run of_two_groups = {"id -u; id -g; id -G",
                                             {.uid = 65533, .group = 4242},
                                             NULL,
                                             0,
                                             "65533\n65533\n65533 4242\n"};
    run(&of_two_groups);
}

static void before_all(int argc, char **argv)
{
    child_main(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--headless-hog") == 0)
        be_headless_hog();
}

UNIT_FIRST(before_all)
