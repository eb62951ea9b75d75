/* Parts of kube_config_load(), for tests and fuzzing. Results live in the arena. */
#ifndef KUBE_CONFIG_INTERNAL_H
#define KUBE_CONFIG_INTERNAL_H

#include "kube/config.h"

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
