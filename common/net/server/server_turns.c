/*
 * How much of one turn of the loop requests may take.
 *
 * Many requests can be whole in the same turn, and each may take long: a large message is parsed, a
 * long list is made. So only those that find some time left in the turn are answered in it. The
 * others are queued, in the order of their coming. After a turn that was full the loop turns some
 * times for nobody but those who come: one turn takes a client in, the next reads what it asks. A
 * probe is never queued.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "net/server/server_internal.h"

enum { TURN_NS = 5 * 1000 * 1000, FREE_TURNS = 2 };

/* Only keeps the loop from waiting. */
static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

void server_turns_start(struct http_server *server)
{
    TAILQ_INIT(&server->queue);
    server->idle = heap_alloc(sizeof(*server->idle));
    uv_idle_init(loop_uv(server->loop), server->idle);
}

static void on_idle_closed(uv_handle_t *idle)
{
    free(idle);
}

void server_turns_stop(struct http_server *server)
{
    uv_close((uv_handle_t *)server->idle, on_idle_closed);
}

void server_turns_leave(struct http_conn_request *r)
{
    if (r->is_queued)
        TAILQ_REMOVE(&r->server->queue, r, turn);
    r->is_queued = false;
}

void server_turns_enter(struct http_conn_request *r)
{
    struct http_server *server = r->server;

    r->is_queued = true;
    TAILQ_INSERT_TAIL(&server->queue, r, turn);
    uv_idle_start(server->idle, on_idle);
}

static bool has_time(const struct http_server *server)
{
    return server->free_turns == 0 && server->turn_ns < TURN_NS;
}

bool server_turns_allow(const struct http_server *server)
{
    return server->freeing || (TAILQ_EMPTY(&server->queue) && has_time(server));
}

void server_turns_begin(struct http_server *server)
{
    if (server->turn_ns >= TURN_NS)
        server->free_turns = FREE_TURNS + 1;
    server->turn_ns = 0;
    if (server->free_turns > 0)
        server->free_turns--;
}

struct http_conn_request *server_turns_next(struct http_server *server)
{
    struct http_conn_request *r = TAILQ_FIRST(&server->queue);

    if (!r)
        uv_idle_stop(server->idle);
    if (!r || !has_time(server))
        return NULL;
    server_turns_leave(r);
    return r;
}
