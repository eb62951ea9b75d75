#include "crash/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

void process_follow_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

enum err process_start(const char *const *argv, const char *log, int *pid, struct errinfo *ei)
{
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(ei, ERR_DENIED, "%s: %s", log, strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        process_follow_parent();
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(fd);
    if (child < 0)
        return err_set(ei, ERR_DENIED, "cannot start %s: %s", argv[0], strerror(errno));
    *pid = child;
    return ERR_OK;
}

static int exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void process_kill(int pid)
{
    assert(pid > 1); /* 0 and below are whole groups of processes */
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

bool process_ended(int pid, int *status)
{
    int raw;
    if (waitpid(pid, &raw, WNOHANG) != pid)
        return false;
    *status = exit_status(raw);
    return true;
}

int process_end(int pid)
{
    enum { PATIENCE_MS = 10000, PAUSE_NS = 2 * 1000 * 1000 };
    int64_t until = clock_monotonic_ms() + PATIENCE_MS;
    int status;
    assert(pid > 1);
    kill(pid, SIGTERM);
    while (!process_ended(pid, &status)) {
        if (clock_monotonic_ms() > until) {
            process_kill(pid);
            return 128 + SIGKILL;
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return status;
}
