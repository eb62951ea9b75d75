/* How the server stands, for those who look into the process. */
#include "net/server/server_internal.h"

void http_server_look(const struct http_server *server, struct http_server_look *out)
{
    *out = (struct http_server_look){
        .connections = server->open_count,
        .max_connections = server->max_connections,
        .busy = server->busy_count,
        .max_busy = server->max_busy,
        .held = server->held,
        .max_held = server->max_held,
    };
}
