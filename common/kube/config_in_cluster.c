/* The service account that Kubernetes mounts into each pod. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "kube/config_parts.h"

enum { MAX_NAMESPACE = 256 };

/* The content of dir/namespace without blanks at the end; "default" when there is none. */
static const char *read_namespace(struct arena *arena, const char *dir)
{
    const char *path = arena_printf(arena, "%s/namespace", dir);
    char *text = NULL;
    size_t len = 0;

    if (file_read(arena, path, MAX_NAMESPACE, &text, &len, NULL) != ERR_OK)
        return "default";
    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        text[--len] = '\0';
    return len > 0 ? text : "default";
}

enum err config_in_cluster(struct arena *arena, const char *dir, struct kube_config *out,
                           struct errinfo *ei)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");

    if (!host || !host[0] || !port || !port[0])
        return err_set(ei, ERR_NOT_FOUND,
                       "this is no pod: KUBERNETES_SERVICE_HOST and _PORT are not set");
    *out = (struct kube_config){
        .server = arena_printf(arena, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host,
                               port),
        .namespace_ = read_namespace(arena, dir),
        .context = "",
        .tls = {.ca_file = arena_printf(arena, "%s/ca.crt", dir)},
        .auth = KUBE_AUTH_TOKEN_FILE,
        .token_file = arena_printf(arena, "%s/token", dir),
    };
    if (access(out->token_file, R_OK) != 0)
        return err_set(ei, ERR_DENIED,
                       "%s: the service account's token cannot be read; is "
                       "automountServiceAccountToken off?",
                       out->token_file);
    if (access(out->tls.ca_file, R_OK) != 0)
        return err_set(ei, ERR_DENIED, "%s: the cluster's certificate authority cannot be read",
                       out->tls.ca_file);
    return ERR_OK;
}
