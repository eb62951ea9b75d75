/*
 * A metric server that answers every question with much: flagger-liar PIECE BYTES
 *
 * The answer is {"data":{"result":[PIECE,PIECE,...,0]}} of about so many bytes. Prints its port,
 * and at its end (SIGTERM) how often it was asked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "net/loop.h"
#include "net/server/server.h"

static struct buf answer;
static int asked;

static void on_question(void *arg, struct http_conn_request *req)
{
    (void)arg;
    asked++;
    http_reply(req, 200, "application/json", answer.data, answer.len);
}

int main(int argc, char **argv)
{
    static const struct http_route routes[] = {{NULL, "/*", on_question}, {NULL, NULL, NULL}};
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes};
    struct http_server *server;
    struct errinfo info;
    size_t bytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

    if (bytes == 0) {
        fputs("flagger-liar: expected PIECE BYTES\n", stderr);
        return 2;
    }
    buf_init(&answer, bytes + 256);
    buf_puts(&answer, "{\"data\":{\"result\":[");
    while (answer.len < bytes)
        buf_printf(&answer, "%s,", argv[1]);
    buf_puts(&answer, "0]}}");
    struct loop *loop = loop_new(1000);
    if (http_server_new(loop, &options, &server, &info) != ERR_OK) {
        fprintf(stderr, "flagger-liar: %s\n", info.text);
        return 1;
    }
    printf("%d\n", http_server_port(server));
    fflush(stdout);
    loop_run(loop);
    printf("%d\n", asked);
    http_server_free(server);
    loop_free(loop);
    buf_fini(&answer);
    return 0;
}
