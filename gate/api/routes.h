/*
 * Which handler answers which path, and which requests get that far. The argument of all is a
 * struct gate_api.
 */
#ifndef GATE_ROUTES_H
#define GATE_ROUTES_H

#include "net/server/server.h"

extern const struct http_route gate_routes[];
/* For http_server_options: 421 when the Host header names another host than this gate. */
bool routes_admit(void *arg, struct http_conn_request *req);
/* For http_server_options: whether it brings credentials that are known, or needs none. */
bool routes_know(void *arg, struct http_conn_request *req);

#endif
