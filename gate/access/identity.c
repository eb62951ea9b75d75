#include "gate/access/identity.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/encoding.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "net/server/tokens.h"

/* --- roles */

enum { MAX_NAMESPACE = 63 };

static const char *const role_words[] = {
#define ROLE(name, word) [ROLE_##name] = (word),
#include "gate/access/role.def"
#undef ROLE
};

const char *role_word(enum role role)
{
    return role_words[role];
}

static enum role role_find(const char *word, size_t len)
{
    for (enum role role = ROLE_CHECK; role <= ROLE_ADMIN; role++) {
        if (strlen(role_words[role]) == len && strncmp(word, role_words[role], len) == 0)
            return role;
    }
    return ROLE_NONE;
}

/* A misspelt namespace would be a restriction without effect. */
static bool are_namespaces(const char *text)
{
    for (;;) {
        size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (len == 0 || len > MAX_NAMESPACE || text[0] == '-' || text[len - 1] == '-')
            return false;
        if (!text[len])
            return true;
        if (text[len] != ',')
            return false;
        text += len + 1;
    }
}

bool rights_parse(const char *word, struct rights *out)
{
    size_t len = word ? strcspn(word, ":") : 0;

    *out = (struct rights){.role = ROLE_NONE};
    if (!word || (word[len] && !are_namespaces(word + len + 1)))
        return false;
    out->role = role_find(word, len);
    out->namespaces = word[len] ? word + len + 1 : NULL;
    return out->role != ROLE_NONE;
}

bool rights_include(const char *namespaces, const char *namespace_)
{
    size_t len = strlen(namespace_);

    if (!namespaces)
        return true;
    for (const char *at = namespaces; len > 0; at++) {
        size_t here = strcspn(at, ",");
        if (here == len && strncmp(at, namespace_, len) == 0)
            return true;
        at += here;
        if (!*at)
            break;
    }
    return false;
}

/* --- credentials */

static struct metrics_family denied = {.name = "flagger_gate_denied_total",
                                       .help = "Requests that were not admitted, by why",
                                       .type = METRICS_COUNTER,
                                       .labels = {"reason"}};

struct identities {
    struct tokens *tokens; /* NULL if there is no token file */
    bool client_ca;
    bool anonymous_check;
};

/* The result of checking a request's credentials. */
enum standing { STANDING_KNOWN, STANDING_NONE, STANDING_WRONG };

/* Rejects blanks of ASCII and Latin-1 and control characters, which a log or a list would not
 * show. */
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

/* The content of the row is not quoted: if its words are in the wrong order, it may be the
 * token. */
static enum err check_row(const struct token_row *row, struct errinfo *ei)
{
    if (!row->role || !row->name)
        return err_set(ei, ERR_INVALID, "expected TOKEN ROLE NAME, found only %s",
                       row->role ? "two words" : "one word");
    struct rights rights;
    if (!rights_parse(row->role, &rights))
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

static void warn_if_open(const struct identities *identities)
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
    warn_if_open(*out);
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

/* --- identification */

/* Copies: the token file may be read again while the request waits for the database. */
static enum standing set_identity(struct http_conn_request *req, const char *name,
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
        return set_identity(req, cn, &rights, out);
    if (row && rights_parse(row->role, &rights))
        return set_identity(req, row->name, &rights, out);
    return authorization ? STANDING_WRONG : STANDING_NONE;
}

static bool refuse(struct http_conn_request *req, int status, const char *reason,
                   const char *sentence)
{
    metrics_add(&denied, 1, reason);
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

static bool refuse_missing(const struct identities *identities, struct http_conn_request *req)
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
    return standing == STANDING_WRONG ? refuse_wrong(req) : refuse_missing(identities, req);
}

/* --- origin of a request */

/* Length of "host:port" without the port if that is the default of the scheme. */
static size_t host_length(const char *host, const char *port)
{
    size_t len = strlen(host), port_len = strlen(port);

    return len > port_len && strcmp(host + len - port_len, port) == 0 ? len - port_len : len;
}

/* Compares "https://gate.example.com" with "gate.example.com"; a proxy that ends TLS changes the
 * scheme. "null" is a page without an origin, which counts as foreign. */
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

/* A form on a foreign page cannot send this type. */
static bool is_json(struct http_conn_request *req)
{
    const char *type = http_req_header(req, "content-type");
    size_t len = type ? strcspn(type, "; \t") : 0;

    return len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0;
}

/* --- authorisation */

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

bool identity_admit_to(struct http_conn_request *req, const struct identity *identity,
                       const char *namespace_)
{
    if (rights_include(identity->namespaces, namespace_))
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
    if (!row || strcmp(row->name, identity->name) != 0 || !rights_parse(row->role, &rights))
        return false;
    return !namespace_ || !*namespace_ || rights_include(rights.namespaces, namespace_);
}

bool identities_grant(const struct identities *identities, const char *name, bool verified,
                      enum role role, const char *namespace_)
{
    const struct token_row *row;
    struct rights rights;

    if (!identities->tokens)
        return verified || !identities->client_ca;
    for (int i = 0; verified && (row = tokens_row(identities->tokens, i)); i++) {
        if (strcmp(row->name, name) == 0 && rights_parse(row->role, &rights) &&
            rights.role >= role && rights_include(rights.namespaces, namespace_))
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

/* --- names in the Host header */

enum { MAX_HOST = 255 };

struct hosts {
    const char *const *names; /* NULL-ended */
    const char *public;       /* host of --public-url without a port; "" if none */
    const char *namespace_;   /* namespace of the pod; "" if unknown */
    const char *domain;       /* this cluster's name for ".svc.cluster.local"; "" if unknown */
    const char *pod;
};

/* Strips the port, the brackets of an IPv6 address and a final dot. False if it is not a host. */
static bool read_host(const char *text, char host[MAX_HOST + 1])
{
    const char *start = *text == '[' ? text + 1 : text;
    size_t len = strcspn(start, *text == '[' ? "]" : ":/");
    const char *rest = start + len;

    if (*text == '[' && (rest[0] != ']' || (rest[1] && !strchr(":/", rest[1]))))
        return false;
    if (len > 0 && start[len - 1] == '.')
        len--;
    if (len == 0 || len > MAX_HOST)
        return false;
    memcpy(host, start, len);
    host[len] = '\0';
    return true;
}

static const char *copy_host(struct arena *arena, const char *text)
{
    char host[MAX_HOST + 1];

    return read_host(text, host) ? arena_strdup(arena, host) : "";
}

/* "search NAMESPACE.svc.DOMAIN ..." */
static void read_search(struct arena *arena, const char *resolv_conf, struct hosts *hosts)
{
    static const char search[] = "search", svc[] = ".svc.";

    for (const char *line = resolv_conf; line && *line; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n"), word = sizeof(search) - 1;
        if (strncmp(line, search, word) == 0) {
            const char *name = line + word + strspn(line + word, " \t");
            name = arena_strndup(arena, name, strcspn(name, " \t\n"));
            const char *dot = strchr(name, '.');
            if (dot && strncmp(dot, svc, sizeof(svc) - 1) == 0) {
                hosts->namespace_ = arena_strndup(arena, name, (size_t)(dot - name));
                hosts->domain = dot;
            }
        }
        line += len;
    }
}

struct hosts *hosts_new(struct arena *arena, const struct hosts_options *options)
{
    struct hosts *hosts = ARENA_NEW(arena, struct hosts);
    const char *host = options->public_url ? strstr(options->public_url, "://") : NULL;

    *hosts = (struct hosts){.names = option_split(arena, options->names),
                            .public = host ? copy_host(arena, host + 3) : "",
                            .namespace_ = "",
                            .domain = "",
                            .pod = options->pod ? options->pod : ""};
    read_search(arena, options->resolv_conf, hosts);
    return hosts;
}

static bool ends_with(const char *host, const char *end)
{
    size_t len = strlen(host), end_len = strlen(end);

    return end_len > 0 && len > end_len && strcasecmp(host + len - end_len, end) == 0;
}

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* "-6f7d9c5b4-x2x7k" of a Deployment's pod, "-0" of a StatefulSet's. */
static bool is_pod_suffix(const char *text)
{
    const char *last = strrchr(text, '-');

    if (*text != '-')
        return false;
    return last == text ? text[1] && text[1 + strspn(text + 1, "0123456789")] == '\0'
                        : strchr(text + 1, '-') == last && strlen(last) == sizeof("-x2x7k") - 1;
}

/* True for flagger-gate.flagger, in the pod flagger-gate-6f7d9c5b4-x2x7k of the namespace
 * flagger. The namespace alone is not enough: its name may equal a public domain, in which
 * anyone can register a name. */
static bool is_service(const struct hosts *hosts, const char *host)
{
    const char *dot = strchr(host, '.');
    size_t len = dot ? (size_t)(dot - host) : 0;

    return len > 0 && *hosts->namespace_ && strcasecmp(dot + 1, hosts->namespace_) == 0 &&
           strncasecmp(hosts->pod, host, len) == 0 && is_pod_suffix(hosts->pod + len);
}

bool hosts_own(const struct hosts *hosts, const char *text)
{
    char host[MAX_HOST + 1];

    if (!text)
        return true;
    if (!read_host(text, host))
        return false;
    if (!strchr(host, '.') || is_address(host) || ends_with(host, ".localhost") ||
        ends_with(host, ".svc") || ends_with(host, ".svc.cluster.local") ||
        ends_with(host, hosts->domain) || is_service(hosts, host) ||
        (*hosts->public && strcasecmp(host, hosts->public) == 0))
        return true;
    for (const char *const *name = hosts->names; *name; name++)
        if (strcasecmp(host, *name) == 0)
            return true;
    return false;
}
