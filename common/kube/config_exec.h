/*
 * The protocol of exec credential plugins, client.authentication.k8s.io/v1 and v1beta1: what the
 * plugin is told in its environment, and what it answers on its standard output. Running it is the
 * business of kube/credentials.h.
 */
#ifndef KUBE_CONFIG_EXEC_H
#define KUBE_CONFIG_EXEC_H

#include "kube/config.h"

struct exec_credential {
    const char *token;    /* NULL: none */
    const char *cert_pem; /* NULL: none; key_pem goes with it */
    const char *key_pem;
    int64_t expires_ms; /* Unix time; 0: it does not say */
};

/* The plugin's whole environment, NULL-ended: ours, the file's, and KUBERNETES_EXEC_INFO. */
const char *const *config_exec_env(struct arena *arena, const struct kube_config *config);
/* The answer. An error never repeats it: it is a secret. */
enum err config_exec_parse(struct arena *arena, const struct kube_config *config,
                           const char *output, size_t len, struct exec_credential *out,
                           struct errinfo *ei) MUST_USE;

#endif
