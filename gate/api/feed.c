#include "gate/api/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/expo.h"
#include "base/json.h"
#include "base/log.h"

enum {
    HEARTBEAT_MS = 15000,
    RETRY_MS = 500,
    LIFETIME_MS = 3600 * 1000,
    PAGE = 500,                 /* entries read at once */
    MAX_QUEUE = 256 * 1024,     /* bytes that wait for one client */
    FULL_QUEUE = MAX_QUEUE / 2, /* from here on it reads from the database itself */
    MAX_EVENT = 128 * 1024 * 2, /* more than any entry */
    MAX_PAYLOAD = 2 * 253 + 16, /* of a notification */
    UNKNOWN = -1,
};

/* The head of the history as one row without an entry, and what comes after $1. One snapshot: an
 * entry up to the head is there, or never was. */
#define PAGE_SQL                                                                                   \
    "SELECT seq, NULL::text AS entry, NULL::text AS namespace FROM flagger_gate_head UNION ALL "   \
    "(SELECT seq, entry::text, namespace FROM flagger_gate_history WHERE seq > $1::bigint "        \
    "ORDER BY seq LIMIT $2::integer)"
/* The feed's own: mostly one entry. */
static const struct db_statement news = {
    .name = "events", .sql = PAGE_SQL, .n_params = 2, .lane = DB_ASK};
/* Long pages of many clients go where no check and no change waits. */
static const struct db_statement resume = {
    .name = "events_resume", .sql = PAGE_SQL, .n_params = 2, .lane = DB_READ};
const struct db_statement *const feed_statements[] = {&news, &resume, NULL};

static struct expo_metric clients_ = {.name = "flagger_gate_event_clients",
                                      .help = "Clients that follow /v1/events",
                                      .type = EXPO_GAUGE};
static struct expo_metric events_ = {.name = "flagger_gate_events_total",
                                     .help = "Events that were sent to clients, by kind",
                                     .type = EXPO_COUNTER,
                                     .labels = {"event"}};
static struct expo_metric cut_ = {.name = "flagger_gate_event_clients_cut_total",
                                  .help = "Clients of /v1/events that took nothing for too long",
                                  .type = EXPO_COUNTER};

struct client {
    struct client *next, **at;
    struct feed *feed;
    struct http_conn_request *req;
    struct identity identity;
    int64_t seq;      /* all up to here was sent; UNKNOWN: it begins with the feed's next */
    int64_t since_ms; /* when it came */
    struct asking *asking;
    bool behind;  /* reads from the database, until it has what the feed has */
    bool waiting; /* for its bytes to be taken */
    bool stalled; /* since the last heartbeat nothing was taken */
};

struct feed {
    struct loop *loop;
    struct db *db;
    const struct identities *identities;
    struct client *clients;
    int n_clients;
    int64_t seq; /* all up to here was told to the clients; UNKNOWN: none was read yet */
    bool asking; /* reads what comes after seq */
    bool again;  /* and has to do so once more */
    bool stopped;
    struct timer *heartbeat, *retry;
};

/* A page that was asked for by a client; NULL when that has gone. */
struct asking {
    struct feed *feed;
    struct client *client;
};

static void catch_up(struct client *client);
static void read_on(struct feed *feed);

/* --- clients */

static void forget(struct client *client)
{
    *client->at = client->next;
    if (client->next)
        client->next->at = client->at;
    if (client->asking)
        client->asking->client = NULL;
    client->feed->n_clients--;
    expo_set(&clients_, client->feed->n_clients);
    free(client);
}

static void on_gone(void *arg)
{
    forget(arg);
}

static void send_event(struct client *client, const struct buf *event, const char *kind)
{
    /* of a client that is cut off on_gone tells by and by */
    if (http_stream_send(client->req, event->data, event->len))
        expo_add(&events_, 1, kind);
}

static bool sees(const struct client *client, const char *namespace_)
{
    return identity_sees(client->feed->identities, &client->identity, namespace_);
}

static void end(struct client *client)
{
    http_stream_end(client->req);
    forget(client);
}

/* Before anything is sent. */
static void end_revoked(struct feed *feed)
{
    for (struct client *client = feed->clients, *next; client; client = next) {
        next = client->next;
        if (!sees(client, NULL))
            end(client);
    }
}

static void write_database(const struct feed *feed, int64_t seq, struct buf *event)
{
    if (seq != UNKNOWN)
        buf_printf(event, "id: %lld\n", (long long)seq);
    buf_printf(event, "event: database\ndata: {\"ready\":%s}\n\n",
               db_ready(feed->db) ? "true" : "false");
}

/* Line ends would end the field: in JSON they are blanks. */
static void write_change(struct buf *event, const char *seq, const char *entry)
{
    buf_printf(event, "id: %s\nevent: change\ndata: ", seq);
    for (const char *end; *(end = entry + strcspn(entry, "\r\n")); entry = end + 1) {
        buf_add(event, entry, (size_t)(end - entry));
        buf_puts(event, " ");
    }
    buf_puts(event, entry);
    buf_puts(event, "\n\n");
    if (event->truncated) { /* written past the functions of schema.sql, which bound an entry */
        buf_clear(event);
        buf_printf(event, "id: %s\nevent: change\ndata: {\"seq\":%s}\n\n", seq, seq);
    }
}

/* --- what the database says */

static int64_t seq_at(const PGresult *page, int row)
{
    return strtoll(PQgetvalue(page, row, 0), NULL, 10);
}

/* The head of a page, and how many entries it has. */
static int64_t head_of(const PGresult *page, int *entries)
{
    int64_t head = 0;
    *entries = 0;
    for (int row = 0; row < PQntuples(page); row++)
        if (PQgetisnull(page, row, 1))
            head = seq_at(page, row);
        else
            (*entries)++;
    return head;
}

static void ask(struct feed *feed, const struct db_statement *statement, int64_t after,
                db_done_fn done, void *arg)
{
    char number[24], limit[12];
    snprintf(number, sizeof(number), "%lld", (long long)after);
    snprintf(limit, sizeof(limit), "%d", PAGE);
    const char *const params[] = {number, limit};
    db_run(feed->db, statement, params, done, arg);
}

static void on_retry(void *arg)
{
    struct feed *feed = arg;
    feed->retry = NULL;
    if (feed->again)
        read_on(feed);
    for (struct client *client = feed->clients; client; client = client->next)
        catch_up(client);
}

static void retry(struct feed *feed)
{
    if (!feed->retry && !feed->stopped)
        feed->retry = timer_start(feed->loop, RETRY_MS, 0, on_retry, feed);
}

/* To those that have all before it and room for it; the others read it themselves. */
static void tell_change(struct feed *feed, int64_t seq, const char *namespace_,
                        const struct buf *event)
{
    for (struct client *client = feed->clients; client; client = client->next) {
        if (client->behind || seq <= client->seq)
            continue;
        if (http_stream_queued(client->req) + event->len > FULL_QUEUE) {
            client->behind = true;
            catch_up(client);
            continue;
        }
        client->seq = seq;
        if (sees(client, namespace_))
            send_event(client, event, "change");
    }
    feed->seq = seq;
}

static void tell_page(struct feed *feed, const PGresult *page)
{
    struct buf event;
    end_revoked(feed);
    buf_init(&event, MAX_EVENT);
    for (int row = 0; row < PQntuples(page); row++) {
        if (PQgetisnull(page, row, 1) || seq_at(page, row) <= feed->seq)
            continue;
        buf_clear(&event);
        write_change(&event, PQgetvalue(page, row, 0), PQgetvalue(page, row, 1));
        tell_change(feed, seq_at(page, row), PQgetvalue(page, row, 2), &event);
    }
    buf_fini(&event);
}

/* The first page only says where the history ends: from there on the feed tells. */
static void begin_at(struct feed *feed, int64_t head)
{
    struct buf event;
    buf_init(&event, 200);
    feed->seq = head;
    write_database(feed, head, &event);
    for (struct client *client = feed->clients; client; client = client->next)
        if (client->seq == UNKNOWN) {
            client->seq = head;
            send_event(client, &event, "database");
        }
    buf_fini(&event);
}

static void on_page(void *arg, enum err err, const struct errinfo *info, PGresult *page)
{
    struct feed *feed = arg;
    int entries = 0;
    (void)info;
    feed->asking = false;
    if (err != ERR_OK) {
        feed->again = true;
        retry(feed);
        return;
    }
    int64_t head = head_of(page, &entries);
    if (feed->seq == UNKNOWN) {
        begin_at(feed, head);
    } else if (head < feed->seq) {
        log_warn("history_shorter", NULL,
                 "the history ends before what was told of it already: "
                 "is this another database? All of it is told again",
                 LOG_INT("head", head), LOG_INT("told", feed->seq));
        feed->seq = 0;
        feed->again = true;
        for (struct client *client = feed->clients; client; client = client->next)
            if (!client->behind) /* the others see it themselves */
                client->seq = 0;
    } else {
        tell_page(feed, page);
    }
    if (feed->again || entries == PAGE)
        read_on(feed);
}

static void read_on(struct feed *feed)
{
    feed->again = feed->asking;
    if (feed->asking || feed->stopped)
        return;
    feed->asking = true;
    ask(feed, &news, feed->seq == UNKNOWN ? INT64_MAX : feed->seq, on_page, feed);
}

/* --- clients that read from the database */

static void on_sent(void *arg)
{
    struct client *client = arg;
    client->waiting = false;
    client->stalled = false;
    catch_up(client);
}

/* What there is room for; false when that was not all. */
static bool send_page(struct client *client, const PGresult *page)
{
    struct buf event;
    bool all = true;
    buf_init(&event, MAX_EVENT);
    for (int row = 0; row < PQntuples(page) && all; row++) {
        if (PQgetisnull(page, row, 1) || seq_at(page, row) <= client->seq)
            continue;
        buf_clear(&event);
        write_change(&event, PQgetvalue(page, row, 0), PQgetvalue(page, row, 1));
        size_t queued = http_stream_queued(client->req);
        all = queued == 0 || queued + event.len <= FULL_QUEUE;
        if (all) {
            client->seq = seq_at(page, row);
            if (sees(client, PQgetvalue(page, row, 2)))
                send_event(client, &event, "change");
        }
    }
    buf_fini(&event);
    return all;
}

static void on_client_page(void *arg, enum err err, const struct errinfo *info, PGresult *page)
{
    struct asking *asking = arg;
    struct client *client = asking->client;
    struct feed *feed = asking->feed;
    int entries = 0;
    (void)info;
    free(asking);
    if (!client)
        return;
    client->asking = NULL;
    if (err != ERR_OK) {
        retry(feed);
        return;
    }
    if (!sees(client, NULL)) {
        end(client);
        return;
    }
    int64_t head = head_of(page, &entries);
    if (head < client->seq)
        client->seq = 0; /* it has seen another history than this one */
    else if (send_page(client, page) && entries < PAGE && feed->seq != UNKNOWN &&
             client->seq >= feed->seq)
        client->behind = false;
    catch_up(client);
}

static void catch_up(struct client *client)
{
    struct feed *feed = client->feed;
    if (!client->behind || client->asking || client->waiting || feed->stopped)
        return;
    if (http_stream_queued(client->req)) {
        client->waiting = true;
        http_stream_on_sent(client->req, on_sent, client);
        return;
    }
    client->asking = heap_alloc(sizeof(*client->asking));
    *client->asking = (struct asking){.feed = feed, .client = client};
    ask(feed, &resume, client->seq, on_client_page, client->asking);
}

/* --- what else happens */

/* To a client that does not know yet what it begins with, ready is said with that. */
static void tell_database(struct feed *feed)
{
    bool ready = db_ready(feed->db);
    struct buf event;
    buf_init(&event, 200);
    write_database(feed, UNKNOWN, &event);
    for (struct client *client = feed->clients; client; client = client->next)
        if (client->seq != UNKNOWN || !ready)
            send_event(client, &event, "database");
    buf_fini(&event);
}

static void on_ready(void *arg, bool ready)
{
    struct feed *feed = arg;
    tell_database(feed);
    if (ready)
        retry(feed);
}

/* "wait NAMESPACE/NAME"; whoever may use the database can notify, so it is looked at. */
static void tell_wait(struct feed *feed, const char *canary)
{
    const char *slash = strchr(canary, '/');
    char namespace_[MAX_PAYLOAD + 1];
    struct buf event;
    if (!slash || strlen(canary) > MAX_PAYLOAD)
        return;
    snprintf(namespace_, sizeof(namespace_), "%.*s", (int)(slash - canary), canary);
    buf_init(&event, 8 * MAX_PAYLOAD);
    buf_puts(&event, "event: wait\ndata: {\"namespace\":");
    json_quote(&event, canary, (size_t)(slash - canary));
    buf_puts(&event, ",\"name\":");
    json_quote(&event, slash + 1, strlen(slash + 1));
    buf_puts(&event, "}\n\n");
    end_revoked(feed);
    for (struct client *client = feed->clients; client; client = client->next)
        if (sees(client, namespace_))
            send_event(client, &event, "wait");
    buf_fini(&event);
}

static void on_notice(void *arg, const char *payload)
{
    struct feed *feed = arg;
    if (feed->stopped)
        return;
    if (payload && strncmp(payload, "wait ", 5) == 0)
        tell_wait(feed, payload + 5);
    else if (!payload || strtoll(payload, NULL, 10) > feed->seq)
        read_on(feed);
    if (!payload && feed->seq != UNKNOWN)
        tell_database(feed); /* who waits may have changed unheard */
}

static void on_heartbeat(void *arg)
{
    struct feed *feed = arg;
    int64_t now = clock_monotonic_ms();
    end_revoked(feed);
    for (struct client *client = feed->clients, *next; client; client = next) {
        next = client->next;
        bool stuck = http_stream_queued(client->req) > 0;
        if (now - client->since_ms > LIFETIME_MS) {
            end(client);
        } else if (stuck && client->stalled) {
            expo_add(&cut_, 1);
            http_req_drop(client->req);
            forget(client);
        } else {
            client->stalled = stuck;
            if (!client->waiting && stuck) {
                client->waiting = true;
                http_stream_on_sent(client->req, on_sent, client);
            }
            (void)http_stream_send(client->req, ":\n\n", 3);
        }
    }
}

/* --- the owner's side */

void feed_serve(struct feed *feed, struct http_conn_request *req, const struct identity *identity,
                int64_t after)
{
    struct buf event;
    http_reply_header(req, "Cache-Control", "no-store");
    if (strcmp(http_req_method(req), "HEAD") == 0) {
        http_reply(req, 200, "text/event-stream", "", 0);
        return;
    }
    if (feed->n_clients >= FEED_MAX_CLIENTS || feed->stopped) {
        http_reply_header(req, "Retry-After", "10");
        http_reply_error(req, feed->stopped ? 503 : 429,
                         feed->stopped ? "the gate is shutting down"
                                       : "too many clients follow the events already");
        return;
    }
    struct client *client = heap_alloc(sizeof(*client));
    *client = (struct client){.next = feed->clients,
                              .at = &feed->clients,
                              .feed = feed,
                              .req = req,
                              .identity = *identity,
                              .seq = after >= 0 ? after : feed->seq,
                              .since_ms = clock_monotonic_ms(),
                              .behind = after >= 0};
    if (feed->clients)
        feed->clients->at = &client->next;
    feed->clients = client;
    expo_set(&clients_, ++feed->n_clients);
    http_stream_start(req, 200, "text/event-stream", MAX_QUEUE);
    http_req_on_gone(req, on_gone, client);
    if (client->seq != UNKNOWN || !db_ready(feed->db)) {
        buf_init(&event, 200);
        write_database(feed, client->seq, &event);
        send_event(client, &event, "database");
        buf_fini(&event);
    }
    catch_up(client);
}

struct feed *feed_new(struct loop *loop, struct db *db, const struct identities *identities)
{
    struct feed *feed = heap_alloc(sizeof(*feed));
    *feed = (struct feed){.loop = loop, .db = db, .identities = identities, .seq = UNKNOWN};
    feed->heartbeat = timer_start(loop, HEARTBEAT_MS, HEARTBEAT_MS, on_heartbeat, feed);
    expo_set(&clients_, 0);
    db_watch(db, on_ready, feed);
    db_listen(db, "flagger_gate", on_notice, feed);
    return feed;
}

void feed_stop(struct feed *feed)
{
    feed->stopped = true;
    timer_stop(feed->heartbeat);
    timer_stop(feed->retry);
    feed->heartbeat = feed->retry = NULL;
    while (feed->clients)
        end(feed->clients);
}

void feed_free(struct feed *feed)
{
    if (!feed)
        return;
    feed_stop(feed);
    free(feed);
}

void feed_look(const struct feed *feed, struct feed_look *out)
{
    *out = (struct feed_look){.clients = feed->n_clients, .seq = feed->seq};
    for (const struct client *client = feed->clients; client; client = client->next) {
        out->behind += client->behind;
        out->waiting += client->waiting;
    }
}
