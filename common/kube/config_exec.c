#include "kube/config_exec.h"

#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

enum { MAX_ANSWER = 1024 * 1024, MAX_CA = 1024 * 1024 };

extern char **environ;

/* The certificate authority in base64, from where it stands; NULL when there is none that can be
 * read. */
static const char *ca_data(struct arena *arena, const struct http_tls *tls)
{
    char *text = NULL;
    size_t len = 0;

    if (tls->ca_pem)
        return base64_encode(arena, tls->ca_pem, strlen(tls->ca_pem));
    if (!tls->ca_file || file_read(arena, tls->ca_file, MAX_CA, &text, &len, NULL) != ERR_OK)
        return NULL;
    return base64_encode(arena, text, len);
}

static void add_cluster(struct arena *arena, const struct kube_config *config,
                        struct json_object *spec)
{
    struct json_object *cluster = json_sub(spec, "cluster");
    struct json_object *extension = NULL;

    json_set_str(cluster, "server", config->server);
    json_set_str(cluster, "tls-server-name", config->tls.server_name);
    if (config->tls.insecure)
        json_set_bool(cluster, "insecure-skip-tls-verify", true);
    json_set_str(cluster, "certificate-authority-data", ca_data(arena, &config->tls));
    json_set_str(cluster, "proxy-url", config->proxy);
    if (config->exec_cluster_config &&
        json_parse(arena, config->exec_cluster_config, strlen(config->exec_cluster_config),
                   JSON_MAX_BYTES, &extension, NULL) == ERR_OK)
        json_set(cluster, "config", extension);
}

static const char *exec_info(struct arena *arena, const struct kube_config *config)
{
    struct json_object *info = json_own(arena, json_object_new_object());

    json_set_str(info, "kind", "ExecCredential");
    json_set_str(info, "apiVersion", config->exec_api_version);
    json_set_bool(json_sub(info, "spec"), "interactive", false);
    if (config->exec_cluster_info)
        add_cluster(arena, config, json_sub(info, "spec"));
    return json_text(arena, info);
}

/* True when the file's env sets the variable that "K=V" of ours names. */
static bool is_replaced(const char *const *vars, const char *ours)
{
    size_t len = strcspn(ours, "=");

    if (strncmp(ours, "KUBERNETES_EXEC_INFO=", len + 1) == 0)
        return true;
    for (; vars && *vars; vars++)
        if (strncmp(*vars, ours, len) == 0 && (*vars)[len] == '=')
            return true;
    return false;
}

const char *const *config_exec_env(struct arena *arena, const struct kube_config *config)
{
    const char *const *vars = config->exec_env;
    size_t count = 2;
    size_t at = 0;

    for (char **own = environ; own && *own; own++)
        count++;
    for (const char *const *var = vars; var && *var; var++)
        count++;
    const char **env = arena_array(arena, count, sizeof(*env));
    for (char **own = environ; own && *own; own++)
        if (!is_replaced(vars, *own))
            env[at++] = *own;
    for (const char *const *var = vars; var && *var; var++)
        env[at++] = *var;
    env[at++] = arena_printf(arena, "KUBERNETES_EXEC_INFO=%s", exec_info(arena, config));
    return env;
}

static enum err check_kind(const struct kube_config *config, struct json_object *answer,
                           struct errinfo *ei)
{
    const char *kind = json_str_at(answer, "kind", NULL);
    const char *version = json_str_at(answer, "apiVersion", NULL);

    if (!kind || strcmp(kind, "ExecCredential") != 0)
        return err_set(ei, ERR_DENIED, "expected an ExecCredential, found %s",
                       kind ? kind : "none");
    if (!version || strcmp(version, config->exec_api_version) != 0)
        return err_set(ei, ERR_DENIED, "expected apiVersion %s, found %s", config->exec_api_version,
                       version ? version : "none");
    return ERR_OK;
}

enum err config_exec_parse(struct arena *arena, const struct kube_config *config,
                           const char *output, size_t len, struct exec_credential *out,
                           struct errinfo *ei)
{
    struct json_object *answer = NULL;
    const char *expires = NULL;

    *out = (struct exec_credential){0};
    /* The parser's own text might quote a piece of the token. */
    if (json_parse(arena, output, len, MAX_ANSWER, &answer, NULL) != ERR_OK)
        return err_set(ei, ERR_DENIED, "the plugin's output is not JSON (%zu bytes)", len);
    if (check_kind(config, answer, ei) != ERR_OK)
        return ERR_DENIED;
    out->token = json_str_at(answer, "status", "token", NULL);
    out->cert_pem = json_str_at(answer, "status", "clientCertificateData", NULL);
    out->key_pem = json_str_at(answer, "status", "clientKeyData", NULL);
    if (out->token && !out->token[0])
        out->token = NULL;
    if (!out->cert_pem != !out->key_pem)
        return err_set(ei, ERR_DENIED,
                       "status: clientCertificateData and clientKeyData must come together");
    if (!out->token && !out->cert_pem)
        return err_set(ei, ERR_DENIED, "status: neither token nor clientCertificateData is there");
    expires = json_str_at(answer, "status", "expirationTimestamp", NULL);
    if (expires && clock_parse(expires, &out->expires_ms, NULL) != ERR_OK)
        return err_set(ei, ERR_DENIED, "status.expirationTimestamp: expected an RFC 3339 time");
    return ERR_OK;
}
