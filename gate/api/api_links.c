/*
 * Signed links: POST /v1/links creates one, GET /links/TOKEN shows its change, and POST to the same
 * address makes the change, once. The link is the credential for the latter two, so they need no
 * other.
 */
#include <ctype.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "gate/api/api.h"
#include "gate/links/link.h"

static struct metrics_family links = {.name = "flagger_gate_links_total",
                                      .help = "Signed links by what became of them",
                                      .type = METRICS_COUNTER,
                                      .labels = {"outcome"}};

/*
 * --- statements for links, with errors as in gate/rules/gates.h. A link is marked as used in the
 * same transaction as its change, by the database's clock; if the change is rejected or lost, the
 * link stays valid.
 */

static const struct db_statement created = {
    .name = "link_made",
    .sql = "SELECT json_build_object('seq', flagger_gate_link_made($1, $2, $3, $4, $5, $6, $7, $8, "
           "$9, $10, $11, $12, $13))",
    .n_params = 13,
    .lane = DB_CHANGE};
static const struct db_statement look = {.name = "link_look",
                                         .sql = "SELECT flagger_gate_link_look($1, $2)",
                                         .n_params = 2,
                                         .lane = DB_ASK};
static const struct db_statement use = {
    .name = "link_use",
    .sql = "SELECT row_to_json(c) FROM (SELECT r.*, flagger_gate_hash(r.seq) AS hash FROM "
           "flagger_gate_link($1, $2, $3, $4, $5, $6, $7, $8, now() + $9::bigint * "
           "interval '1 millisecond', $10, $11, $12, $13) r) c",
    .n_params = 13,
    .lane = DB_CHANGE};

const struct db_statement *const api_link_statements[] = {&created, &look, &use, NULL};

/* The fields of a link as parameter texts. */
struct texts {
    char id[LINK_ID_TEXT];
    char expires[CLOCK_TEXT];
    char for_ms[24];
};

static const char *for_text(const struct link *link, struct texts *texts)
{
    snprintf(texts->for_ms, sizeof(texts->for_ms), "%lld", (long long)link->for_ms);
    return link->for_ms ? texts->for_ms : NULL;
}

/* LINK_FIELDS: the fields of a link, which are the first parameters of both statements that take
 * one. */
enum { LINK_FIELDS = 10, LINK_PARAMS = 13 };

static void put_fields(const struct link *link, struct texts *texts,
                       const char *params[LINK_PARAMS])
{
    const char *const fields[LINK_FIELDS] = {link_id_text(link, texts->id),
                                             clock_rfc3339(link->expires_s * 1000, texts->expires),
                                             link_action_name(link->action),
                                             link_kind_name(link->kind),
                                             link->namespace_,
                                             link->name,
                                             link->hook,
                                             link->revision,
                                             for_text(link, texts),
                                             link->who};

    memcpy(params, fields, sizeof(fields));
}

/* Records in the history that the link was created; {"seq"}. */
static void record(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    const char *params[LINK_PARAMS] = {
        [10] = link->issuer, [11] = db_bool(link->verified), [12] = link->reason};
    struct texts t;

    put_fields(link, &t, params);
    gates_run(db, &created, params, done, arg);
}

/* ERR_OK if the link can still be used, else the reason (status 403). json is "{}". */
static void probe(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    struct texts t;
    const char *const params[] = {link_id_text(link, t.id),
                                  clock_rfc3339(link->expires_s * 1000, t.expires)};
    gates_run(db, &look, params, done, arg);
}

/* Makes the link's change; the answer is that of gates_open() or gates_close(). Status 403 if
 * the link is used or expired. */
static void redeem(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    const char *params[LINK_PARAMS] = {
        [10] = db_bool(link->verified), [11] = "link", [12] = link->reason};
    struct texts t;

    put_fields(link, &t, params);
    gates_run(db, &use, params, done, arg);
}

/* A link that waits for the database. */
struct link_request {
    struct pending *pending;
    struct link link; /* its strings live in the pending's arena */
    const char *url;  /* URL of the created link */
    bool json;
};

/* --- creating a link */

/* Characters allowed in a Host header, so that it can be part of a URL. */
static bool is_host(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-_:[]", *c))
            return false;
    return *host && strlen(host) <= REQUEST_MAX_NAME + 6;
}

enum err api_public_url(struct arena *arena, const char *text, const char **out, struct errinfo *ei)
{
    enum { MAX = 1024 };
    size_t len = text ? strlen(text) : 0;
    const char *host = !text ? NULL : strstr(text, "://");
    *out = "";
    if (len == 0)
        return ERR_OK;
    bool web = strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
    if (!web || !(isalnum((unsigned char)host[3]) || host[3] == '[') || len > MAX ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/%[]") !=
            len)
        return err_set(ei, ERR_INVALID,
                       "--public-url: expected a URL such as https://gates.example.com, found %s",
                       text);
    while (text[len - 1] == '/')
        len--;
    *out = arena_strndup(arena, text, len);
    return ERR_OK;
}

/* Address of this gate without a slash at the end. NULL if unknown; the request was answered. */
static const char *own_url(struct gate_api *api, struct http_conn_request *req)
{
    const char *host = http_req_header(req, "host");
    if (*api->public_url)
        return api->public_url;
    if (host && is_host(host))
        return arena_printf(http_req_arena(req), "%s://%s", api->tls ? "https" : "http", host);
    http_reply_error(req, 400,
                     "the gate does not know its own address: expected a Host header, or "
                     "--public-url");
    return NULL;
}

/* Only an admin may give other names: a quorum counts names. False: rejected and answered. */
static bool take_names(struct http_conn_request *req, const struct identity *identity,
                       struct link *link)
{
    bool named = *identity->name != '\0';
    if (named && link->who && strcmp(link->who, identity->name) != 0 &&
        identity->role < ROLE_ADMIN) {
        http_reply_error(req, 403,
                         arena_printf(http_req_arena(req),
                                      "as: only an admin makes links for others, the credentials "
                                      "are those of %s",
                                      identity->name));
        return false;
    }
    link->issuer = named ? identity->name : "anonymous";
    link->verified = named && identity->verified;
    if (!link->who)
        link->who = link->issuer;
    return true;
}

static void on_recorded(void *arg, enum err err, const struct errinfo *info, const char *json)
{
    struct link_request *f = arg;
    struct pending *pending = f->pending;
    const struct link *link = &f->link;
    (void)json;
    if (err != ERR_OK) {
        if (pending->req)
            api_reply_error(pending->req, err, info);
        pending_free(pending);
        return;
    }
    char id[LINK_ID_TEXT], expires[CLOCK_TEXT];
    struct json_object *answer = json_own(pending->arena, json_object_new_object());
    json_set_str(answer, "url", f->url);
    json_set_str(answer, "id", link_id_text(link, id));
    json_set_str(answer, "expires", clock_rfc3339(link->expires_s * 1000, expires));
    metrics_add(&links, 1, "made");
    log_info("link_made", arena_printf(pending->arena, "%s.%s", link->name, link->namespace_),
             "somebody has made a signed link", LOG_STR("link", id),
             LOG_STR("action", link_action_name(link->action)), LOG_STR("who", link->issuer),
             LOG_STR("as", link->who));
    if (pending->req)
        http_reply_json(pending->req, 200, json_text(pending->arena, answer));
    pending_free(pending);
}

static void make(struct gate_api *api, struct http_conn_request *req, struct link_request *f)
{
    struct arena *arena = f->pending->arena;
    struct identity identity;
    struct errinfo info = {0};
    const char *token, *here;
    size_t len;
    int n_keys;
    const char *body = http_req_body(req, &len);
    if (!identity_admit(api->identities, req, ROLE_OPERATE, &identity))
        goto refused;
    if (!api->link_keys) {
        http_reply_error(req, 409, "this gate signs no links: start it with --link-key-file");
        goto refused;
    }
    if (request_link(arena, body, len, clock_wall_ms(), &f->link, &info) != ERR_OK) {
        api_reply_error(req, ERR_INVALID, &info);
        goto refused;
    }
    if (!identity_admit_to(req, &identity, f->link.namespace_) ||
        !take_names(req, &identity, &f->link) || !(here = own_url(api, req)))
        goto refused;
    f->link.who = arena_strdup(arena, f->link.who);
    f->link.issuer = arena_strdup(arena, f->link.issuer);
    const struct link_key *key = link_keys_list(api->link_keys, &n_keys);
    if (RAND_bytes(f->link.id, LINK_ID_BYTES) != 1) {
        http_reply_error(req, 503, "there are no random numbers for the link's id");
        goto refused;
    }
    if (link_sign(arena, key, &f->link, &token, &info) != ERR_OK) {
        api_reply_error(req, ERR_INVALID, &info);
        goto refused;
    }
    f->url = arena_printf(arena, "%s/links/%s", here, token);
    record(api->db, &f->link, on_recorded, f);
    return;
refused:
    pending_free(f->pending);
}

static struct link_request *following_new(struct http_conn_request *req)
{
    struct pending *pending = pending_new(req);
    struct link_request *f = ARENA_NEW(pending->arena, struct link_request);
    f->pending = pending;
    return f;
}

void api_links_make(void *arg, struct http_conn_request *req)
{
    make(arg, req, following_new(req));
}

/* --- following a link */

static bool wants_json(struct http_conn_request *req)
{
    const char *accept = http_req_header(req, "accept");
    return accept && strstr(accept, "application/json") && !strstr(accept, "text/html");
}

static void reply_page(struct http_conn_request *req, int status, const char *page)
{
    http_reply(req, status, "text/html; charset=utf-8", page, strlen(page));
}

static void reply_headers(struct http_conn_request *req)
{
    for (const struct link_page_header *h = link_page_headers; h->name; h++)
        http_reply_header(req, h->name, h->value);
}

static void refuse(struct http_conn_request *req, bool json, int status, const char *sentence)
{
    if (json)
        http_reply_error(req, status, sentence);
    else
        reply_page(req, status, link_page_refused(http_req_arena(req), sentence));
}

static const char *link_json(struct arena *arena, const struct link *link)
{
    char id[LINK_ID_TEXT], expires[CLOCK_TEXT];
    struct json_object *answer = json_own(arena, json_object_new_object());
    json_set_str(answer, "id", link_id_text(link, id));
    json_set_str(answer, "action", link_action_name(link->action));
    json_set_str(answer, "kind", link_kind_name(link->kind));
    json_set_str(answer, "namespace", link->namespace_);
    json_set_str(answer, "name", link->name);
    json_set_str(answer, "hook", link->hook);
    json_set_str(answer, "revision", link->revision);
    json_set_str(answer, "who", link->who);
    json_set_str(answer, "issuer", link->issuer);
    json_set_str(answer, "reason", link->reason);
    if (link->for_ms)
        json_set_int(answer, "forMs", link->for_ms);
    json_set_str(answer, "expires", clock_rfc3339(link->expires_s * 1000, expires));
    return json_text(arena, answer);
}

/* A link is valid only while its issuer still has the role that it needs. */
static bool issuer_has_role(struct gate_api *api, const struct link *link)
{
    bool for_others = strcmp(link->who, link->issuer) != 0 && link->verified;
    return identities_grant(api->identities, link->issuer, link->verified,
                            for_others ? ROLE_ADMIN : ROLE_OPERATE, link->namespace_);
}

/* The link in the request's path if it is valid; else NULL, and the request was answered. */
static struct link_request *read_link(struct gate_api *api, struct http_conn_request *req)
{
    reply_headers(req);
    const char *token = http_req_segment(req, 1);
    bool json = wants_json(req);
    int n_keys;
    if (!api->link_keys || !token || http_req_segment(req, 2)) {
        refuse(req, json, 404, "there is nothing at this path");
        return NULL;
    }
    struct link_request *f = following_new(req);
    f->json = json;
    const struct link_key *keys = link_keys_list(api->link_keys, &n_keys);
    enum link_verdict verdict =
        link_verify(f->pending->arena, keys, n_keys, token, clock_wall_ms() / 1000, &f->link);
    bool revoked = verdict == LINK_GOOD && !issuer_has_role(api, &f->link);
    if (verdict == LINK_GOOD && !revoked)
        return f;
    metrics_add(&links, 1, revoked ? "revoked" : link_verdict_word(verdict));
    pending_free(f->pending);
    refuse(req, json, 403,
           revoked ? "whoever made this link may not do what it does any more"
                   : link_verdict_text(verdict));
    return NULL;
}

/* True if the database rejected the link; the request was answered. */
static bool is_refused(struct link_request *f, enum err err, const struct errinfo *info)
{
    struct http_conn_request *req = f->pending->req;
    if (err == ERR_OK)
        return false;
    bool rule = info->status >= 400 && info->status < 500;
    metrics_add(&links, 1, rule ? "refused" : "unknown");
    if (req && rule)
        refuse(req, f->json, info->status, info->text);
    else if (req)
        refuse(req, f->json, 503,
               arena_printf(f->pending->arena, "%s; try the link again, it never works twice",
                            info->text));
    return true;
}

static void on_probed(void *arg, enum err err, const struct errinfo *info, const char *json)
{
    struct link_request *f = arg;
    struct pending *pending = f->pending;
    (void)json;
    if (!is_refused(f, err, info) && pending->req) {
        if (f->json)
            http_reply_json(pending->req, 200, link_json(pending->arena, &f->link));
        else
            reply_page(pending->req, 200, link_page_confirm(pending->arena, &f->link));
    }
    pending_free(pending);
}

void api_links_show(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct link_request *f = read_link(api, req);
    if (f)
        probe(api->db, &f->link, on_probed, f);
}

/* Fields of the change for log and metrics. */
static void fill_change(struct link_request *f)
{
    const struct link *link = &f->link;
    f->pending->closes = link->action == LINK_CLOSE;
    f->pending->change = (struct gate_change){
        .gate = {.kind = link_kind_name(link->kind),
                 .namespace_ = link->namespace_,
                 .name = link->name,
                 .hook = link->hook},
        .revision = link->revision,
        .who = link->who,
        .via = "link",
        .verified = link->verified,
        .reason = link->reason,
    };
}

static void on_redeemed(void *arg, enum err err, const struct errinfo *info, const char *json)
{
    struct link_request *f = arg;
    struct pending *pending = f->pending;
    struct errinfo bad = {0};
    struct json_object *root;
    pending_count(pending, err, info, json);
    if (!is_refused(f, err, info)) {
        metrics_add(&links, 1, "used");
        if (pending->req && f->json) {
            http_reply_json(pending->req, 200, json);
        } else if (pending->req && json_parse(pending->arena, json, strlen(json), JSON_MAX_BYTES,
                                              &root, &bad) == ERR_OK) {
            const struct link_result result = {
                .changed = json_bool_at(root, false, "changed", NULL),
                .open = json_bool_at(root, false, "open", NULL),
                .votes = json_int_at(root, 0, "votes", NULL),
                .quorum = json_int_at(root, 1, "quorum", NULL),
            };
            reply_page(pending->req, 200, link_page_done(pending->arena, &f->link, &result));
        }
    }
    pending_free(pending);
}

void api_links_use(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct link_request *f;
    if (!identity_admit_origin(req) || !(f = read_link(api, req)))
        return;
    fill_change(f);
    redeem(api->db, &f->link, on_redeemed, f);
}
