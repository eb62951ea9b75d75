#define _GNU_SOURCE /* pipe2, memmem */
#include "net/child/child_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child.h"
#include "test/unit.h"

static char program[4096]; /* the path of this program; not /proc/self/exe, which is different
                            * under valgrind */

/* Sends a supervisor a request; returns our end of its socket. */
static int request(const char *const *argv, const char *cwd)
{
    struct arena *arena = arena_new();
    int pair[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    size_t len;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const char *text =
        spawn_request_text(arena, &(struct child_spec){.argv = argv, .cwd = cwd}, 200, &len);
    assert_int_equal(write(pair[0], text, len), len);
    assert_int_equal(spawn_server_send(pair[1], null, null), 0);
    close(pair[1]);
    close(null);
    arena_free(arena);
    return pair[0];
}

/* All messages until the socket's end, by kind. */
static int listen_all(int fd, struct supervisor_msg *msgs, int room)
{
    int count = 0;
    while (count < room &&
           recv(fd, &msgs[count], sizeof(msgs[0]), MSG_WAITALL) == (ssize_t)sizeof(msgs[0]))
        count++;
    return count;
}

/* On a busy machine any command may take long: SUPERVISOR_REUSED is removed from the messages. */
static bool take_stays(struct supervisor_msg *msgs, int *count)
{
    for (int i = 0; i < *count; i++) {
        if (msgs[i].kind != SUPERVISOR_REUSED)
            continue;
        for (int next = i + 1; next < *count; next++)
            msgs[next - 1] = msgs[next];
        --*count;
        return true;
    }
    return false;
}

CASE(test_what_it_says)
{
    static const struct {
        const char *command[4];
        const char *cwd;
        int kinds[3], count, status;
    } cases[] = {
        {{"true"}, NULL, {SUPERVISOR_PID, SUPERVISOR_STARTED, SUPERVISOR_ENDED}, 3, 0},
        {{"sh", "-c", "exit 9"},
         "/",
         {SUPERVISOR_PID, SUPERVISOR_STARTED, SUPERVISOR_ENDED},
         3,
         9 << 8},
        {{"sh", "-c", "kill -9 $$"},
         NULL,
         {SUPERVISOR_PID, SUPERVISOR_STARTED, SUPERVISOR_ENDED},
         3,
         9},
        {{"/no/such/file"}, NULL, {SUPERVISOR_PID, SUPERVISOR_EXEC_FAILED}, 2, ENOENT},
        {{"true"}, "/no/such/dir", {SUPERVISOR_PID, SUPERVISOR_CHDIR_FAILED}, 2, ENOENT},
    };

    EACH_ROW (row, cases) {
        struct supervisor_msg msgs[5];
        int fd = request(row->command, row->cwd);
        int count = listen_all(fd, msgs, 5);
        bool stays = take_stays(msgs, &count);
        assert_int_equal(count, row->count);
        for (int m = 0; m < row->count; m++)
            assert_int_equal(msgs[m].kind, row->kinds[m]);
        assert_int_equal(msgs[row->count - 1].value, row->status);
        /* it is our child, although another process forked it */
        assert_int_equal(waitpid(msgs[0].value, NULL, stays ? WNOHANG : 0),
                         stays ? 0 : msgs[0].value);
        close(fd);
    }
}

/* Returns the supervisor; *stays: it takes another command. */
static pid_t supervise(const char *const *argv, bool *stays)
{
    struct supervisor_msg msgs[5];
    int fd = request(argv, NULL);
    int count = listen_all(fd, msgs, 5);

    *stays = take_stays(msgs, &count);
    close(fd);
    assert_int_equal(count, 3);
    assert_int_equal(msgs[0].kind, SUPERVISOR_PID);
    assert_int_equal(msgs[2].kind, SUPERVISOR_ENDED);
    return msgs[0].value;
}

CASE(test_one_that_is_not_gone_for_long_stays)
{
    static const char *const argv[] = {"true", NULL};
    pid_t stayed[64];
    int n_stayed = 0;
    bool retry = false;

    for (int tries = 0; !retry && tries < 1000; tries++) {
        bool stays;
        pid_t pid = supervise(argv, &stays);
        for (int i = 0; i < n_stayed; i++)
            retry |= stayed[i] == pid;
        if (stays && n_stayed < (int)(sizeof(stayed) / sizeof(stayed[0])))
            stayed[n_stayed++] = pid;
        else if (!stays)
            assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    assert_true(retry);
}

/* Searches its writable memory. */
static bool remembers(pid_t pid, const char *text)
{
    static char memory[1024 * 1024];
    char path[64], line[512], rights[8];
    unsigned long begin, end;
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    assert_true(fd >= 0 && maps);
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || rights[1] != 'w' ||
            end - begin > sizeof(memory))
            continue;
        ssize_t n = pread(fd, memory, end - begin, (off_t)begin);
        found |= n > 0 && memmem(memory, (size_t)n, text, strlen(text));
    }
    fclose(maps);
    close(fd);
    return found;
}

static int count_files(pid_t pid)
{
    char path[64];
    int count = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

CASE(test_one_that_stays_keeps_nothing)
{
    enum { ROUNDS = 8 };
    static const char *const argv[] = {"true", "the-password-of-somebody", NULL};
    int rounds = 0, files = 0;

    for (int tries = 0; rounds < ROUNDS && tries < 1000; tries++) {
        bool stays;
        pid_t pid = supervise(argv, &stays);
        if (!stays) {
            assert_int_equal(waitpid(pid, NULL, 0), pid);
            continue;
        }
        assert_false(remembers(pid, argv[1]));
        int now = count_files(pid);
        assert_true(rounds == 0 || now == files);
        files = now;
        rounds++;
    }
    assert_int_equal(rounds, ROUNDS);
}

CASE(test_others_end)
{
    static const char *const commands[][4] = {
        {"sleep", "0.2"},                         /* lasted */
        {"sh", "-c", "(sleep 1000 >/dev/null)&"}, /* leaves a process behind */
    };

    EACH_ROW (row, commands) {
        struct supervisor_msg msgs[6];
        int fd = request(*row, NULL);
        int count = listen_all(fd, msgs, 6);
        assert_false(take_stays(msgs, &count));
        assert_int_equal(waitpid(msgs[0].value, NULL, 0), msgs[0].value);
        close(fd);
    }
}

/* No request, and an early end of the socket: nothing may run. */
CASE(test_deserted_from_the_start)
{
    static const char *const argv[] = {"sleep", "1000", NULL};
    struct supervisor_msg here = {0};
    int status;

    int fd = request(argv, NULL);
    assert_int_equal(recv(fd, &here, sizeof(here), MSG_WAITALL), sizeof(here));
    close(fd);
    assert_int_equal(waitpid(here.value, &status, 0), here.value);
    assert_true(WIFEXITED(status));
}

/* An invalid request ends the supervisor, and another one is made. */
CASE(test_no_order)
{
    static const char *const texts[] = {"\0\0\0\0", "\377\377\377\377", "\4\0\0\0abcd", "\1\0\0\0"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct supervisor_msg here;
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(spawn_server_send(pair[1], 1, 2), 0);
        close(pair[1]);
        assert_int_equal(write(pair[0], texts[i], i == 2 ? 8 : 4), i == 2 ? 8 : 4);
        shutdown(pair[0], SHUT_WR);
        assert_int_equal(listen_all(pair[0], &here, 1), 1);
        assert_int_equal(listen_all(pair[0], &here, 1), 0);
        assert_int_equal(waitpid(here.value, NULL, 0), here.value);
        close(pair[0]);
    }
}

CASE(test_the_nursery_is_replaced)
{
    static const char *const argv[] = {"true", NULL};
    struct supervisor_msg msgs[4];

    pid_t first = spawn_server_pid();
    assert_true(first > 0);
    kill(first, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)first, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    int fd = request(argv, NULL);
    int count = listen_all(fd, msgs, 4);
    (void)take_stays(msgs, &count);
    assert_int_equal(count, 3);
    close(fd);
    assert_int_not_equal(spawn_server_pid(), first);
    spawn_server_end();
    assert_int_equal(spawn_server_pid(), 0);
}

CASE(test_called_by_hand)
{
    int fds[2], status;
    char text[256] = "";
    char *args[] = {"program", CHILD_SUPERVISOR, NULL};

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        close(SPAWN_SOCKET);
        dup2(fds[1], STDERR_FILENO);
        execv(program, args);
        _exit(99);
    }
    close(fds[1]);
    assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "program: --supervise-child is for this program's own use\n");
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 2);
    close(fds[0]);
}

CASE(test_other_arguments_pass)
{
    char *none[] = {"program", NULL}, *other[] = {"program", "--port", CHILD_SUPERVISOR, NULL};
    child_main(1, none);
    child_main(3, other);
}

static int find_program(void **state)
{
    return readlink("/proc/self/exe", program, sizeof(program) - 1) > 0 ? 0 : -1;
}

UNIT_FIXTURE(.set_up_all = find_program);
UNIT_FIRST(child_main)
