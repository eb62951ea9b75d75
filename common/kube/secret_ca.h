/* Certificate authorities in a Secret (caSecretRef), which a request trusts instead of the
 * system's. */
#ifndef KUBE_SECRET_CA_H
#define KUBE_SECRET_CA_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

/* Default key of a caSecretRef. */
#define SECRET_CA_KEY "ca.crt"

/*
 * *pem: the PEM text under the key, with at least one certificate, owned by the arena. secret_name
 * is for errors, "name.namespace"; key NULL means SECRET_CA_KEY. ERR_INVALID if there is no such
 * key, or no certificate in it.
 */
enum err secret_ca_read(struct arena *arena, const char *secret_name, struct json_object *secret,
                        const char *key, const char **pem, struct errinfo *ei) MUST_USE;

#endif
