/*
 * The gate's web page: the files of gate/page, which are part of the program. They hold no data, so
 * anybody may have them; what they show they ask from /v1, with the token of whoever looks.
 */
#ifndef GATE_PAGE_H
#define GATE_PAGE_H

#include "net/server/server.h"

/* GET / and GET /page/FILE; an http_handler_fn, arg is not used. */
void page_serve(void *arg, struct http_conn_request *req);

#endif
