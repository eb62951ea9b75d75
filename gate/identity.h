/*
 * Who asks, and whether he may.
 *
 * The rows of --token-file give roles and names to bearer tokens and to client certificates:
 *
 *     TOKEN ROLE NAME
 *     cert:CN ROLE NAME
 *
 * A name is 1 to 253 bytes of printable characters without blanks; a file with a wrong row is
 * refused with its line. A token that is brought counts, whatever certificate comes with it.
 * Without a token file every certificate that the client CA has signed is an admin with its own
 * name. Without either of them everybody is an admin without a name, which is Flagger's way.
 *
 * Who is not admitted gets one sentence: 401 without credentials or with wrong ones, 403 when the
 * role is too small. So does a browser that was sent here by another site's page (403), and a body
 * below /v1 that is not sent as application/json (415). flagger_gate_denied_total{reason} counts
 * them.
 */
#ifndef GATE_IDENTITY_H
#define GATE_IDENTITY_H

#include <stdbool.h>

#include "base/err.h"
#include "net/loop.h"
#include "net/server.h"

enum role {
#define ROLE(name, word) ROLE_##name,
#include "gate/role.def"
#undef ROLE
};

enum { IDENTITY_MAX_NAME = 253 };

struct identity {
    const char *name; /* "": nobody had to say; lives as long as the request */
    enum role role;
    bool verified; /* a token or a certificate says so */
};

struct identities_options {
    const char *token_file; /* NULL or "": none */
    bool client_ca;         /* the server verifies certificates of clients */
    bool anonymous_check;   /* identity_admit_check() needs no credentials */
};

struct identities;

/* The word for a role, e.g. "operate". */
const char *role_word(enum role role);

/* ERR_INVALID with file and line. Says in the log when the doors are open. */
enum err identities_new(struct loop *loop, const struct identities_options *options,
                        struct identities **out, struct errinfo *ei) MUST_USE;
/* Stops watching the token file; before the loop can end. */
void identities_stop(struct identities *identities);
void identities_free(struct identities *identities); /* NULL is allowed */

/* True: *out says who asks, and his role is `needed` or more. False: the request was answered. */
bool identity_admit(struct identities *identities, struct http_conn_request *req, enum role needed,
                    struct identity *out) MUST_USE;
/* The same for POST /gate/check and /rollback/check, which change nothing and take Flagger's
 * bodies: whatever page sent them, and with anonymous_check without credentials as well. */
bool identity_admit_check(struct identities *identities, struct http_conn_request *req,
                          struct identity *out) MUST_USE;
/*
 * For requests that bring their right with them (links): false, and answered 403, when a page of
 * another site sent this one. A page whose form posts here must not have the Referrer-Policy
 * no-referrer, with which browsers send "Origin: null"; same-origin keeps the address as secret.
 */
bool identity_admit_origin(struct http_conn_request *req) MUST_USE;

/* GET /v1/whoami: {"name", "role", "anonymous"}. */
void identity_whoami(struct identities *identities, struct http_conn_request *req);

#endif
