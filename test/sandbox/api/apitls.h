/*
 * A certificate authority of the sandbox's own and a server certificate from it, made at the start;
 * ECDSA P-256, for localhost, 127.0.0.1 and the names of the API server's Service.
 */
#ifndef SANDBOX_APITLS_H
#define SANDBOX_APITLS_H

#include "base/arena.h"
#include "base/err.h"

struct apitls {
    const char *ca_file, *cert_file, *key_file; /* owned by the arena */
    const char *ca_pem;
};

/* Writes ca.crt, tls.crt and tls.key into directory; the CA's own key is kept nowhere. */
enum err apitls_make(struct arena *arena, const char *directory, struct apitls *out,
                     struct errinfo *ei) MUST_USE;

#endif
