/*
 * The handlers of the gate's HTTP routes (proto/openapi/gate.yaml), and their common parts. The
 * argument of every handler is a struct gate_api.
 *
 *   api.c        routes; parts shared by handlers; /v1/whoami, /v1/events, /debug/process
 *   api_gates.c  /v1/gates, /v1/history and /v1/freezes; /gate/ and /rollback/, the interface of
 *                Flagger's gate
 *   api_links.c  /v1/links and /links/: signed links that make one change, once
 *   feed.c       the stream behind /v1/events
 *   request.c    parser of bodies and paths
 */
#ifndef GATE_API_H
#define GATE_API_H

#include "base/arena.h"
#include "gate/access/identity.h"
#include "gate/db/db.h"
#include "gate/links/link.h"
#include "gate/rules/gates.h"
#include "net/server/server.h"

struct gate_api {
    struct db *db;
    struct identities *identities;
    struct feed *feed;
    struct link_keys *link_keys; /* NULL if links are not configured */
    /* Address shown to people, without a slash at the end; "": taken from the request. */
    const char *public_url;
    const struct hosts *hosts;
    struct http_server *server; /* the server of these routes */
    bool tls;
};

/* {"error": ...} with the status of the errinfo: info->status, or 400 for ERR_INVALID, else 503. */
void api_reply_error(struct http_conn_request *req, enum err err, const struct errinfo *info);

/*
 * A request that waits for the database. If the client disconnects, the answer is dropped; the
 * statement still runs.
 */
struct pending {
    struct http_conn_request *req; /* NULL if the client has disconnected */
    struct arena *arena;           /* owned by the pending, freed with it */
    struct gate_change change;     /* for the log and the metrics */
    bool closes;                   /* the change closes the gate */
    const char *forbidden;         /* answer to a check while the gate is closed */
};
struct pending *pending_new(struct http_conn_request *req);
void pending_free(struct pending *pending);
/* Replies to a read with status 200 and its JSON. arg is a pending, which is freed. */
void pending_reply(void *arg, enum err err, const struct errinfo *info, const char *json);
/* The same for a change: logs and counts it, and reports on failure that its outcome is unknown. */
void pending_changed(void *arg, enum err err, const struct errinfo *info, const char *json);
/* The log and metrics part of pending_changed(). */
void pending_count(struct pending *pending, enum err err, const struct errinfo *info,
                   const char *json);
/* pending_changed() without the answer on success. False if the change failed; the request, if
 * it still exists, was answered. */
bool pending_note_change(struct pending *pending, enum err err, const struct errinfo *info,
                         const char *json);

/*
 * Fills who, verified and via of a change. `said` is the name in the body, NULL if none: without
 * tokens it is accepted unverified; with tokens it must be the token's name. False: rejected and
 * answered.
 */
bool api_sign(struct http_conn_request *req, const struct identity *identity, const char *said,
              struct gate_change *change);

/* Parses --public-url: *out has no slash at the end and is owned by the arena; "" if text is NULL
 * or "". */
enum err api_public_url(struct arena *arena, const char *text, const char **out,
                        struct errinfo *ei) MUST_USE;

/* --- routes */

extern const struct http_route gate_routes[];
/* For http_server_options: 421 if the Host header names a host other than this gate. */
bool routes_admit(void *arg, struct http_conn_request *req);

/* --- the handlers */

void api_gate_check(void *arg, struct http_conn_request *req);
void api_gate_open(void *arg, struct http_conn_request *req);
void api_gate_close(void *arg, struct http_conn_request *req);
void api_gate_approve(void *arg, struct http_conn_request *req);
void api_gate_halt(void *arg, struct http_conn_request *req);
void api_rollback_check(void *arg, struct http_conn_request *req);
void api_rollback_open(void *arg, struct http_conn_request *req);
void api_rollback_close(void *arg, struct http_conn_request *req);
void api_whoami(void *arg, struct http_conn_request *req);
void api_debug_process(void *arg, struct http_conn_request *req);
void api_events(void *arg, struct http_conn_request *req);
void api_gates_list(void *arg, struct http_conn_request *req);
void api_gates_one(void *arg, struct http_conn_request *req); /* /v1/gates/NS/NAME[/VERB] */
void api_history(void *arg, struct http_conn_request *req);
void api_freezes_list(void *arg, struct http_conn_request *req);
void api_freezes_add(void *arg, struct http_conn_request *req);
void api_freezes_end(void *arg, struct http_conn_request *req);
void api_links_make(void *arg, struct http_conn_request *req);
void api_links_show(void *arg, struct http_conn_request *req);
void api_links_use(void *arg, struct http_conn_request *req);

/* Statements of api_links.c, prepared on every connection. */
extern const struct db_statement *const api_link_statements[];

/*
 * --- feed.c: GET /v1/events: changes of the gates as server-sent events (WHATWG HTML).
 *
 *   event: change    {"seq", "action", ...}, the entry of the history; id: SEQ
 *   event: wait      {"namespace", "name"}, a Canary whose waits have changed
 *   event: database  {"ready": bool}, first of all, and on every change
 *
 * A client gets every change after `after`, or after the latest one, once, in the order of the
 * history, including changes made through other replicas. A slow client reads from the database at
 * its own pace; it is disconnected if nothing of its queue is sent within half a minute. A comment
 * every fifteen seconds keeps the connection alive. A stream ends after an hour, so that clients
 * are admitted again, and as soon as its credentials are revoked. Entries of namespaces outside the
 * client's role are omitted.
 */
enum { FEED_MAX_CLIENTS = 256 };

struct feed;

/* Begins to listen; db must live as long as the feed, or answer its last queries before. */
struct feed *feed_new(struct loop *loop, struct db *db, const struct identities *identities);
/* For a shutdown: ends all streams and refuses new ones. */
void feed_stop(struct feed *feed);
void feed_free(struct feed *feed); /* after db_free(); NULL is allowed */

/* Answers a request that was admitted as `identity`: with a stream, or with 429 if there are
 * FEED_MAX_CLIENTS, or if its name has three times as many streams as there are free places.
 * after: the last entry that the client has, -1 to begin with the next one. */
void feed_serve(struct feed *feed, struct http_conn_request *req, const struct identity *identity,
                int64_t after);

/* Snapshot for /debug. */
struct feed_snapshot {
    int clients, behind, waiting; /* all; reading from the database; with a queue */
    int64_t seq;                  /* last entry sent, -1 if none was read yet */
};
void feed_snapshot(const struct feed *feed, struct feed_snapshot *out);

/*
 * --- request.c: parser of bodies and paths, strict and bounded. Pure; strings live in the arena.
 * Every error is ERR_INVALID with the field and the expected value.
 */
enum {
    REQUEST_MAX_NAME = 253, /* bytes of a namespace, name, hook or person */
    REQUEST_MAX_REVISION = 128,
    REQUEST_MAX_REASON = 1000,
    REQUEST_MAX_APPROVERS = 100,
};

/* The body sent by a webhook or by curl (proto/openapi/gate.yaml). hook: from the query, NULL if
 * none. gate->kind is not set. */
enum err request_webhook(struct arena *arena, const char *body, size_t len, const char *hook,
                         struct gate_name *gate, struct gate_question *question,
                         struct errinfo *ei) MUST_USE;

/* Namespace and name from a path; neither contains a slash. */
enum err request_canary(const char *namespace_, const char *name, struct gate_name *gate,
                        struct errinfo *ei) MUST_USE;

/* Fields allowed in a body of /v1. Any other field is an error: a misspelt limit would have no
 * effect. */
enum request_verb { REQUEST_OPEN, REQUEST_APPROVE, REQUEST_CLOSE };

/* Fills kind, hook, revision, expires, for_ms, reason and who (NULL if the body has none) of a
 * change. An empty body is an empty object. */
enum err request_change(struct arena *arena, const char *body, size_t len, enum request_verb verb,
                        struct gate_change *change, struct errinfo *ei) MUST_USE;
enum err request_policy(struct arena *arena, const char *body, size_t len,
                        struct gate_change *change, struct gate_policy *policy,
                        struct errinfo *ei) MUST_USE;
enum err request_freeze(struct arena *arena, const char *body, size_t len,
                        struct gate_change *change, struct gate_freeze *freeze,
                        struct errinfo *ei) MUST_USE;

/* POST /v1/links: sets all fields of a link except its id, issuer and `verified`; the name is
 * NULL if missing. Valid for a day by default, 30 at most. */
enum err request_link(struct arena *arena, const char *body, size_t len, int64_t now_ms,
                      struct link *link, struct errinfo *ei) MUST_USE;

/* A whole number >= 0; `missing` if text is NULL. field: for the message. */
enum err request_number(struct arena *arena, const char *field, const char *text,
                        const char *missing, int64_t max, const char **out,
                        struct errinfo *ei) MUST_USE;
/* 1 to REQUEST_MAX_NAME bytes of UTF-8 without control characters. */
enum err request_name(const char *field, const char *text, struct errinfo *ei) MUST_USE;

#endif
