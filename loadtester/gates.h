/*
 * Gates at the load tester's address, where many specs expect them: forwarded to the gate service,
 * or, if none is configured, kept in memory as Flagger's load tester does (closed by a restart, and
 * not shared with other replicas).
 */
#ifndef LOADTESTER_GATES_H
#define LOADTESTER_GATES_H

#include "loadtester/tester_api.h"

enum { GATES_MAX_OPEN = 10000 };

struct gates;

/* url: of the gate service, NULL for gates in memory. client outlives the gates. */
struct gates *gates_new(struct http_client *client, const char *url);
void gates_free(struct gates *gates);
/* Answers a request below /gate/ or /rollback/, which was admitted. */
void gates_answer(struct gates *gates, struct tester_api *api, struct http_conn_request *req);

#endif
