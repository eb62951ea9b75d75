/* users[].user of a kubeconfig file: client certificate, token, token file, basic, exec plugin. */
#include <string.h>

#include "base/base64.h"
#include "kube/config_parts.h"

static const char *in_dir(struct arena *arena, const char *dir, const char *path)
{
    if (!path || path[0] == '/' || !dir[0])
        return path;
    return arena_printf(arena, "%s/%s", dir, path);
}

void config_pem(struct json_reader *r, struct json_object *obj, const char *data_key,
                const char *file_key, const char *dir, const char **pem, const char **file)
{
    const char *data = json_read_str(r, obj, data_key, JSON_OPTIONAL);
    const char *path = json_read_str(r, obj, file_key, JSON_OPTIONAL);
    struct errinfo ei = {0};
    char *text = NULL;

    if (data && data[0]) {
        if (base64_decode(r->arena, data, &text, NULL, &ei) != ERR_OK)
            json_reader_fail(r, obj, data_key, "%s", ei.text);
        else if (!strstr(text, "-----BEGIN "))
            json_reader_fail(r, obj, data_key, "expected PEM in base64");
        else
            *pem = text;
    } else if (path && path[0]) {
        *file = in_dir(r->arena, dir, path);
    }
}

/* args and env of the plugin; both arrays end with NULL. */
static void read_exec_lists(struct json_reader *r, struct json_object *exec, const char *command,
                            struct kube_config *out)
{
    struct json_object *args = json_read_array(r, exec, "args", JSON_OPTIONAL);
    struct json_object *env = json_read_array(r, exec, "env", JSON_OPTIONAL);
    const char **argv = arena_array(r->arena, json_len(args) + 2, sizeof(*argv));
    const char **vars = arena_array(r->arena, json_len(env) + 1, sizeof(*vars));

    argv[0] = command;
    for (size_t i = 0; i < json_len(args); i++) {
        argv[i + 1] = json_object_is_type(json_elem(args, i), json_type_string)
                          ? json_object_get_string(json_elem(args, i))
                          : NULL;
        if (!argv[i + 1])
            json_reader_fail(r, exec, "args", "expected strings only");
    }
    for (size_t i = 0; i < json_len(env); i++) {
        struct json_object *var = json_read_elem(r, env, i);
        const char *name = json_read_str(r, var, "name", JSON_REQUIRED);
        const char *value = json_read_str(r, var, "value", JSON_REQUIRED);
        vars[i] = arena_printf(r->arena, "%s=%s", name ? name : "", value ? value : "");
    }
    out->exec_argv = argv;
    out->exec_env = vars;
}

static void read_exec(struct json_reader *r, struct json_object *exec, const char *dir,
                      struct kube_config *out)
{
    const char *version = json_read_str(r, exec, "apiVersion", JSON_REQUIRED);
    const char *command = json_read_str(r, exec, "command", JSON_REQUIRED);
    const char *mode = json_read_str(r, exec, "interactiveMode", JSON_OPTIONAL);

    if (version && strcmp(version, "client.authentication.k8s.io/v1") != 0 &&
        strcmp(version, "client.authentication.k8s.io/v1beta1") != 0)
        json_reader_fail(r, exec, "apiVersion",
                         "expected client.authentication.k8s.io/v1 or v1beta1, found \"%s\"",
                         version);
    if (command && !command[0])
        json_reader_fail(r, exec, "command", "expected the plugin's name or path");
    if (mode && strcmp(mode, "Always") == 0)
        json_reader_fail(r, exec, "interactiveMode",
                         "the plugin wants a terminal, which a daemon does not have");
    /* A bare name is looked up in PATH; anything with a slash is relative to the file. */
    if (command && strchr(command, '/'))
        command = in_dir(r->arena, dir, command);
    out->auth = KUBE_AUTH_EXEC;
    out->exec_api_version = version;
    out->exec_install_hint = json_read_str(r, exec, "installHint", JSON_OPTIONAL);
    out->exec_cluster_info = json_read_bool(r, exec, "provideClusterInfo", false);
    read_exec_lists(r, exec, command, out);
}

/* What cannot be honoured is refused: sending requests as somebody else than asked would be worse.
 */
static void refuse_unsupported(struct json_reader *r, struct json_object *user)
{
    static const char *const impersonation[] = {"as", "as-uid", "as-groups", "as-user-extra"};

    for (size_t i = 0; i < sizeof(impersonation) / sizeof(impersonation[0]); i++)
        if (json_at(user, impersonation[i], NULL))
            json_reader_fail(r, user, impersonation[i], "impersonation is not supported");
    if (json_at(user, "auth-provider", NULL))
        json_reader_fail(r, user, "auth-provider",
                         "legacy auth providers are not supported, use an exec plugin");
}

void config_user(struct json_reader *r, struct json_object *user, const char *dir,
                 struct kube_config *out)
{
    struct json_object *exec = json_read_obj(r, user, "exec", JSON_OPTIONAL);
    const char *token = json_read_str(r, user, "token", JSON_OPTIONAL);
    const char *token_file = json_read_str(r, user, "tokenFile", JSON_OPTIONAL);
    const char *username = json_read_str(r, user, "username", JSON_OPTIONAL);
    const char *password = json_read_str(r, user, "password", JSON_OPTIONAL);

    refuse_unsupported(r, user);
    config_pem(r, user, "client-certificate-data", "client-certificate", dir, &out->tls.cert_pem,
               &out->tls.cert_file);
    config_pem(r, user, "client-key-data", "client-key", dir, &out->tls.key_pem,
               &out->tls.key_file);
    if ((out->tls.cert_pem || out->tls.cert_file) != (out->tls.key_pem || out->tls.key_file))
        json_reader_fail(
            r, user, out->tls.cert_pem || out->tls.cert_file ? "client-key" : "client-certificate",
            "a client certificate and its key must be given together");
    if (token_file && token_file[0]) {
        out->auth = KUBE_AUTH_TOKEN_FILE;
        out->token_file = in_dir(r->arena, dir, token_file);
    } else if (token && token[0]) {
        out->auth = KUBE_AUTH_TOKEN;
        out->token = token;
    } else if (username && username[0]) {
        out->auth = KUBE_AUTH_BASIC;
        out->username = username;
        out->password = password ? password : "";
    } else if (exec) {
        read_exec(r, exec, dir, out);
    }
}
