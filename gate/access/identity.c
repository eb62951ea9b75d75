#include "gate/access/identity.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/expo.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "net/server/tokens.h"

static struct expo_metric denied = {.name = "flagger_gate_denied_total",
                                    .help = "Requests that were not admitted, by why",
                                    .type = EXPO_COUNTER,
                                    .labels = {"reason"}};

struct identities {
    struct tokens *tokens; /* NULL: no token file */
    bool client_ca;
    bool anonymous_check;
};

/* What the credentials of a request are worth. */
enum standing { STANDING_KNOWN, STANDING_NONE, STANDING_WRONG };

/* Blanks of ASCII and of Latin-1 and control characters are what a log or a list would not show. */
static bool is_name(const char *text)
{
    size_t len = strlen(text);

    if (len < 1 || len > IDENTITY_MAX_NAME || !utf8_valid(text, len))
        return false;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p <= ' ' || *p == 0x7f || (*p == 0xc2 && p[1] <= 0xa0))
            return false;
    }
    return true;
}

/* --- the rows */

/* What stands there is not repeated: in a row with its words mixed up it may be the token. */
static enum err check_row(const struct token_row *row, struct errinfo *ei)
{
    if (!row->role || !row->name)
        return err_set(ei, ERR_INVALID, "expected TOKEN ROLE NAME, found only %s",
                       row->role ? "two words" : "one word");
    struct rights rights;
    if (!rights_read(row->role, &rights))
        return err_set(ei, ERR_INVALID,
                       "expected the role check, operate or admin as the second word, or one of "
                       "them in namespaces such as operate:test,prod");
    if (!is_name(row->name))
        return err_set(ei, ERR_INVALID,
                       "expected as the name 1 to %d bytes of printable characters without blanks",
                       IDENTITY_MAX_NAME);
    return ERR_OK;
}

static enum err check_options(const struct identities_options *options, struct errinfo *ei)
{
    bool bounded = options->client_ca || (options->token_file && *options->token_file);

    if (!bounded && !options->anybody)
        return err_set(ei, ERR_INVALID,
                       "nothing says who may open gates: expected --token-file or --tls-client-ca, "
                       "or --anybody to let in every client that reaches the port");
    if (bounded && options->anybody)
        return err_set(ei, ERR_INVALID,
                       "--anybody goes with neither --token-file nor --tls-client-ca: they say who "
                       "may open gates");
    return ERR_OK;
}

static void say_what_is_open(const struct identities *identities)
{
    if (identities->tokens)
        return;
    if (identities->client_ca)
        log_warn("any_certificate", NULL,
                 "whoever has a certificate of --tls-client-ca is an admin; rows cert:CN ROLE NAME "
                 "in --token-file bound them");
    else
        log_warn("anybody", NULL,
                 "every client that reaches this port may open every gate, as --anybody says");
}

enum err identities_new(struct loop *loop, const struct identities_options *options,
                        struct identities **out, struct errinfo *ei)
{
    struct tokens *tokens = NULL;

    if (check_options(options, ei) != ERR_OK)
        return ERR_INVALID;
    if (options->token_file && *options->token_file) {
        enum err err = tokens_new(loop, options->token_file, check_row, &tokens, ei);
        if (err != ERR_OK)
            return err;
    }
    *out = heap_alloc(sizeof(**out));
    **out = (struct identities){.tokens = tokens,
                                .client_ca = options->client_ca,
                                .anonymous_check = options->anonymous_check};
    say_what_is_open(*out);
    return ERR_OK;
}

void identities_stop(struct identities *identities)
{
    if (identities->tokens)
        tokens_stop(identities->tokens);
}

void identities_free(struct identities *identities)
{
    if (!identities)
        return;
    tokens_free(identities->tokens);
    free(identities);
}

/* --- who asks */

/* The rows may be read anew while the request waits for the database. */
static enum standing known_as(struct http_conn_request *req, const char *name,
                              const struct rights *rights, struct identity *out)
{
    struct arena *arena = http_req_arena(req);

    out->name = arena_strdup(arena, name);
    out->role = rights->role;
    out->namespaces = arena_strdup(arena, rights->namespaces);
    out->verified = true;
    return STANDING_KNOWN;
}

static const struct token_row *row_of(const struct identities *identities,
                                      const char *authorization, const char *certificate)
{
    if (!identities->tokens)
        return NULL;
    return authorization ? tokens_find(identities->tokens, authorization)
                         : tokens_find_certificate(identities->tokens, certificate);
}

static enum standing identify(struct identities *identities, struct http_conn_request *req,
                              struct identity *out)
{
    const char *authorization = http_req_header(req, "authorization");
    const char *cn = http_req_client_name(req);
    const struct token_row *row = row_of(identities, authorization, cn);
    struct rights rights = {.role = ROLE_ADMIN};

    *out = (struct identity){
        .name = "", .role = ROLE_NONE, .authorization = authorization, .certificate = cn};
    if (!identities->tokens && !identities->client_ca) {
        out->role = ROLE_ADMIN;
        return STANDING_KNOWN;
    }
    if (cn && !authorization && !identities->tokens && is_name(cn))
        return known_as(req, cn, &rights, out);
    if (row && rights_read(row->role, &rights))
        return known_as(req, row->name, &rights, out);
    return authorization ? STANDING_WRONG : STANDING_NONE;
}

static bool refuse(struct http_conn_request *req, int status, const char *reason,
                   const char *sentence)
{
    expo_add(&denied, 1, reason);
    if (status == 401)
        http_reply_header(req, "WWW-Authenticate", "Bearer");
    http_reply_error(req, status, sentence);
    return false;
}

static bool refuse_wrong(struct http_conn_request *req)
{
    const char *authorization = http_req_header(req, "authorization");
    bool bearer = strncasecmp(authorization, "Bearer ", 7) == 0;

    return refuse(req, 401, "wrong_credentials",
                  bearer ? "this bearer token is not known"
                         : "expected a header of the form Authorization: Bearer TOKEN");
}

static bool refuse_nobody(const struct identities *identities, struct http_conn_request *req)
{
    if (http_req_client_name(req))
        return refuse(req, 401, "unknown_certificate",
                      identities->tokens
                          ? "the token file has no row for this client certificate"
                          : "the name in this client certificate has a blank or a character that "
                            "cannot be shown");
    return refuse(req, 401, "no_credentials",
                  !identities->client_ca ? "a bearer token is needed: Authorization: Bearer TOKEN"
                  : identities->tokens   ? "a bearer token or a client certificate is needed"
                                         : "a client certificate with one common name is needed");
}

static bool refuse_standing(const struct identities *identities, struct http_conn_request *req,
                            enum standing standing)
{
    return standing == STANDING_WRONG ? refuse_wrong(req) : refuse_nobody(identities, req);
}

/* --- where a request comes from */

/* Length of "host:port" without the port that the scheme stands for. */
static size_t host_length(const char *host, const char *port)
{
    size_t len = strlen(host), port_len = strlen(port);

    return len > port_len && strcmp(host + len - port_len, port) == 0 ? len - port_len : len;
}

/* "https://gate.example.com" against "gate.example.com": whoever ends TLS before us changes the
 * scheme. "null" is a page without an origin, and foreign. */
static bool names_host(const char *origin, const char *host)
{
    const char *separator = strstr(origin, "://");

    if (!separator || !host)
        return false;
    const char *from = separator + 3;
    const char *port = strncasecmp(origin, "https:", 6) == 0 ? ":443" : ":80";
    size_t len = host_length(from, port);
    return len > 0 && len == host_length(host, port) && strncasecmp(from, host, len) == 0;
}

static bool is_foreign(struct http_conn_request *req)
{
    const char *site = http_req_header(req, "sec-fetch-site");
    const char *origin = http_req_header(req, "origin");

    if (site && (strcasecmp(site, "cross-site") == 0 || strcasecmp(site, "same-site") == 0))
        return true;
    return origin && !names_host(origin, http_req_header(req, "host"));
}

bool identity_admit_origin(struct http_conn_request *req)
{
    const char *method = http_req_method(req);

    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || !is_foreign(req))
        return true;
    return refuse(req, 403, "foreign_origin",
                  "a page of another site sent this request (Origin, Sec-Fetch-Site); nothing is "
                  "changed for it");
}

/* A form of a foreign page cannot send this type. */
static bool is_json(struct http_conn_request *req)
{
    const char *type = http_req_header(req, "content-type");
    size_t len = type ? strcspn(type, "; \t") : 0;

    return len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0;
}

/* --- whether he may */

bool identity_admit(struct identities *identities, struct http_conn_request *req, enum role needed,
                    struct identity *out)
{
    size_t body_len;

    if (!identity_admit_origin(req))
        return false;
    enum standing standing = identify(identities, req, out);
    if (standing != STANDING_KNOWN)
        return refuse_standing(identities, req, standing);
    if (out->role < needed)
        return refuse(req, 403, "role",
                      arena_printf(http_req_arena(req),
                                   "this takes the role %s, and %s has the role %s",
                                   role_word(needed), out->name, role_word(out->role)));
    (void)http_req_body(req, &body_len);
    if (body_len > 0 && strncmp(http_req_path(req), "/v1/", 4) == 0 && !is_json(req))
        return refuse(req, 415, "content_type",
                      "expected a body with the header Content-Type: application/json");
    return true;
}

bool identity_admit_check(struct identities *identities, struct http_conn_request *req,
                          struct identity *out)
{
    enum standing standing = identify(identities, req, out);

    if (standing == STANDING_KNOWN) /* every role may check */
        return true;
    if (standing == STANDING_NONE && identities->anonymous_check) {
        out->role = ROLE_CHECK;
        return true;
    }
    return refuse_standing(identities, req, standing);
}

bool identity_knows(struct identities *identities, struct http_conn_request *req, bool checks)
{
    struct identity who;
    enum standing standing = identify(identities, req, &who);

    if (standing == STANDING_KNOWN)
        return true;
    if (standing == STANDING_NONE && checks && identities->anonymous_check)
        return true;
    expo_add(&denied, 1, "before_body");
    return false;
}

bool identity_admit_to(struct http_conn_request *req, const struct identity *identity,
                       const char *namespace_)
{
    if (rights_cover(identity->namespaces, namespace_))
        return true;
    return refuse(req, 403, "namespace",
                  arena_printf(http_req_arena(req),
                               "%s has the role %s in the namespaces %s only, not in %s",
                               identity->name, role_word(identity->role), identity->namespaces,
                               *namespace_ ? namespace_ : "all of them"));
}

bool identity_sees(const struct identities *identities, const struct identity *identity,
                   const char *namespace_)
{
    struct rights rights;

    if (!identities->tokens)
        return true;
    const struct token_row *row =
        row_of(identities, identity->authorization, identity->certificate);
    if (!row || strcmp(row->name, identity->name) != 0 || !rights_read(row->role, &rights))
        return false;
    return !namespace_ || !*namespace_ || rights_cover(rights.namespaces, namespace_);
}

bool identities_give(const struct identities *identities, const char *name, bool verified,
                     enum role role, const char *namespace_)
{
    const struct token_row *row;
    struct rights rights;

    if (!identities->tokens)
        return verified || !identities->client_ca;
    for (int i = 0; verified && (row = tokens_row(identities->tokens, i)); i++) {
        if (strcmp(row->name, name) == 0 && rights_read(row->role, &rights) &&
            rights.role >= role && rights_cover(rights.namespaces, namespace_))
            return true;
    }
    return false;
}

static struct json_object *namespaces_json(struct arena *arena, const char *namespaces)
{
    struct json_object *array = json_own(arena, json_object_new_array());

    for (const char *at = namespaces; *at; at += *at == ',') {
        size_t len = strcspn(at, ",");
        json_object_array_add(array, json_object_new_string_len(at, (int)len));
        at += len;
    }
    return array;
}

void identity_whoami(struct identities *identities, struct http_conn_request *req)
{
    struct arena *arena = http_req_arena(req);
    struct identity identity;

    if (!identity_admit(identities, req, ROLE_CHECK, &identity))
        return;
    struct json_object *body = json_own(arena, json_object_new_object());
    json_set_str(body, "name", identity.name);
    json_set_str(body, "role", role_word(identity.role));
    json_set_bool(body, "anonymous", !identity.verified);
    if (identity.namespaces)
        json_set(body, "namespaces", namespaces_json(arena, identity.namespaces));
    http_reply_json(req, 200, json_text(arena, body));
}
