#include <dirent.h>

#include "net/server/server_internal.h"
#include "net/test_fixture.h"

static const struct http_route routes[] = {{NULL, "/echo", serve_echo}, {NULL, NULL, NULL}};

/* The answer to a body that is refused while it is being sent arrives all the same. */
CASE(test_refused_upload)
{
    enum { SIZE = 8 * 1024 * 1024 };
    char *body = calloc(1, SIZE);

    struct fixture *f = SERVER(routes, .max_body = 1000);
    for (int i = 0; i < 10; i++) {
        struct answer a = {0};
        exchange(f,
                 (struct http_request){
                     .method = "POST", .url = url_of(f, "/echo"), .body = body, .body_len = SIZE},
                 &a);
        assert_string_equal(a.info, "");
        assert_int_equal(a.status, 413);
        assert_string_equal(a.body, "{\"error\":\"the body is longer than 1000 bytes\"}");
    }
    free(body);
    fixture_end(f);
}

/* A client that neither sends the rest nor closes does not keep the server. */
CASE(test_end_while_lingering)
{
    char text[2048] = "";

    struct fixture *f = SERVER(routes, .max_body = 1000);
    int fd = raw_connect(f);
    raw_send(fd, "POST /echo HTTP/1.1\r\nContent-Length: 5000\r\n\r\nabc");
    raw_read(f, fd, text, sizeof(text), NULL);
    assert_non_null(strstr(text, " 413 "));
    fixture_end(f);
    close(fd);
}

static int count_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Many of them do not hold the descriptors of others: the oldest ends. */
CASE(test_lingering_is_bounded)
{
    enum { CLIENTS = 200 };
    int fds[CLIENTS];
    char text[2048];

    struct fixture *f = SERVER(routes, .max_body = 1000);
    int before = count_files();
    for (int i = 0; i < CLIENTS; i++) {
        *text = '\0';
        fds[i] = raw_connect(f);
        raw_send(fds[i], "POST /echo HTTP/1.1\r\nContent-Length: 5000\r\n\r\nabc");
        raw_read(f, fds[i], text, sizeof(text), NULL);
        assert_non_null(strstr(text, " 413 "));
        assert_true(f->server->linger_count <= 64);
    }
    assert_true(count_files() - before - CLIENTS <= 66);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    fixture_end(f);
}
