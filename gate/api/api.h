/*
 * The handlers of the gate's HTTP routes (proto/openapi/gate.yaml), and what they share. The
 * argument of every handler is a struct gate_api.
 *
 *   routes.c       the table of routes, and which requests get to them
 *   api.c          what handlers share
 *   api_webhook.c  /gate/ and /rollback/: what Canaries and curl know from Flagger
 *   api_gates.c    /v1/gates and /v1/history
 *   api_freezes.c  /v1/freezes
 *   api_links.c    /v1/links and /links/: signed links that do one change, once
 *   api_events.c   /v1/events and /v1/whoami
 *   api_debug.c    /debug/process
 */
#ifndef GATE_API_H
#define GATE_API_H

#include "gate/access/hosts.h"
#include "gate/access/identity.h"
#include "gate/api/feed.h"
#include "gate/db/db.h"
#include "gate/links/link_keys.h"
#include "gate/rules/gates.h"
#include "net/server/server.h"

struct gate_api {
    struct db *db;
    struct identities *identities;
    struct feed *feed;
    struct link_keys *link_keys; /* NULL: no links */
    const char *public_url; /* where people find this gate, no slash at the end; "": as asked */
    const struct hosts *hosts;
    struct http_server *server; /* that serves it */
    bool tls;
};

/* {"error": ...} with the status of an errinfo: info->status, or 400 for ERR_INVALID, 503 else. */
void api_reply_error(struct http_conn_request *req, enum err err, const struct errinfo *info);

/*
 * A request that waits for the database. The client may go first: then only the answer is dropped,
 * not what was asked for.
 */
struct pending {
    struct http_conn_request *req; /* NULL: the client has gone */
    struct arena *arena;           /* its own, freed with it */
    struct gate_change change;     /* for the log and the metrics */
    bool closes;                   /* the change takes away */
    const char *forbidden;         /* what a check is answered while the gate is closed */
};
struct pending *pending_new(struct http_conn_request *req);
void pending_free(struct pending *pending);
/* Answers a read with its JSON, 200. arg is a pending, which is freed. */
void pending_reply(void *arg, enum err err, const struct errinfo *info, const char *json);
/* The same for a change: tells log and metrics, and says on failure that its outcome is unknown. */
void pending_changed(void *arg, enum err err, const struct errinfo *info, const char *json);
/* What pending_changed() tells log and metrics. */
void pending_count(struct pending *pending, enum err err, const struct errinfo *info,
                   const char *json);
/* What pending_changed() does without the answer: false when it failed, and the request, if it is
 * still there, has been answered. */
bool pending_note_change(struct pending *pending, enum err err, const struct errinfo *info,
                         const char *json);

/*
 * Whoever changes: fills who, verified and via of the change. `said` is the name in the body, NULL
 * if none: without tokens it is taken for what it says, unproven; with them it must be the token's.
 * False: refused and answered.
 */
bool api_sign(struct http_conn_request *req, const struct identity *identity, const char *said,
              struct gate_change *change);

/* Where people find this gate, as an option says it: *out has no slash at the end and is owned by
 * the arena, or is "" for text NULL or "". */
enum err api_public_url(struct arena *arena, const char *text, const char **out,
                        struct errinfo *ei) MUST_USE;

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

#endif
