/*
 * Authentication and authorisation of requests, and the names that they may use in the Host header.
 *
 * The rows of --token-file give roles and names to bearer tokens and to client certificates:
 *
 *     TOKEN ROLE NAME
 *     cert:CN ROLE NAME
 *
 * A role may be restricted to namespaces: operate:test,prod. A name is 1 to 253 bytes of printable
 * characters without blanks; a file with an invalid row is rejected, and the error names the line.
 * A token has precedence over a certificate. Without a token file, every certificate signed by the
 * client CA is an admin with its own name. With `anybody` instead of both, every client is an admin
 * without a name, as with Flagger's gate.
 *
 * A rejected request gets one sentence: 401 with missing or wrong credentials, 403 if the role is
 * too low. Also rejected are requests that a page of another site makes a browser send (403), and
 * bodies below /v1 that are not sent as application/json (415). flagger_gate_denied_total{reason}
 * counts them.
 */
#ifndef GATE_IDENTITY_H
#define GATE_IDENTITY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/loop.h"
#include "net/server/server.h"

enum role {
#define ROLE(name, word) ROLE_##name,
#include "gate/access/role.def"
#undef ROLE
};

struct rights {
    enum role role;
    const char *namespaces; /* as in the row: "test,prod"; NULL if not restricted */
};

/* The word for a role, e.g. "operate". */
const char *role_word(enum role role);

/* False if the role is unknown or cannot be assigned, or if ':' is not followed by namespaces.
 * Nothing is copied. */
bool rights_parse(const char *word, struct rights *out);
/* True if the namespace is in the list of a struct rights. */
bool rights_include(const char *namespaces, const char *namespace_);

enum { IDENTITY_MAX_NAME = 253 };

/* Strings live as long as the request. */
struct identity {
    const char *name; /* "" if no credentials are required */
    enum role role;
    const char *namespaces; /* "test,prod"; NULL if not restricted */
    bool verified;          /* proven by a token or a certificate */
    /* Credentials of the request, for identity_sees(). */
    const char *authorization, *certificate;
};

struct identities_options {
    const char *token_file; /* NULL or "": none */
    bool client_ca;         /* the server verifies certificates of clients */
    bool anybody;           /* every client is an admin; excludes both of the above */
    bool anonymous_check;   /* identity_admit_check() needs no credentials */
};

struct identities;

/* ERR_INVALID with file and line, or if access is not configured: none of token file, client CA and
 * `anybody`. Logs a warning if unknown clients are admitted. */
enum err identities_new(struct loop *loop, const struct identities_options *options,
                        struct identities **out, struct errinfo *ei) MUST_USE;
/* Stops watching the token file; required before the loop can end. */
void identities_stop(struct identities *identities);
void identities_free(struct identities *identities); /* NULL is allowed */

/* True if the caller has the role `needed` or a higher one; *out is its identity. False if the
 * request was answered. */
bool identity_admit(struct identities *identities, struct http_conn_request *req, enum role needed,
                    struct identity *out) MUST_USE;
/* The same for POST /gate/check and /rollback/check, which change nothing and take Flagger's
 * bodies: accepted from any origin and, with anonymous_check, without credentials. */
bool identity_admit_check(struct identities *identities, struct http_conn_request *req,
                          struct identity *out) MUST_USE;
/* The second part of admission, for handlers that find out the namespace later: true if the role
 * includes it; false if the request was answered. namespace_ "" means all. */
bool identity_admit_to(struct http_conn_request *req, const struct identity *identity,
                       const char *namespace_) MUST_USE;
/* For open streams: true if the credentials still permit reading objects of the namespace. ""
 * means objects of all namespaces, NULL any. */
bool identity_sees(const struct identities *identities, const struct identity *identity,
                   const char *namespace_);
/* True if the token file gives this name the role in the namespace at the moment. verified: the
 * name was proven. */
bool identities_grant(const struct identities *identities, const char *name, bool verified,
                      enum role role, const char *namespace_);
/*
 * For requests that carry their own authorisation (links). False if a page of another site sent the
 * request, which was then answered with 403. Pages with a form for this path must not have the
 * Referrer-Policy no-referrer, which makes browsers send "Origin: null"; same-origin keeps the
 * address just as secret.
 */
bool identity_admit_origin(struct http_conn_request *req) MUST_USE;

/* GET /v1/whoami: {"name", "role", "anonymous"}, and "namespaces" if the role is restricted. */
void identity_whoami(struct identities *identities, struct http_conn_request *req);

/*
 * --- Names in the Host header that are this gate's own. A page of another site can make its own
 * name resolve to the address of the gate (DNS rebinding): to the browser both are then one site,
 * and only the Host header shows the difference.
 *
 * Own names are
 *   - addresses, localhost, names without a dot, and names below .svc and .svc.cluster.local, which
 *     no page can have;
 *   - in a pod, also SERVICE.NAMESPACE and names below .svc of its cluster's domain
 *     (hosts_options);
 *   - the host of --public-url, and the names of --hosts.
 */
struct hosts_options {
    const char *public_url; /* "" if none */
    const char *names;      /* separated by commas; NULL or "" if none */
    /* Text of /etc/resolv.conf: its search list names the namespace of a pod. */
    const char *resolv_conf;
    /* Host name of the machine; a pod's host name begins with the name of its Deployment. */
    const char *pod;
};

/* Owned by the arena. */
struct hosts;
struct hosts *hosts_new(struct arena *arena, const struct hosts_options *options);
/* host: a Host header, with or without a port. NULL counts as own: browsers always send the
 * header. */
bool hosts_own(const struct hosts *hosts, const char *host);

#endif
