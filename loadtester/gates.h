/*
 * Gates at the load tester's address, where specs of the field look for them: passed on to the gate
 * service, or, when none is configured, kept in this process' memory as Flagger's load tester does
 * (a restart closes them all, and no other replica knows of them).
 */
#ifndef LOADTESTER_GATES_H
#define LOADTESTER_GATES_H

#include "loadtester/api.h"

enum { GATES_MAX_OPEN = 10000 };

struct gates;

/* url: of the gate service, NULL: in memory. client outlives the gates. */
struct gates *gates_new(struct http_client *client, const char *url);
void gates_free(struct gates *gates);
/* Answers a request below /gate/ or /rollback/; whoever asks has been admitted. */
void gates_answer(struct gates *gates, struct tester_api *api, struct http_conn_request *req);

#endif
