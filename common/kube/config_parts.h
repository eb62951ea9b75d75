/* The parts of kube_config_load(), for its own files and their tests. Everything made lives in the
 * arena. */
#ifndef KUBE_CONFIG_PARTS_H
#define KUBE_CONFIG_PARTS_H

#include "base/json.h"
#include "kube/config.h"

#define CONFIG_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/*
 * The pod's service account. dir holds token, ca.crt and namespace. ERR_NOT_FOUND when
 * KUBERNETES_SERVICE_HOST is not set, which means that this is no pod.
 */
enum err config_in_cluster(struct arena *arena, const char *dir, struct kube_config *out,
                           struct errinfo *ei) MUST_USE;

/* One kubeconfig from memory, path being what errors call it; the fuzzer comes in here. */
enum err config_parse(struct arena *arena, const char *path, const char *text, size_t len,
                      const struct kube_config_source *source, struct kube_config *out,
                      struct errinfo *ei) MUST_USE;

/*
 * Fills the auth part of *out from users[].user; relative paths are taken from dir. Mistakes are
 * left in the reader, with the field's path.
 */
void config_user(struct json_reader *r, struct json_object *user, const char *dir,
                 struct kube_config *out);

/* obj.data_key decoded into *pem, else the path obj.file_key, relative to dir, into *file. */
void config_pem(struct json_reader *r, struct json_object *obj, const char *data_key,
                const char *file_key, const char *dir, const char **pem, const char **file);

#endif
