#define _GNU_SOURCE /* pipe2 */
#include "net/child_limits.h"
#include "net/child_supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child.h"

static char program[4096]; /* this one; not /proc/self/exe, which under valgrind is another */

/* Runs this program again as a supervisor, with `ours` as the other end of its socket. */
static pid_t start(char *const *args, int theirs, int ours, int output)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    close(ours);
    if (theirs >= 0 && theirs != CHILD_SOCKET)
        dup2(theirs, CHILD_SOCKET);
    if (theirs < 0)
        close(CHILD_SOCKET);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(program, args);
    _exit(99);
}

/* All that was said until the socket's end, as kinds in order. */
static int listen_all(int fd, struct supervisor_msg *msgs, int room)
{
    int count = 0;
    while (count < room &&
           recv(fd, &msgs[count], sizeof(msgs[0]), MSG_WAITALL) == (ssize_t)sizeof(msgs[0]))
        count++;
    return count;
}

static void test_what_it_says(void **state)
{
    static const struct {
        const char *command[3];
        const char *cwd;
        int kinds[2], count, status;
    } cases[] = {
        {{"true"}, "", {SUPERVISOR_STARTED, SUPERVISOR_ENDED}, 2, 0},
        {{"sh", "-c", "exit 9"}, "/", {SUPERVISOR_STARTED, SUPERVISOR_ENDED}, 2, 9 << 8},
        {{"sh", "-c", "kill -9 $$"}, "", {SUPERVISOR_STARTED, SUPERVISOR_ENDED}, 2, 9},
        {{"/no/such/file"}, "", {SUPERVISOR_EXEC_FAILED}, 1, ENOENT},
        {{"true"}, "/no/such/dir", {SUPERVISOR_CHDIR_FAILED}, 1, ENOENT},
    };

    char none[CHILD_LIMITS_TEXT];

    (void)state;
    child_limits_text(NULL, none);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int pair[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct supervisor_msg msgs[4];
        char *args[9] = {"test", CHILD_SUPERVISOR, "200", (char *)(uintptr_t)cases[i].cwd, none};
        for (int a = 0; a < 3; a++)
            args[5 + a] = (char *)(uintptr_t)cases[i].command[a];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        pid_t pid = start(args, pair[1], pair[0], null);
        close(pair[1]);
        assert_int_equal(listen_all(pair[0], msgs, 4), cases[i].count);
        for (int m = 0; m < cases[i].count; m++)
            assert_int_equal(msgs[m].kind, cases[i].kinds[m]);
        assert_int_equal(msgs[cases[i].count - 1].value, cases[i].status);
        waitpid(pid, NULL, 0);
        close(pair[0]);
        close(null);
    }
}

/* A silent other side and an early end of it are the same thing: nothing may go on. */
static void test_deserted_from_the_start(void **state)
{
    int pair[2], null = open("/dev/null", O_RDWR | O_CLOEXEC), status;
    char none[CHILD_LIMITS_TEXT];
    char *args[] = {"test",  CHILD_SUPERVISOR, "100", "", child_limits_text(NULL, none),
                    "sleep", "1000",           NULL};

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid_t pid = start(args, pair[1], pair[0], null);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    close(null);
}

static void test_called_by_hand(void **state)
{
    int fds[2], status;
    char text[256] = "";
    char *args[] = {"program", CHILD_SUPERVISOR, NULL};

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = start(args, -1, fds[0], fds[1]);
    close(fds[1]);
    assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "program: --supervise-child is for this program's own use\n");
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 2);
    close(fds[0]);
}

static void test_other_arguments_pass(void **state)
{
    char *none[] = {"program", NULL}, *other[] = {"program", "--port", CHILD_SUPERVISOR, NULL};
    (void)state;
    child_main(1, none);
    child_main(3, other);
}

int main(int argc, char **argv)
{
    child_main(argc, argv);
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_says),
        cmocka_unit_test(test_deserted_from_the_start),
        cmocka_unit_test(test_called_by_hand),
        cmocka_unit_test(test_other_arguments_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
