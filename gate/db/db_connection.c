#include "gate/db/db_connection_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "gate/db/db_error.h"
#include "gate/db/db_source.h"
#include "gate/db/resolve.h"

enum { IDLE_MS = 10000 };

/* What the server says beside its answers, as that it is shut down. */
static void on_notice(void *arg, const char *text)
{
    struct errinfo info = {0};
    (void)arg;
    err_set(&info, ERR_OK, "%s", text);
    db_error_one_line(info.text);
    log_debug("database_notice", NULL, info.text);
}

static void on_resolved(void *arg, enum err err, const struct errinfo *info,
                        const struct resolved *resolved)
{
    struct db_connection *c = arg;
    c->resolve = NULL;
    if (err != ERR_OK) {
        connection_lose(c, info->text);
        return;
    }
    /* What follows dbname, which is the whole connection string, overrides it. */
    const char *const keys[] = {"fallback_application_name",
                                "client_encoding",
                                "dbname",
                                resolved->host ? "host" : NULL,
                                "hostaddr",
                                "port",
                                NULL};
    const char *const values[] = {"flagger-gate",     "UTF8",         c->dsn, resolved->host,
                                  resolved->hostaddr, resolved->port, NULL};
    c->conn = PQconnectStartParams(keys, values, 1);
    if (!c->conn || PQstatus(c->conn) == CONNECTION_BAD) {
        connection_lose(c, c->conn ? PQerrorMessage(c->conn) : "out of memory");
        return;
    }
    PQsetNoticeProcessor(c->conn, on_notice, NULL);
    connection_poll(c, UV_WRITABLE);
}

static void connect_now(void *arg)
{
    struct db_connection *c = arg;
    c->retry = NULL;
    c->generation = db_source_look(c->options.db->source);
    c->dsn = heap_strdup(db_source_dsn(c->options.db->source));
    connection_set_state(c, DB_CONNECTING);
    c->resolve = resolve_start(c->loop, c->dsn, c->silent, on_resolved, c);
}

static void connect_step(struct db_connection *c)
{
    switch (PQconnectPoll(c->conn)) {
    case PGRES_POLLING_READING:
        connection_poll(c, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        connection_poll(c, UV_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        db_prepare_start(c);
        break;
    default:
        connection_lose(c, PQerrorMessage(c->conn));
        break;
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct db_connection *c = poll->data;
    if (!c)
        return;
    (void)status; /* of a broken socket libpq says better what is wrong */
    if (c->state == DB_CONNECTING)
        connect_step(c);
    else if (c->state == DB_PREPARING && c->step != STEP_STATEMENTS)
        db_prepare_step(c);
    else
        connection_read_answers(c);
}

/* --- the owner's side */

struct db_connection *db_connection_new(struct loop *loop,
                                        const struct db_connection_options *options)
{
    struct db_connection *c = heap_alloc(sizeof(*c));
    *c = (struct db_connection){.loop = loop,
                                .options = *options,
                                .on_poll = on_poll,
                                .connect = connect_now,
                                .wait_ms = CONNECTION_FIRST_WAIT_MS};
    db_queue_init(&c->queue);
    c->retry = timer_start(loop, 0, 0, connect_now, c);
    return c;
}

void db_connection_close(struct db_connection *c, enum err err, const struct errinfo *info)
{
    connection_drop(c);
    db_queue_fail_all(&c->queue, err, info);
}

void db_connection_free(struct db_connection *c)
{
    struct errinfo info = {0};
    if (!c)
        return;
    err_set(&info, ERR_CANCELLED, "the gate is shutting down");
    db_connection_close(c, ERR_CANCELLED, &info);
    free(c);
}

enum db_state db_connection_state(const struct db_connection *c)
{
    return c->state;
}

bool db_connection_takes(const struct db_connection *c)
{
    return c->state == DB_READY && !c->leaving && !c->failing;
}

int db_connection_in_flight(const struct db_connection *c)
{
    return c->queue.count;
}

void db_connection_look(const struct db_connection *c, struct db_connection_look *out)
{
    *out = (struct db_connection_look){
        .state = machine_name(&db_machine, (int)c->state),
        .since_ms = c->since_ms,
        .in_flight = c->queue.count,
        .oldest_ms = c->queue.first ? c->queue.first->sent_at : 0,
        .leaving = c->leaving,
    };
}

unsigned db_connection_generation(const struct db_connection *c)
{
    return c->state == DB_READY ? c->generation : 0;
}

bool db_connection_run(struct db_connection *c, const struct db_statement *statement,
                       const char *const *params, db_done_fn done, void *arg)
{
    assert(db_connection_takes(c));
    int ok =
        PQsendQueryPrepared(c->conn, statement->name, statement->n_params, params, NULL, NULL, 0);
    return connection_sent(c, ok, statement->name, done, arg);
}

static void on_listening(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    struct db_connection *c = arg;
    (void)result;
    if (err == ERR_OK)
        c->options.events->notified(c->options.arg, NULL, NULL);
    else if (c->conn)
        connection_lose_soon(c, info->text);
}

void db_connection_listen(struct db_connection *c, const char *channel)
{
    if (db_connection_takes(c))
        (void)connection_send_listen(c, channel, on_listening);
}

static void on_ignored(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    (void)arg;
    (void)err;
    (void)info;
    (void)result;
}

/* What waits longest is the first. The connection goes with it: a change that was given up must not
 * stay in the pipeline and happen much later. */
static void check_ready(struct db_connection *c, int64_t now)
{
    if (c->queue.first && now - c->queue.first->sent_at > DB_QUERY_TIMEOUT_MS)
        connection_lose(c, "no answer to a query in time");
    else if (!c->queue.first && now - c->answered_ms > IDLE_MS && db_connection_takes(c))
        (void)connection_send_text(c, "SELECT 1", on_ignored); /* is it still there? */
}

void db_connection_check(struct db_connection *c)
{
    int64_t now = clock_monotonic_ms();
    int64_t limit = c->state == DB_PREPARING && c->step == STEP_UPGRADE ? CONNECTION_UPGRADE_MS
                                                                        : DB_CONNECT_TIMEOUT_MS;
    if (c->state == DB_READY) {
        check_ready(c, now);
    } else if (c->state != DB_DOWN && now - c->since_ms > limit) {
        c->silent = (c->silent + 1) % 1000;
        connection_lose(c, "no answer while connecting");
    }
}
