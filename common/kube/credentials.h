/*
 * Credentials of requests, kept fresh: a token file is read again when it has changed (checked once
 * a minute), an exec plugin is run again when its answer expires. A 401 refreshes either at once.
 *
 * Belongs to the client. `changed` is called from the loop, never from a function of this file,
 * when a pending plugin has answered or failed.
 */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include "kube/config.h"
#include "net/loop.h"

struct credentials;

enum credentials_state {
    CREDENTIALS_READY,   /* the view is filled */
    CREDENTIALS_PENDING, /* call again after changed() */
    CREDENTIALS_FAILED,  /* see errinfo */
};

/* Valid until the next iteration of the loop. */
struct credentials_view {
    const char *authorization; /* header value, NULL if none */
    const struct http_tls *tls;
    uint64_t generation;
};

struct credentials *credentials_new(struct loop *loop, const struct kube_config *config,
                                    void (*changed)(void *arg), void *arg);
void credentials_free(struct credentials *c); /* a running plugin is stopped */
/* Interval of the checks of the token file, default one minute; for tests. */
void credentials_set_check_interval(struct credentials *c, int64_t ms);
enum credentials_state credentials_get(struct credentials *c, struct credentials_view *view,
                                       struct errinfo *ei);
/* Reports a 401 for that generation. Returns true if the request should be sent again with fresh
 * credentials. */
bool credentials_refused(struct credentials *c, uint64_t generation);

/* The protocol of exec plugins, client.authentication.k8s.io/v1 and v1beta1; for tests and
 * fuzzing. */
struct exec_credential {
    const char *token;    /* NULL if none */
    const char *cert_pem; /* NULL if none; else key_pem is set too */
    const char *key_pem;
    int64_t expires_ms; /* Unix time; 0 if unknown */
};

/* The plugin's environment, NULL-ended: ours, the kubeconfig's, and KUBERNETES_EXEC_INFO. */
const char *const *config_exec_env(struct arena *arena, const struct kube_config *config);
/* Parses the output. Errors never quote it, since it is secret. */
enum err config_exec_parse(struct arena *arena, const struct kube_config *config,
                           const char *output, size_t len, struct exec_credential *out,
                           struct errinfo *ei) MUST_USE;

#endif
