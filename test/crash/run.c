#include "crash/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "crash/process.h"

enum { RESULT_MAX = 64 * 1024 * 1024, JOBS_MAX = 64 };

static const char *const files[] = {"result", "controller.log", "kubeconfig", "token"};

/* The new process: one world, its result in a file. */
static void live(const struct run *run)
{
    struct arena *arena = arena_new();
    struct errinfo ei;

    process_follow_parent();
    (void)!log_set_level("error");
    const char *text = json_text(arena, world_run(arena, &run->options));
    const char *path = arena_printf(arena, "%s/result", run->options.directory);
    _exit(file_write(path, text, strlen(text), 0600, &ei) == ERR_OK ? 0 : 1);
}

static int start(const struct run *run)
{
    fflush(NULL);
    int pid = fork();
    if (pid == 0)
        live(run);
    if (pid < 0) {
        fprintf(stderr, "cannot start a process: %s\n", strerror(errno));
        exit(2);
    }
    return pid;
}

static struct json_object *failed(struct arena *arena, const char *trouble)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    json_set_str(out, "trouble", trouble);
    return out;
}

static struct json_object *collect(struct arena *arena, const struct run *run, int status)
{
    struct json_object *out = NULL;
    struct errinfo ei;
    char *text;
    size_t len;
    const char *path = arena_printf(arena, "%s/result", run->options.directory);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return failed(arena, arena_printf(arena, "the process of the cluster ended with 0x%x",
                                          (unsigned)status));
    if (file_read(arena, path, RESULT_MAX, &text, &len, &ei) != ERR_OK ||
        json_parse(arena, text, len, RESULT_MAX, &out, &ei) != ERR_OK)
        return failed(arena, arena_printf(arena, "the result cannot be read: %s", ei.text));
    return out;
}

void run_forget(struct arena *arena, const struct run *run)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        unlink(arena_printf(arena, "%s/%s", run->options.directory, files[i]));
    rmdir(run->options.directory);
}

static const char *make_directory(struct arena *arena, const char *directory)
{
    char *name = arena_printf(arena, "%s/run-XXXXXX", directory);

    if (!mkdtemp(name)) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        exit(2);
    }
    return name;
}

void run_all(struct arena *arena, struct run *runs, size_t count, int jobs, const char *directory,
             void (*done)(void *arg, const struct run *run), void *arg)
{
    struct {
        int pid;
        struct run *run;
    } slots[JOBS_MAX] = {0};
    size_t next = 0, ended = 0;

    jobs = jobs < JOBS_MAX ? jobs : JOBS_MAX;
    while (ended < count) {
        for (int i = 0; i < jobs && next < count; i++) {
            if (slots[i].pid > 0)
                continue;
            slots[i].run = &runs[next++];
            slots[i].run->options.directory = make_directory(arena, directory);
            slots[i].pid = start(slots[i].run);
        }
        int status, pid = waitpid(-1, &status, 0);
        for (int i = 0; i < jobs; i++) {
            if (slots[i].pid != pid || pid <= 0)
                continue;
            struct run *run = slots[i].run;
            run->result = collect(arena, run, status);
            if (!json_str_at(run->result, "trouble", NULL))
                run_forget(arena, run);
            slots[i].pid = 0;
            ended++;
            done(arg, run);
        }
        if (pid < 0 && errno != EINTR) {
            fprintf(stderr, "the runs are lost: %s\n", strerror(errno));
            exit(2);
        }
    }
}
