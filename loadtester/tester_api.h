/* The load tester's HTTP routes (proto/openapi/loadtester.yaml). The argument of every handler is a
 * struct tester_api. */
#ifndef LOADTESTER_TESTER_API_H
#define LOADTESTER_TESTER_API_H

#include <regex.h>
#include <sys/queue.h>

#include "loadtester/load/loads.h"
#include "loadtester/runner.h"
#include "net/server/server.h"
#include "net/server/tokens.h"

/* Limit of streams: each piece of output is encoded for every stream of the task. */
enum { TESTER_MAX_STREAMS = 64 };

struct gates;

struct tester_api {
    struct loop *loop;
    struct runner *runner;
    const regex_t *namespaces; /* tasks of other namespaces are rejected; NULL if all are
                                * accepted */
    struct task_policy policy;
    struct tokens *tokens; /* accepted tokens; NULL if none is needed */
    struct gates *gates;
    struct loads *loads;        /* NULL if load from many pods is disabled */
    struct http_server *server; /* the server of these routes */
    int streams;                /* open streams */
    LIST_HEAD(, stream) followers;
};

extern const struct http_route tester_routes[];

/* False: answered 403 for a page in a browser, or 401 without a known token. Handlers must call
 * it first. */
bool tester_admit(struct tester_api *api, struct http_conn_request *req);
/* Parses the webhook message of the body into `arena`. False: answered 400 or 403. */
bool tester_message(struct tester_api *api, struct http_conn_request *req, struct arena *arena,
                    struct webhook_message *out);

/* Ends streams of tokens that are no longer known; the argument is a struct tester_api. */
void tester_tokens_changed(void *arg);

/*
 * --- gates.c: gates at the load tester's address, where many specs expect them: forwarded to the
 * gate service or, if none is configured, kept in memory like those of Flagger's load tester
 * (closed by a restart, and not shared with other replicas).
 */

enum { GATES_MAX_OPEN = 10000 };

/* url: address of the gate service, NULL for gates in memory. client outlives the gates. */
struct gates *gates_new(struct http_client *client, const char *url);
void gates_free(struct gates *gates);
/* Answers a request below /gate/ or /rollback/, which was admitted. */
void gates_answer(struct gates *gates, struct tester_api *api, struct http_conn_request *req);

/* --- load_api.c: load from many pods: the webhook of a step, and GET /load-tests */

/* Answers the webhook of an order with a plan of load; the order's arena is taken. */
void load_api_post(struct tester_api *api, struct http_conn_request *req,
                   struct runner_order *order);
/* GET /load-tests and /load-tests/NAMESPACE/NAME */
void load_api_get(void *arg, struct http_conn_request *req);

#endif
