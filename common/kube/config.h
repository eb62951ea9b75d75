/*
 * Access to a Kubernetes API server: kubeconfig files or the pod's service account.
 *
 * KUBECONFIG may list several files, merged as in kubectl (for each name the first file wins;
 * current-context comes from the first file that sets it). Certificates and keys are inline
 * (base64) or paths relative to their file. Credentials are tokens, token files (checked for
 * changes at most once a minute), basic authentication, and exec plugins
 * (client.authentication.k8s.io/v1 and v1beta1; the answer is kept until its expirationTimestamp or
 * a 401).
 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/client.h"

enum kube_auth {
    KUBE_AUTH_NONE,
    KUBE_AUTH_TOKEN,
    KUBE_AUTH_TOKEN_FILE,
    KUBE_AUTH_BASIC,
    KUBE_AUTH_EXEC
};

struct kube_config {
    const char *server;     /* "https://host:port[/prefix]", no trailing slash */
    const char *namespace_; /* the context's, "default" if none */
    const char *context;    /* name, "" in a cluster */
    struct http_tls tls;    /* includes a client certificate, possible with any auth */
    const char *proxy;      /* proxy-url or NULL */
    enum kube_auth auth;
    const char *token;
    const char *token_file;
    const char *username, *password;
    /* exec plugin */
    const char *const *exec_argv;
    const char *const *exec_env; /* "K=V", added to our own environment */
    const char *exec_api_version;
    const char *exec_install_hint;
    bool exec_cluster_info;
    const char *exec_cluster_config; /* JSON text of the cluster's extension for plugins, or NULL */
};

struct kube_config_source {
    const char *kubeconfig; /* --kubeconfig: one path or a KUBECONFIG-style list; NULL or "":
                             * $KUBECONFIG, then the pod's service account, then ~/.kube/config */
    const char *context;    /* NULL for current-context */
    const char *master;     /* overrides the server; NULL or "" if none */
    /* As kubectl's flags: override the context's cluster and user, and the user's credentials. NULL
     * or "" if none. */
    const char *cluster, *user, *token;
};

/* *out lives in the arena. The error names the file and the field. */
enum err kube_config_load(struct arena *arena, const struct kube_config_source *source,
                          struct kube_config *out, struct errinfo *ei) MUST_USE;

/*
 * Reads a kubeconfig from an object of a cluster, such as a Secret; `name` is its name in errors.
 * It must not execute or read anything on this machine: ERR_INVALID if it names a plugin or a file.
 * *out lives in the arena.
 */
enum err kube_config_read(struct arena *arena, const char *name, const char *text, size_t len,
                          struct kube_config *out, struct errinfo *ei) MUST_USE;

/* --- parts of kube_config_load(), for tests and fuzzing. Results live in the arena. */

#define CONFIG_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/*
 * The pod's service account. dir contains token, ca.crt and namespace. ERR_NOT_FOUND if
 * KUBERNETES_SERVICE_HOST is not set, that is, outside of a pod.
 */
enum err config_in_cluster(struct arena *arena, const char *dir, struct kube_config *out,
                           struct errinfo *ei) MUST_USE;

/* One kubeconfig from memory; `path` is its name in errors. */
enum err config_parse(struct arena *arena, const char *path, const char *text, size_t len,
                      const struct kube_config_source *source, struct kube_config *out,
                      struct errinfo *ei) MUST_USE;

#endif
