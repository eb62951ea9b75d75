/* The load tester's HTTP routes (proto/openapi/loadtester.yaml). The argument of every handler is a
 * struct tester_api. */
#ifndef LOADTESTER_API_H
#define LOADTESTER_API_H

#include <regex.h>
#include <sys/queue.h>

#include "loadtester/runner.h"
#include "net/server/server.h"
#include "net/server/tokens.h"

/* Each piece of output is made into an event for everybody who follows the task. */
enum { TESTER_MAX_STREAMS = 64 };

struct gates;

struct tester_api {
    struct loop *loop;
    struct runner *runner;
    const regex_t *namespaces; /* tasks of other namespaces are refused; NULL: all may */
    struct task_policy policy;
    struct tokens *tokens; /* who may ask; NULL: everybody */
    struct gates *gates;
    struct http_server *server; /* that serves it */
    int streams;                /* open now */
    LIST_HEAD(, stream) followers;
};

extern const struct http_route tester_routes[];

/* For http_server_options: whether a token that is known comes with it, or none is needed. */
bool tester_knows(void *arg, struct http_conn_request *req);
/* False: answered 403, since a page in a browser sent it, or 401, since it brings no token that is
 * known. Handlers call it first. */
bool tester_admits(struct tester_api *api, struct http_conn_request *req);
/* The webhook message of the body, in `arena`. False: answered 400 or 403. */
bool tester_message(struct tester_api *api, struct http_conn_request *req, struct arena *arena,
                    struct webhook_message *out);

/* GET /tasks/ID/stream (stream.c). */
void tester_stream(struct tester_api *api, struct http_conn_request *req, struct task *task);
/* Ends the streams of those whose token is no longer known; the argument is a struct tester_api. */
void tester_tokens_changed(void *arg);

#endif
