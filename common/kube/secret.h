/*
 * Data from Secrets for requests: headers, and certificate authorities. Pure.
 *
 * Headers: each key of a Secret is a header (headersFrom of a webhook, secretRef of a
 * MetricTemplate of type web); or they come from a list (for the collector of traces). Pure.
 *
 * They are credentials: their values appear in no log line, error or event. Only Secrets that are
 * meant for it are sent: those with the label flagger.app/headers: "true", and those in which each
 * key is Authorization or begins with X-. Secrets of the cluster's own types are never sent.
 */
#ifndef KUBE_SECRET_H
#define KUBE_SECRET_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "net/client.h"

enum { SECRET_HEADERS_MAX = 32, SECRET_HEADERS_MAX_BYTES = 16 * 1024 };

struct secret_headers {
    struct http_header list[SECRET_HEADERS_MAX + 1]; /* ends with a header whose name is NULL */
    int count;
    size_t bytes; /* total size of names and values */
};

/*
 * Adds the keys of a Secret; an existing header of the same name (in any case) is replaced. name:
 * the Secret's, for errors. Everything lives in the arena. ERR_INVALID, without the value in the
 * message, for: no key, a Secret that is not meant for it, a key that is not a header or that the
 * request sets itself, a control character in a value, too many or too large headers.
 */
enum err secret_headers_add(struct secret_headers *headers, struct arena *arena, const char *name,
                            struct json_object *secret, struct errinfo *ei) MUST_USE;
/*
 * The same for a list in the format of OTEL_EXPORTER_OTLP_HEADERS: NAME=VALUE,NAME=VALUE, where
 * values are percent-encoded (%2C for a comma, %20 for a blank, which may also be written
 * unencoded). A line break separates entries like a comma; blanks around names and values, and
 * empty entries, are ignored. Errors identify an entry by its number: it may be a secret without a
 * name.
 */
enum err secret_headers_parse(struct secret_headers *headers, struct arena *arena, const char *text,
                              struct errinfo *ei) MUST_USE;
/* The text with every header value removed: a service may echo its request. */
const char *secret_headers_redact(const struct secret_headers *headers, struct arena *arena,
                                  const char *text);

/* --- certificate authorities (caSecretRef), which a request trusts instead of the system's */

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
