/*
 * Who asks, and whether he may.
 *
 * The rows of --token-file give roles and names to bearer tokens and to client certificates:
 *
 *     TOKEN ROLE NAME
 *     cert:CN ROLE NAME
 *
 * A role may be bounded to namespaces (gate/access/rights.h): operate:test,prod.
 * A name is 1 to 253 bytes of printable characters without blanks; a file with a wrong row is
 * refused with its line. A token that is brought counts, whatever certificate comes with it.
 * Without a token file every certificate that the client CA has signed is an admin with its own
 * name. With `anybody` instead of both, every client is an admin without a name, as at Flagger's gate.
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
#include "gate/access/rights.h"
#include "net/loop.h"
#include "net/server/server.h"

enum { IDENTITY_MAX_NAME = 253 };

/* Texts live as long as the request. */
struct identity {
    const char *name; /* "": nobody had to say */
    enum role role;
    const char *namespaces; /* where; "test,prod", NULL: everywhere */
    bool verified;          /* a token or a certificate says so */
    /* What he came with; for identity_sees(). */
    const char *authorization, *certificate;
};

struct identities_options {
    const char *token_file; /* NULL or "": none */
    bool client_ca;         /* the server verifies certificates of clients */
    bool anybody;           /* every client is an admin; goes with neither of the above */
    bool anonymous_check;   /* identity_admit_check() needs no credentials */
};

struct identities;

/* ERR_INVALID with file and line, or when it is not said who may ask: not one of token file, client
 * CA and `anybody`. Warns in the log when strangers are admitted. */
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
/* Before a body is read: whether he may ask anything at all. checks: what identity_admit_check()
 * admits. Counts whom it refuses; who is known has still to be admitted. */
bool identity_knows(struct identities *identities, struct http_conn_request *req, bool checks);
/* The second half, where the namespace is known only then: true when his role reaches it; false:
 * the request was answered. namespace_ "": all of them. */
bool identity_admit_to(struct http_conn_request *req, const struct identity *identity,
                       const char *namespace_) MUST_USE;
/* Of a stream that goes on: whether his credentials still let him read what is of this namespace.
 * "": what is of all of them; NULL: anything at all. */
bool identity_sees(const struct identities *identities, const struct identity *identity,
                   const char *namespace_);
/* Whether somebody of this name, which was proven or was not, has this role there now. */
bool identities_give(const struct identities *identities, const char *name, bool verified,
                     enum role role, const char *namespace_);
/*
 * For requests that bring their right with them (links): false, and answered 403, when a page of
 * another site sent this one. A page whose form posts here must not have the Referrer-Policy
 * no-referrer, with which browsers send "Origin: null"; same-origin keeps the address as secret.
 */
bool identity_admit_origin(struct http_conn_request *req) MUST_USE;

/* GET /v1/whoami: {"name", "role", "anonymous"}, and "namespaces" of a role that is bounded. */
void identity_whoami(struct identities *identities, struct http_conn_request *req);

#endif
