/*
 * The authorities that a Secret holds: whom a request with a caSecretRef believes, instead of the
 * system's.
 */
#ifndef KUBE_SECRET_CA_H
#define KUBE_SECRET_CA_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

/* The key of a caSecretRef without one. */
#define SECRET_CA_KEY "ca.crt"

/*
 * *pem: the PEM text under the key, with at least one certificate, owned by the arena. secret_name
 * is for the sentence, "name.namespace"; key NULL: SECRET_CA_KEY. ERR_INVALID: no such key, or no
 * certificates in it.
 */
enum err secret_ca_read(struct arena *arena, const char *secret_name, struct json_object *secret,
                        const char *key, const char **pem, struct errinfo *ei) MUST_USE;

#endif
