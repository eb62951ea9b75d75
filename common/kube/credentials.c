#include "kube/kube_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "net/child/child.h"

enum {
    CHECK_INTERVAL_MS = 60000,
    FILE_MAX = 64 * 1024,
    PLUGIN_TIMEOUT_MS = 60000,
    PLUGIN_MAX_OUTPUT = 1024 * 1024,
    FAILURE_KEPT_MS = 2000,  /* a broken plugin is not run again for every call */
    EXPIRES_EARLY_MS = 5000, /* a token must not expire in transit */
    REFUSED_PAUSE_MS = 10000,
    MAX_ANSWER = 1024 * 1024,
    MAX_CA = 1024 * 1024,
};

extern char **environ;

/* The certificate authority in base64, NULL if there is none or it is unreadable. */
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

/* Returns true if the kubeconfig's env sets the variable of our "K=V". */
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
    /* The parser's error might quote a part of the token. */
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

struct credentials {
    struct loop *loop;
    const struct kube_config *config;
    void (*changed)(void *arg);
    void *arg;
    enum credentials_state state;
    struct arena *held; /* holds authorization and tls; replaced as a whole */
    const char *authorization;
    struct http_tls tls;
    uint64_t generation;
    struct errinfo failure;
    int64_t failed_at_ms;
    /* token file */
    struct stat file_stat;
    int64_t file_checked_ms;
    int64_t check_interval_ms;
    /* plugin */
    struct child *plugin;
    int64_t renew_wall_ms; /* Unix time of the next run; 0: only after a 401 */
    int64_t refused_at_ms;
    bool freed;
};

static void set_state(struct credentials *c, enum credentials_state state)
{
    static const char *const names[] = {"ready", "pending", "failed"};
    bool plugin = c->config->auth == KUBE_AUTH_EXEC;

    /* Only a plugin can be pending, and it is ready or failed only after pending. */
    assert(state != CREDENTIALS_PENDING || plugin);
    assert(!plugin || state == CREDENTIALS_PENDING || c->state == CREDENTIALS_PENDING);
    if (state != c->state && plugin)
        log_debug("kube_credentials", NULL, "credentials changed state",
                  LOG_STR("from", names[c->state]), LOG_STR("to", names[state]));
    c->state = state;
}

/* Replaces the credentials and takes their arena. */
static void hold(struct credentials *c, struct arena *arena, const char *authorization,
                 const struct http_tls *tls)
{
    struct arena *before = c->held;

    c->authorization = authorization;
    c->tls = *tls;
    c->held = arena;
    c->generation++;
    set_state(c, CREDENTIALS_READY);
    arena_free(before);
}

static void hold_fixed(struct credentials *c)
{
    const struct kube_config *config = c->config;
    struct arena *arena = arena_new();
    const char *authorization = NULL;

    if (config->auth == KUBE_AUTH_TOKEN) {
        authorization = arena_printf(arena, "Bearer %s", config->token);
    } else if (config->auth == KUBE_AUTH_BASIC) {
        const char *pair = arena_printf(arena, "%s:%s", config->username, config->password);
        authorization = arena_printf(arena, "Basic %s", base64_encode(arena, pair, strlen(pair)));
    }
    hold(c, arena, authorization, &config->tls);
}

/* A header value must not contain control characters. */
static bool is_header_safe(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the token file; returns true if the token has changed. */
static bool read_token(struct credentials *c, struct errinfo *ei)
{
    const char *path = c->config->token_file;
    struct arena *arena = arena_new();
    char *token = NULL;
    size_t len = 0;

    if (file_read(arena, path, FILE_MAX, &token, &len, ei) != ERR_OK)
        goto no;
    while (len > 0 && strchr(" \t\r\n", token[len - 1]))
        token[--len] = '\0';
    if (len == 0 || !is_header_safe(token)) {
        err_set(ei, ERR_DENIED, "%s: expected a token on one line", path);
        goto no;
    }
    const char *authorization = arena_printf(arena, "Bearer %s", token);
    if (c->authorization && strcmp(c->authorization, authorization) == 0)
        goto no;
    hold(c, arena, authorization, &c->config->tls);
    return true;
no:
    arena_free(arena);
    return false;
}

/* Checks the token file, at most once a minute unless forced. If it is unreadable, the old token is
 * kept. */
static bool check_token_file(struct credentials *c, bool force)
{
    int64_t now = clock_monotonic_ms();
    struct errinfo ei = {0};
    struct stat st = {0};

    if (c->authorization && !force && now - c->file_checked_ms < c->check_interval_ms)
        return false;
    c->file_checked_ms = now;
    bool found = stat(c->config->token_file, &st) == 0;
    if (c->authorization && !force && found && same_file(&st, &c->file_stat))
        return false;
    bool fresh = read_token(c, &ei);
    if (!ei.text[0]) {
        c->file_stat = st;
        return fresh;
    }
    if (c->authorization) {
        log_warn("kube_token_file", NULL, "the token before is kept", LOG_STR("error", ei.text));
        return false;
    }
    c->failure = ei;
    set_state(c, CREDENTIALS_FAILED);
    return false;
}

static void fail_plugin(struct credentials *c, const struct errinfo *ei)
{
    const char *hint = c->config->exec_install_hint;

    err_set(&c->failure, ERR_DENIED, "credential plugin %s: %s%s%s", c->config->exec_argv[0],
            ei->text, hint ? "; " : "", hint ? hint : "");
    c->failed_at_ms = clock_monotonic_ms();
    set_state(c, CREDENTIALS_FAILED);
    log_warn("kube_plugin_failed", NULL, "no credentials for the Kubernetes API",
             LOG_STR("error", c->failure.text));
}

static enum err take_answer(struct credentials *c, const struct child_result *result,
                            struct errinfo *ei)
{
    struct exec_credential answer = {0};

    if (result->err != ERR_OK)
        return err_set(ei, ERR_DENIED, "%s", result->info ? result->info->text : "not started");
    if (result->timed_out)
        return err_set(ei, ERR_DENIED, "no answer within %d s", PLUGIN_TIMEOUT_MS / 1000);
    if (result->signal)
        return err_set(ei, ERR_DENIED, "ended by signal %d", result->signal);
    if (result->exit_status != 0)
        return err_set(ei, ERR_DENIED, "exit status %d", result->exit_status);
    struct arena *arena = arena_new();
    enum err err =
        config_exec_parse(arena, c->config, result->output, result->output_len, &answer, ei);
    if (err == ERR_OK && answer.token && !is_header_safe(answer.token))
        err = err_set(ei, ERR_DENIED, "status.token: expected one line of text");
    if (err != ERR_OK) {
        arena_free(arena);
        return err;
    }
    struct http_tls tls = c->config->tls;
    if (answer.cert_pem) {
        tls.cert_file = tls.key_file = NULL;
        tls.cert_pem = answer.cert_pem;
        tls.key_pem = answer.key_pem;
    }
    c->renew_wall_ms = answer.expires_ms ? answer.expires_ms - EXPIRES_EARLY_MS : 0;
    /* An expired answer is used for a second, to limit how often the plugin runs. */
    if (c->renew_wall_ms && c->renew_wall_ms < clock_wall_ms() + 1000)
        c->renew_wall_ms = clock_wall_ms() + 1000;
    hold(c, arena, answer.token ? arena_printf(arena, "Bearer %s", answer.token) : NULL, &tls);
    return ERR_OK;
}

static void plugin_done(void *arg, const struct child_result *result)
{
    struct credentials *c = arg;
    struct errinfo ei = {0};

    c->plugin = NULL;
    if (c->freed) {
        free(c);
        return;
    }
    if (take_answer(c, result, &ei) != ERR_OK)
        fail_plugin(c, &ei);
    c->changed(c->arg);
}

static void start_plugin(struct credentials *c)
{
    struct arena *arena = arena_new();

    set_state(c, CREDENTIALS_PENDING);
    c->plugin = child_spawn(c->loop,
                            &(struct child_spec){.argv = c->config->exec_argv,
                                                 .env = config_exec_env(arena, c->config),
                                                 .timeout_ms = PLUGIN_TIMEOUT_MS,
                                                 .max_output = PLUGIN_MAX_OUTPUT,
                                                 .inherit_stderr = true},
                            plugin_done, c);
    arena_free(arena);
}

static void check_plugin(struct credentials *c)
{
    if (c->plugin)
        return;
    if (c->state == CREDENTIALS_FAILED && clock_monotonic_ms() - c->failed_at_ms < FAILURE_KEPT_MS)
        return;
    if (c->state == CREDENTIALS_READY && c->generation > 0 &&
        (!c->renew_wall_ms || clock_wall_ms() < c->renew_wall_ms))
        return;
    start_plugin(c);
}

struct credentials *credentials_new(struct loop *loop, const struct kube_config *config,
                                    void (*changed)(void *arg), void *arg)
{
    struct credentials *c = heap_alloc(sizeof(*c));

    *c = (struct credentials){.loop = loop,
                              .config = config,
                              .changed = changed,
                              .arg = arg,
                              .check_interval_ms = CHECK_INTERVAL_MS};
    if (config->auth != KUBE_AUTH_EXEC && config->auth != KUBE_AUTH_TOKEN_FILE)
        hold_fixed(c);
    return c;
}

void credentials_free(struct credentials *c)
{
    if (!c)
        return;
    arena_free(c->held);
    c->held = NULL;
    c->freed = true;
    if (c->plugin)
        child_stop(c->plugin);
    else
        free(c);
}

void credentials_set_check_interval(struct credentials *c, int64_t ms)
{
    c->check_interval_ms = ms;
}

enum credentials_state credentials_get(struct credentials *c, struct credentials_view *view,
                                       struct errinfo *ei)
{
    if (c->config->auth == KUBE_AUTH_TOKEN_FILE)
        check_token_file(c, false);
    else if (c->config->auth == KUBE_AUTH_EXEC)
        check_plugin(c);
    if (c->state == CREDENTIALS_FAILED)
        *ei = c->failure;
    else if (c->state == CREDENTIALS_READY)
        *view = (struct credentials_view){
            .authorization = c->authorization, .tls = &c->tls, .generation = c->generation};
    return c->state;
}

bool credentials_refused(struct credentials *c, uint64_t generation)
{
    int64_t now = clock_monotonic_ms();

    if (generation != c->generation || c->plugin)
        return true;
    if (c->config->auth == KUBE_AUTH_TOKEN_FILE)
        return check_token_file(c, true);
    if (c->config->auth != KUBE_AUTH_EXEC || c->state != CREDENTIALS_READY)
        return false;
    /* A repeated 401 must not run the plugin each time. */
    if (c->refused_at_ms && now - c->refused_at_ms < REFUSED_PAUSE_MS)
        return false;
    c->refused_at_ms = now;
    start_plugin(c);
    return true;
}
