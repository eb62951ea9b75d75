#include "gate/api/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/shares.h"
#include "gate/rules/gates.h"

enum {
    HEARTBEAT_MS = 15000,
    RETRY_MS = 500,
    LIFETIME_MS = 3600 * 1000,
    PAGE = 500,                 /* entries per query */
    MAX_QUEUE = 256 * 1024,     /* bytes queued for a client */
    FULL_QUEUE = MAX_QUEUE / 2, /* above it, the client reads from the database */
    MAX_EVENT = 128 * 1024 * 2, /* more than any entry */
    MAX_PAYLOAD = 2 * 253 + 16, /* bytes of a notification */
    UNKNOWN = -1,
};

static struct metrics_family clients_ = {.name = "flagger_gate_event_clients",
                                         .help = "Clients that follow /v1/events",
                                         .type = METRICS_GAUGE};
static struct metrics_family events_ = {.name = "flagger_gate_events_total",
                                        .help = "Events that were sent to clients, by kind",
                                        .type = METRICS_COUNTER,
                                        .labels = {"event"}};
static struct metrics_family cut_ = {.name = "flagger_gate_event_clients_cut_total",
                                     .help = "Clients of /v1/events that took nothing for too long",
                                     .type = METRICS_COUNTER};

struct client {
    struct client *next, **at;
    struct feed *feed;
    struct http_conn_request *req;
    struct identity identity;
    char *name;       /* copy, for the shares */
    int64_t seq;      /* last entry sent; UNKNOWN: begins with the feed's next entry */
    int64_t since_ms; /* start of the stream */
    struct page_request *request;
    bool behind;  /* reads from the database until it has caught up */
    bool waiting; /* waits for its queue to be sent */
    bool stalled; /* its queue has not moved since the last heartbeat */
};

struct feed {
    struct loop *loop;
    struct db *db;
    const struct identities *identities;
    struct client *clients;
    struct shares followers; /* number of clients by name of the token */
    int64_t seq;             /* last entry sent to clients; UNKNOWN: none read yet */
    bool reading;            /* a query for entries after seq is in flight */
    bool reread;             /* the query has to be repeated afterwards */
    bool stopped;
    struct timer *heartbeat, *retry;
};

/* A page for a client; NULL after it has disconnected. */
struct page_request {
    struct feed *feed;
    struct client *client;
};

static void catch_up(struct client *client);
static void read_on(struct feed *feed);

/* --- clients */

static void remove_client(struct client *client)
{
    *client->at = client->next;
    if (client->next)
        client->next->at = client->at;
    if (client->request)
        client->request->client = NULL;
    shares_give_back(&client->feed->followers, client->name, 1);
    metrics_set(&clients_, (double)client->feed->followers.taken);
    free(client->name);
    free(client);
}

static void on_gone(void *arg)
{
    remove_client(arg);
}

static void send_event(struct client *client, const struct buf *event, const char *kind)
{
    /* on failure on_gone follows */
    if (http_stream_send(client->req, event->data, event->len))
        metrics_add(&events_, 1, kind);
}

static bool sees(const struct client *client, const char *namespace_)
{
    return identity_sees(client->feed->identities, &client->identity, namespace_);
}

static void end(struct client *client)
{
    http_stream_end(client->req);
    remove_client(client);
}

/* Ends streams of revoked credentials, before anything is sent. */
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

/* A line break would end the field; in JSON it is equivalent to a blank. */
static void write_change(struct buf *event, const char *seq, const char *entry)
{
    buf_printf(event, "id: %s\nevent: change\ndata: ", seq);
    for (const char *end; *(end = entry + strcspn(entry, "\r\n")); entry = end + 1) {
        buf_add(event, entry, (size_t)(end - entry));
        buf_puts(event, " ");
    }
    buf_puts(event, entry);
    buf_puts(event, "\n\n");
    if (event->truncated) { /* not written by the functions of schema.sql, which limit an entry */
        buf_clear(event);
        buf_printf(event, "id: %s\nevent: change\ndata: {\"seq\":%s}\n\n", seq, seq);
    }
}

/* --- changes from the database */

/* The head given in a page, and the number of its entries. */
static int64_t head_of(const struct db_rows *page, int *entries)
{
    int64_t head = 0;
    *entries = 0;
    for (int row = 0; row < db_count(page); row++)
        if (db_is_null(page, row, 1))
            head = db_int(page, row, 0);
        else
            (*entries)++;
    return head;
}

static void on_retry(void *arg)
{
    struct feed *feed = arg;
    feed->retry = NULL;
    if (feed->reread)
        read_on(feed);
    for (struct client *client = feed->clients; client; client = client->next)
        catch_up(client);
}

static void retry(struct feed *feed)
{
    if (!feed->retry && !feed->stopped)
        feed->retry = timer_start(feed->loop, RETRY_MS, 0, on_retry, feed);
}

/* Sends to clients that are up to date and have room in their queue; the others read the change
 * themselves. */
static void send_change(struct feed *feed, int64_t seq, const char *namespace_,
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

static void send_changes(struct feed *feed, const struct db_rows *page)
{
    struct buf event;
    end_revoked(feed);
    buf_init(&event, MAX_EVENT);
    for (int row = 0; row < db_count(page); row++) {
        if (db_is_null(page, row, 1) || db_int(page, row, 0) <= feed->seq)
            continue;
        buf_clear(&event);
        write_change(&event, db_value(page, row, 0), db_value(page, row, 1));
        send_change(feed, db_int(page, row, 0), db_value(page, row, 2), &event);
    }
    buf_fini(&event);
}

/* The first page is read only for the end of the history. */
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

static void on_page(void *arg, enum err err, const struct errinfo *info, const struct db_rows *page)
{
    struct feed *feed = arg;
    int entries = 0;
    (void)info;
    feed->reading = false;
    if (err != ERR_OK) {
        feed->reread = true;
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
        feed->reread = true;
        for (struct client *client = feed->clients; client; client = client->next)
            if (!client->behind) /* clients that are behind detect it themselves */
                client->seq = 0;
    } else {
        send_changes(feed, page);
    }
    if (feed->reread || entries == PAGE)
        read_on(feed);
}

static void read_on(struct feed *feed)
{
    feed->reread = feed->reading;
    if (feed->reading || feed->stopped)
        return;
    feed->reading = true;
    gates_changes(feed->db, feed->seq == UNKNOWN ? INT64_MAX : feed->seq, PAGE, DB_ASK, on_page,
                  feed);
}

/* --- clients that read from the database */

static void on_sent(void *arg)
{
    struct client *client = arg;
    client->waiting = false;
    client->stalled = false;
    catch_up(client);
}

/* Sends up to the limit of the queue; false if entries are left. */
static bool send_page(struct client *client, const struct db_rows *page)
{
    struct buf event;
    bool all = true;
    buf_init(&event, MAX_EVENT);
    for (int row = 0; row < db_count(page) && all; row++) {
        if (db_is_null(page, row, 1) || db_int(page, row, 0) <= client->seq)
            continue;
        buf_clear(&event);
        write_change(&event, db_value(page, row, 0), db_value(page, row, 1));
        size_t queued = http_stream_queued(client->req);
        all = queued == 0 || queued + event.len <= FULL_QUEUE;
        if (all) {
            client->seq = db_int(page, row, 0);
            if (sees(client, db_value(page, row, 2)))
                send_event(client, &event, "change");
        }
    }
    buf_fini(&event);
    return all;
}

static void on_client_page(void *arg, enum err err, const struct errinfo *info,
                           const struct db_rows *page)
{
    struct page_request *request = arg;
    struct client *client = request->client;
    struct feed *feed = request->feed;
    int entries = 0;
    (void)info;
    free(request);
    if (!client)
        return;
    client->request = NULL;
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
        client->seq = 0; /* its `after` comes from another history */
    else if (send_page(client, page) && entries < PAGE && feed->seq != UNKNOWN &&
             client->seq >= feed->seq)
        client->behind = false;
    catch_up(client);
}

static void catch_up(struct client *client)
{
    struct feed *feed = client->feed;
    if (!client->behind || client->request || client->waiting || feed->stopped)
        return;
    if (http_stream_queued(client->req)) {
        client->waiting = true;
        http_stream_on_sent(client->req, on_sent, client);
        return;
    }
    client->request = heap_alloc(sizeof(*client->request));
    *client->request = (struct page_request){.feed = feed, .client = client};
    gates_changes(feed->db, client->seq, PAGE, DB_READ, on_client_page, client->request);
}

/* --- other events */

/* A client that does not have its first entry yet gets "ready" together with it. */
static void send_readiness(struct feed *feed)
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
    send_readiness(feed);
    if (ready)
        retry(feed);
}

/* "wait NAMESPACE/NAME". Any user of the database can notify, so the payload is checked. */
static void send_wait(struct feed *feed, const char *canary)
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
        send_wait(feed, payload + 5);
    else if (!payload || strtoll(payload, NULL, 10) > feed->seq)
        read_on(feed);
    if (!payload && feed->seq != UNKNOWN)
        send_readiness(feed); /* notifications of waits may have been missed */
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
            metrics_add(&cut_, 1);
            http_req_drop(client->req);
            remove_client(client);
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
    if (feed->stopped || !shares_admit(&feed->followers, identity->name, 1)) {
        http_reply_header(req, "Retry-After", "10");
        http_reply_error(req, feed->stopped ? 503 : 429,
                         feed->stopped ? "the gate is shutting down"
                                       : "too many clients follow the events already, or too many "
                                         "with this token");
        return;
    }
    struct client *client = heap_alloc(sizeof(*client));
    *client = (struct client){.next = feed->clients,
                              .at = &feed->clients,
                              .feed = feed,
                              .req = req,
                              .identity = *identity,
                              .name = heap_strdup(identity->name),
                              .seq = after >= 0 ? after : feed->seq,
                              .since_ms = clock_monotonic_ms(),
                              .behind = after >= 0};
    if (feed->clients)
        feed->clients->at = &client->next;
    feed->clients = client;
    shares_take(&feed->followers, client->name, 1);
    metrics_set(&clients_, (double)feed->followers.taken);
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
    shares_init(&feed->followers, BUDGET_FOLLOWERS, FEED_MAX_CLIENTS);
    feed->heartbeat = timer_start(loop, HEARTBEAT_MS, HEARTBEAT_MS, on_heartbeat, feed);
    metrics_set(&clients_, 0);
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
    shares_fini(&feed->followers);
    free(feed);
}

void feed_snapshot(const struct feed *feed, struct feed_snapshot *out)
{
    *out = (struct feed_snapshot){.clients = (int)feed->followers.taken, .seq = feed->seq};
    for (const struct client *client = feed->clients; client; client = client->next) {
        out->behind += client->behind;
        out->waiting += client->waiting;
    }
}
