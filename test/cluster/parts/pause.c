/* The first process of every pod: it keeps the pod's namespaces, and collects what has no parent. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal)
{
    (void)signal;
    _exit(0);
}

static void collect(int signal)
{
    (void)signal;
    while (waitpid(-1, 0, WNOHANG) > 0) {
    }
}

int main(void)
{
    signal(SIGINT, end);
    signal(SIGTERM, end);
    signal(SIGCHLD, collect);
    for (;;)
        pause();
}
