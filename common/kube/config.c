/* Reads the service account of a pod or kubeconfig files, and combines cluster, user and
 * context. */
#include "kube/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/file.h"
#include "base/yaml.h"

enum { MAX_FILES = 32, MAX_FILE_BYTES = 8 * 1024 * 1024, MAX_NAMESPACE = 256 };

/* The content of dir/namespace without trailing blanks; "default" if there is none. */
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

static const char *in_dir(struct arena *arena, const char *dir, const char *path)
{
    if (!path || path[0] == '/' || !dir[0])
        return path;
    return arena_printf(arena, "%s/%s", dir, path);
}

static void config_pem(struct json_reader *r, struct json_object *obj, const char *data_key,
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

/* Reads args and env of the plugin; both arrays end with NULL. */
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
    /* A bare name is looked up in PATH; a path with a slash is relative to the file. */
    if (command && strchr(command, '/'))
        command = in_dir(r->arena, dir, command);
    out->auth = KUBE_AUTH_EXEC;
    out->exec_api_version = version;
    out->exec_install_hint = json_read_str(r, exec, "installHint", JSON_OPTIONAL);
    out->exec_cluster_info = json_read_bool(r, exec, "provideClusterInfo", false);
    read_exec_lists(r, exec, command, out);
}

/* Rejects unsupported settings: sending requests under an identity other than the configured one
 * would be worse. */
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

static void config_user(struct json_reader *r, struct json_object *user, const char *dir,
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

struct config_file {
    const char *path;
    const char *dir;
    struct json_object *root; /* NULL for an empty file */
    struct json_reader reader;
};

/* All files in a KUBECONFIG list. */
struct merged {
    struct arena *arena;
    const char *list;
    struct config_file files[MAX_FILES];
    size_t count;
};

/* One entry of clusters, users or contexts. */
struct entry {
    struct config_file *file;
    struct json_object *body; /* NULL if the entry has none */
};

static const char *dir_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return "";
    return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

static enum err add_file(struct merged *m, const char *path, struct json_object *docs,
                         struct errinfo *ei)
{
    struct config_file *file = &m->files[m->count];

    if (json_len(docs) > 1)
        return err_set(ei, ERR_INVALID, "%s: expected one YAML document, found %zu", path,
                       json_len(docs));
    *file = (struct config_file){.path = path,
                                 .dir = dir_of(m->arena, path),
                                 .root = json_elem(docs, 0),
                                 .reader = {.arena = m->arena}};
    if (file->root && !json_object_is_type(file->root, json_type_object))
        return err_set(ei, ERR_INVALID, "%s: expected a kubeconfig, found no object", path);
    m->count++;
    return ERR_OK;
}

static enum err read_one(struct merged *m, const char *path, struct errinfo *ei)
{
    struct json_object *docs = NULL;

    if (m->count == MAX_FILES)
        return err_set(ei, ERR_INVALID, "%s: more than %d kubeconfig files", m->list, MAX_FILES);
    enum err err = yaml_parse_file(m->arena, path, MAX_FILE_BYTES, &docs, ei);
    return err != ERR_OK ? err : add_file(m, path, docs, ei);
}

/* As in kubectl, a file in a list may be missing, but not a single file. */
static enum err read_files(struct merged *m, struct errinfo *ei)
{
    bool several = strchr(m->list, ':') != NULL;

    for (const char *at = m->list; *at; at += strspn(at, ":")) {
        const char *path = arena_strndup(m->arena, at, strcspn(at, ":"));
        at += strlen(path);
        enum err err = path[0] ? read_one(m, path, ei) : ERR_OK;
        if (err != ERR_OK && !(err == ERR_NOT_FOUND && several))
            return err;
    }
    if (m->count == 0)
        return err_set(ei, ERR_NOT_FOUND, "%s: none of these kubeconfig files is there", m->list);
    return ERR_OK;
}

/* The first entry of that name, as kubectl merges; file is NULL if there is none. */
static struct entry find_entry(struct merged *m, const char *list, const char *name,
                               const char *body_key)
{
    for (size_t i = 0; i < m->count; i++) {
        struct config_file *file = &m->files[i];
        struct json_object *items = json_read_array(&file->reader, file->root, list, JSON_OPTIONAL);
        for (size_t k = 0; k < json_len(items); k++) {
            struct json_object *item = json_read_elem(&file->reader, items, k);
            const char *found = json_str_at(item, "name", NULL);
            if (!found || strcmp(found, name) != 0)
                continue;
            return (struct entry){
                .file = file, .body = json_read_obj(&file->reader, item, body_key, JSON_OPTIONAL)};
        }
    }
    return (struct entry){0};
}

static const char *current_context(struct merged *m)
{
    for (size_t i = 0; i < m->count; i++) {
        const char *name =
            json_read_str(&m->files[i].reader, m->files[i].root, "current-context", JSON_OPTIONAL);
        if (name && name[0])
            return name;
    }
    return NULL;
}

/* The first error of a reader, prefixed with its file. */
static enum err first_mistake(const struct merged *m, struct errinfo *ei)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct config_file *file = &m->files[i];
        if (file->reader.err != ERR_OK)
            return err_set(ei, file->reader.err, "%s: %s", file->path, file->reader.info.text);
    }
    return ERR_OK;
}

static const char *without_slashes(struct arena *arena, const char *server)
{
    size_t len = strlen(server);

    while (len > 0 && server[len - 1] == '/')
        len--;
    return arena_strndup(arena, server, len);
}

/* As in kubectl, "host:port" means http. */
static const char *server_url(struct arena *arena, const char *server)
{
    if (!strstr(server, "://"))
        server = arena_printf(arena, "http://%s", server);
    return without_slashes(arena, server);
}

static bool is_http(const char *server)
{
    return strncmp(server, "http://", 7) == 0 || strncmp(server, "https://", 8) == 0;
}

static void check_server(struct json_reader *r, struct json_object *body, const char *server)
{
    if (!is_http(server))
        json_reader_fail(r, body, "server", "expected an http or https URL, found \"%s\"", server);
}

/* The cluster's extension for exec plugins. */
static const char *plugin_config(struct json_reader *r, struct json_object *cluster)
{
    struct json_object *list = json_read_array(r, cluster, "extensions", JSON_OPTIONAL);

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_elem(list, i);
        const char *name = json_str_at(item, "name", NULL);
        struct json_object *extension = json_at(item, "extension", NULL);
        if (name && extension && strcmp(name, "client.authentication.k8s.io/exec") == 0)
            return json_text(r->arena, extension);
    }
    return NULL;
}

static void read_cluster(struct entry cluster, const char *master, struct kube_config *out)
{
    struct json_reader *r = &cluster.file->reader;
    const char *server =
        json_read_str(r, cluster.body, "server", master ? JSON_OPTIONAL : JSON_REQUIRED);

    if (!master && server) {
        out->server = server_url(r->arena, server);
        check_server(r, cluster.body, out->server);
    }
    out->tls.insecure = json_read_bool(r, cluster.body, "insecure-skip-tls-verify", false);
    out->tls.server_name = json_read_str(r, cluster.body, "tls-server-name", JSON_OPTIONAL);
    out->proxy = json_read_str(r, cluster.body, "proxy-url", JSON_OPTIONAL);
    out->exec_cluster_config = plugin_config(r, cluster.body);
    config_pem(r, cluster.body, "certificate-authority-data", "certificate-authority",
               cluster.file->dir, &out->tls.ca_pem, &out->tls.ca_file);
    if (out->tls.insecure && (out->tls.ca_pem || out->tls.ca_file))
        json_reader_fail(r, cluster.body, "insecure-skip-tls-verify",
                         "a certificate authority is given as well; choose one of the two");
    /* An empty name or proxy means not set. */
    if (out->tls.server_name && !out->tls.server_name[0])
        out->tls.server_name = NULL;
    if (out->proxy && !out->proxy[0])
        out->proxy = NULL;
}

static enum err no_context(struct merged *m, const char *name, struct errinfo *ei)
{
    if (!name)
        return err_set(ei, ERR_INVALID,
                       "%s: current-context is not set, and no context was asked for", m->list);
    return err_set(ei, ERR_NOT_FOUND, "%s: there is no context \"%s\"", m->list, name);
}

static const char *given(const char *text)
{
    return text && text[0] ? text : NULL;
}

static enum err fill(struct merged *m, const struct kube_config_source *source, const char *master,
                     struct kube_config *out, struct errinfo *ei)
{
    const char *name = source->context && source->context[0] ? source->context : current_context(m);
    struct entry context = name ? find_entry(m, "contexts", name, "context") : (struct entry){0};

    if (!context.file)
        return first_mistake(m, ei) != ERR_OK ? ERR_INVALID : no_context(m, name, ei);
    struct json_reader *r = &context.file->reader;
    const char *cluster_name = given(source->cluster);
    const char *user_name = given(source->user);

    if (!cluster_name)
        cluster_name = json_read_str(r, context.body, "cluster", JSON_REQUIRED);
    if (!user_name)
        user_name = json_read_str(r, context.body, "user", JSON_OPTIONAL);
    const char *namespace_ = json_read_str(r, context.body, "namespace", JSON_OPTIONAL);
    if (first_mistake(m, ei) != ERR_OK)
        return ERR_INVALID;
    *out = (struct kube_config){.context = name,
                                .namespace_ = namespace_ && namespace_[0] ? namespace_ : "default"};

    struct entry cluster = find_entry(m, "clusters", cluster_name, "cluster");
    if (cluster.file)
        read_cluster(cluster, master, out);
    else
        json_reader_fail(r, context.body, "cluster", "there is no cluster \"%s\"", cluster_name);
    if (user_name && user_name[0]) {
        struct entry user = find_entry(m, "users", user_name, "user");
        if (user.file)
            config_user(&user.file->reader, user.body, user.file->dir, out);
        else
            json_reader_fail(r, context.body, "user", "there is no user \"%s\"", user_name);
    }
    return first_mistake(m, ei);
}

static enum err load_files(struct arena *arena, const char *list,
                           const struct kube_config_source *source, const char *master,
                           struct kube_config *out, struct errinfo *ei)
{
    struct merged *m = ARENA_NEW(arena, struct merged);

    m->arena = arena;
    m->list = list;
    enum err err = read_files(m, ei);
    return err != ERR_OK ? err : fill(m, source, master, out, ei);
}

enum err config_parse(struct arena *arena, const char *path, const char *text, size_t len,
                      const struct kube_config_source *source, struct kube_config *out,
                      struct errinfo *ei)
{
    struct merged *m = ARENA_NEW(arena, struct merged);
    struct json_object *docs = NULL;

    m->arena = arena;
    m->list = path;
    enum err err = yaml_parse(arena, path, text, len, MAX_FILE_BYTES, &docs, ei);
    if (err == ERR_OK)
        err = add_file(m, path, docs, ei);
    return err != ERR_OK ? err : fill(m, source, NULL, out, ei);
}

/* The key of a setting that is stored outside the text, NULL if none. */
static const char *elsewhere(const struct kube_config *config)
{
    const struct {
        const void *given;
        const char *key;
    } all[] = {
        {config->auth == KUBE_AUTH_EXEC ? config : NULL, "exec"},
        {config->token_file, "tokenFile"},
        {config->tls.ca_file, "certificate-authority"},
        {config->tls.cert_file, "client-certificate"},
        {config->tls.key_file, "client-key"},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].given)
            return all[i].key;
    return NULL;
}

enum err kube_config_read(struct arena *arena, const char *name, const char *text, size_t len,
                          struct kube_config *out, struct errinfo *ei)
{
    enum err err = config_parse(arena, name, text, len, &(struct kube_config_source){0}, out, ei);
    const char *key = err == ERR_OK ? elsewhere(out) : NULL;

    if (key)
        return err_set(ei, ERR_INVALID,
                       "%s: %s: expected certificates and a token in the kubeconfig itself, found "
                       "what would be run or read on this machine",
                       name, key);
    return err;
}

/* Without a list: the pod's service account, else ~/.kube/config, else only the master. */
static enum err load_default(struct arena *arena, const struct kube_config_source *source,
                             const char *master, struct kube_config *out, struct errinfo *ei)
{
    const char *home = getenv("HOME");
    enum err err = config_in_cluster(arena, CONFIG_SERVICE_ACCOUNT_DIR, out, ei);

    if (err != ERR_NOT_FOUND)
        return err;
    const char *path = home ? arena_printf(arena, "%s/.kube/config", home) : NULL;
    if (path && access(path, F_OK) == 0)
        return load_files(arena, path, source, master, out, ei);
    *out = (struct kube_config){.namespace_ = "default", .context = ""};
    if (master)
        return ERR_OK;
    return err_set(ei, ERR_NOT_FOUND,
                   "no Kubernetes configuration found: neither --kubeconfig nor KUBECONFIG is "
                   "given, this is no pod, and ~/.kube/config is not there");
}

enum err kube_config_load(struct arena *arena, const struct kube_config_source *source,
                          struct kube_config *out, struct errinfo *ei)
{
    const char *list = source->kubeconfig;
    const char *master = source->master && source->master[0] ? source->master : NULL;
    enum err err = ERR_OK;

    if (!list || !list[0])
        list = getenv("KUBECONFIG");
    if (list && list[0])
        err = load_files(arena, list, source, master, out, ei);
    else
        err = load_default(arena, source, master, out, ei);
    if (err == ERR_OK && given(source->token)) {
        out->auth = KUBE_AUTH_TOKEN;
        out->token = source->token;
    }
    if (err != ERR_OK || !master)
        return err;
    out->server = server_url(arena, master);
    if (!is_http(out->server))
        return err_set(ei, ERR_INVALID, "master: expected an http or https URL, found \"%s\"",
                       master);
    return ERR_OK;
}
