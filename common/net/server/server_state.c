/* How far a request is: the one place where its state changes, and how it ends before its time. */
#include <sys/socket.h>

#include "base/machine.h"
#include "net/server/server_internal.h"

enum { STATUS_CLIENT_GONE = 499 };

static const struct machine_state states[] = {
    [REQUEST_PENDING] = {.name = "pending",
                         .next =
                             1u << REQUEST_STREAMING | 1u << REQUEST_REPLIED | 1u << REQUEST_OVER},
    [REQUEST_STREAMING] = {.name = "streaming", .next = 1u << REQUEST_REPLIED | 1u << REQUEST_OVER},
    [REQUEST_REPLIED] = {.name = "replied", .next = 1u << REQUEST_OVER},
    [REQUEST_OVER] = {.name = "over"},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "request_state",
                                       .level = LOG_DEBUG};

void server_request_set_state(struct http_conn_request *r, enum request_state state)
{
    machine_step(&machine, r->state, state, NULL, "a request goes on",
                 LOG_INT("request", (int64_t)r->number));
    r->state = state;
    server_turns_leave(r);
    if (state == REQUEST_REPLIED && r->conn->state == CONN_BUSY)
        server_conn_move(r->conn, CONN_SENDING);
}

void server_request_spend(struct http_conn_request *r)
{
    r->is_spent = true;
    TAILQ_INSERT_TAIL(&r->server->spent, r, spent);
}

void server_request_unspend(struct http_conn_request *r)
{
    if (r->is_spent)
        TAILQ_REMOVE(&r->server->spent, r, spent);
    r->is_spent = false;
}

void server_request_unwatch(struct http_conn_request *r)
{
    if (r->conn->sock)
        h2o_socket_read_stop(r->conn->sock);
}

/* The client has gone: the owner, if it still works on the request, is told. */
void server_request_give_up(struct http_conn_request *r)
{
    bool tell = r->state == REQUEST_PENDING || r->state == REQUEST_STREAMING;

    if (r->state == REQUEST_OVER)
        return;
    if (r->state == REQUEST_PENDING)
        r->status = STATUS_CLIENT_GONE;
    server_request_set_state(r, REQUEST_OVER);
    if (!tell)
        return;
    server_metrics_count(r);
    if (r->on_gone)
        r->on_gone(r->gone_arg);
}

void server_request_abort(struct http_conn_request *r)
{
    bool started = r->state != REQUEST_PENDING;
    struct server_conn *conn = r->conn; /* outlives r */
    h2o_socket_t *sock = conn->sock;

    if (r->state == REQUEST_OVER)
        return;
    server_request_unwatch(r);
    server_request_give_up(r);
    r->req->http1_is_persistent = 0;
    if (sock)
        shutdown(h2o_socket_get_fd(sock), SHUT_RDWR);
    /* A write that is under way fails now, and h2o closes; else an empty one makes it close. */
    if (!started) {
        r->req->res.status = STATUS_CLIENT_GONE;
        r->req->res.reason = "Client Closed Request";
        r->req->res.content_length = 0;
        h2o_start_response(r->req, &r->generator);
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_FINAL);
    } else if (!r->writing && r->req->_generator) {
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_ERROR);
    }
    server_conn_complete_lost_write(conn);
}
