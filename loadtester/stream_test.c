/* GET /tasks/ID/stream and clients that do not read, disconnect, or are too many. */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/fixture_test.h"

static int set_up(void **state)
{
    return fixture_set_up(state, 4);
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = fixture_tear_down);

/* Task 1 of this runner. */
static void run_task(struct fixture *f, const char *command)
{
    static const struct task_type type = {.name = "cmd"};
    struct arena *arena = arena_new();
    const char **argv = arena_array(arena, 4, sizeof(*argv));
    struct webhook_message *message = ARENA_NEW(arena, struct webhook_message);

    *message = (struct webhook_message){.name = "a", .namespace_ = "b", .checksum = ""};
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = arena_strdup(arena, command);
    struct runner_order order = {.type = &type, .message = message, .arena = arena};
    order.plan = (struct task_plan){.text = argv[2], .key = argv[2], .argv = argv};
    assert_int_equal(runner_start(f->api.runner, &order, false, NULL, NULL, NULL), RUNNER_STARTED);
}

/* A client that follows task 1, with a small receive buffer. */
static int follow_as(struct fixture *f, const char *header)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)http_server_port(f->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *ask =
        arena_printf(f->arena, "GET /tasks/1/stream HTTP/1.1\r\nHost: x\r\n%s\r\n", header);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 4096;

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(send(fd, ask, strlen(ask), 0), (ssize_t)strlen(ask));
    return fd;
}

static int follow(struct fixture *f)
{
    return follow_as(f, "");
}

/* Data received so far, as a string that the fixture keeps. */
static const char *come(struct fixture *f, int fd)
{
    char text[65536];
    ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT | MSG_PEEK);
    return arena_strndup(f->arena, text, n > 0 ? (size_t)n : 0);
}

static bool runs(struct fixture *f)
{
    return !task_has_ended(runner_find(f->api.runner, 1));
}

FIXTURE_CASE(a_client_that_never_reads_is_cut_off)
{
    run_task(f, "yes");
    int fd = follow(f);
    RUN_UNTIL(f, f->api.streams == 1);
    RUN_UNTIL(f, f->api.streams == 0);
    assert_true(runs(f));
    close(fd);
}

FIXTURE_CASE(a_client_that_goes_is_forgotten)
{
    run_task(f, "echo begun; sleep 60");
    int fd = follow(f);
    RUN_UNTIL(f, strstr(come(f, fd), "begun"));
    close(fd);
    RUN_UNTIL(f, f->api.streams == 0);
    assert_true(runs(f));
}

/* The last event exceeds the queue. */
FIXTURE_CASE(a_task_may_end_while_its_client_is_too_slow)
{
    run_task(f, "sleep 0.2; head -c 8000000 /dev/zero | tr '\\0' 'x'");
    int fd = follow(f);
    RUN_UNTIL(f, f->api.streams == 1);
    RUN_UNTIL(f, !runs(f) && f->api.streams == 0);
    close(fd);
    /* an ended task's state is sent at once */
    fd = follow(f);
    RUN_UNTIL(f, strstr(come(f, fd), "\r\n0\r\n"));
    assert_non_null(strstr(come(f, fd), "\"state\":\"succeeded\""));
    close(fd);
}

FIXTURE_CASE(followers_have_a_maximum)
{
    int fds[TESTER_MAX_STREAMS + 1];
    run_task(f, "sleep 60");
    for (int i = 0; i < TESTER_MAX_STREAMS; i++)
        fds[i] = follow(f);
    RUN_UNTIL(f, f->api.streams == TESTER_MAX_STREAMS);
    fds[TESTER_MAX_STREAMS] = follow(f);
    RUN_UNTIL(f, strstr(come(f, fds[TESTER_MAX_STREAMS]), "\r\n\r\n"));
    assert_non_null(strstr(come(f, fds[TESTER_MAX_STREAMS]), "429 Too Many Requests"));
    for (int i = 0; i <= TESTER_MAX_STREAMS; i++)
        close(fds[i]);
    RUN_UNTIL(f, f->api.streams == 0);
    int fd = follow(f);
    RUN_UNTIL(f, f->api.streams == 1);
    close(fd);
}

FIXTURE_CASE(a_shutdown_ends_the_streams)
{
    run_task(f, "sleep 60");
    int fd = follow(f);
    RUN_UNTIL(f, f->api.streams == 1);
    runner_stop(f->api.runner);
    RUN_UNTIL(f, f->api.streams == 0);
    RUN_UNTIL(f, strstr(come(f, fd), "shuts down"));
    close(fd);
}

/* A stream ends with its token. */
CASE(a_token_that_goes_ends_its_streams)
{
    static const char ann[] = "token-of-ann-0123456789\n", both[] = "token-of-ann-0123456789\n"
                                                                    "token-of-ben-0123456789\n";
    struct fixture *f = *state;
    char path[] = "/tmp/stream_test.XXXXXX";
    struct errinfo info;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path, both, strlen(both), 0600, &info), ERR_OK);
    assert_int_equal(tokens_new(f->loop, path, NULL, &f->api.tokens, &info), ERR_OK);
    tokens_on_changed(f->api.tokens, tester_tokens_changed, &f->api);
    run_task(f, "sleep 60");
    int anns = follow_as(f, "Authorization: Bearer token-of-ann-0123456789\r\n");
    int bens = follow_as(f, "Authorization: Bearer token-of-ben-0123456789\r\n");
    RUN_UNTIL(f, f->api.streams == 2);
    assert_int_equal(file_write(path, ann, strlen(ann), 0600, &info), ERR_OK);
    tokens_reload(f->api.tokens);
    assert_int_equal(f->api.streams, 1);
    RUN_UNTIL(f, strstr(come(f, bens), "\r\n0\r\n\r\n"));
    assert_null(strstr(come(f, anns), "\r\n0\r\n\r\n"));
    assert_int_equal(file_write(path, "", 0, 0600, &info), ERR_OK);
    tokens_reload(f->api.tokens);
    assert_int_equal(f->api.streams, 0);
    tokens_free(f->api.tokens);
    f->api.tokens = NULL;
    unlink(path);
    close(anns);
    close(bens);
}

UNIT_FIRST(child_main)
