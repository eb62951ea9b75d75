/* HTTP of load from many pods: the webhook of a step, and GET /load-tests. */
#ifndef LOADTESTER_LOAD_API_H
#define LOADTESTER_LOAD_API_H

#include "loadtester/load/loads.h"
#include "loadtester/tester_api.h"

/* Answers the webhook of an order with a plan of load; the order's arena is taken. */
void load_api_post(struct tester_api *api, struct http_conn_request *req,
                   struct runner_order *order);
/* GET /load-tests and /load-tests/NAMESPACE/NAME */
void load_api_get(void *arg, struct http_conn_request *req);

#endif
