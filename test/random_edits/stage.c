#include "random_edits/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "crash/process.h"
#include "net/server/server.h"

enum { UP_MS = 60 * 1000, PAUSE_NS = 20 * 1000 * 1000, LOG_MAX = 1 << 20, ANSWERS = 64 };

struct answer {
    char app[32], hook[32];
    int status;
};

struct stage {
    struct loop *loop;
    struct arena *arena;
    struct stage_options options;
    struct http_server *hooks;
    const char *hooks_url, *kubeconfig, *sandbox_log, *controller_log;
    int sandbox, controller; /* processes; 0 if none */
    int gateway_port, prometheus_port;
    struct answer answers[ANSWERS];
    size_t n_answers;
    const char *flags;
    void (*called)(void *arg, const char *app, const char *hook, const char *checksum, bool passes);
    void *called_arg;
};

/* --- webhooks */

static void report(const struct stage *stage, struct http_conn_request *req, const char *app,
                   const char *hook, int status)
{
    struct json_object *body = NULL;
    struct errinfo ei;
    size_t len;
    const char *text = http_req_body(req, &len);
    if (!app || !hook || !stage->called ||
        json_parse(http_req_arena(req), text, len, len + 1, &body, &ei) != ERR_OK)
        return;
    const char *checksum = json_str_at(body, "checksum", NULL);
    if (checksum)
        stage->called(stage->called_arg, app, hook, checksum, status == 200);
}

static void on_hook(void *arg, struct http_conn_request *req)
{
    struct stage *stage = arg;
    const char *app = http_req_segment(req, 1), *hook = http_req_segment(req, 2);
    int status = hook && strcmp(hook, "back") == 0 ? 403 : 200;
    for (size_t i = 0; app && hook && i < stage->n_answers; i++)
        if (strcmp(stage->answers[i].app, app) == 0 && strcmp(stage->answers[i].hook, hook) == 0)
            status = stage->answers[i].status;
    report(stage, req, app, hook, status);
    http_reply_text(req, status, "so it is\n");
}

void stage_on_hook(struct stage *stage,
                   void (*called)(void *arg, const char *app, const char *hook,
                                  const char *checksum, bool passes),
                   void *arg)
{
    stage->called = called;
    stage->called_arg = arg;
}

void stage_answer(struct stage *stage, const char *app, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t kept = 0;
    for (size_t i = 0; i < stage->n_answers; i++) {
        const struct answer *it = &stage->answers[i];
        bool same = equals && strlen(it->hook) == (size_t)(equals - text) &&
                    strncmp(it->hook, text, strlen(it->hook)) == 0;
        if (strcmp(it->app, app) != 0 || (equals && !same))
            stage->answers[kept++] = *it;
    }
    stage->n_answers = kept;
    if (!equals || kept == ANSWERS)
        return;
    struct answer *answer = &stage->answers[stage->n_answers++];
    snprintf(answer->app, sizeof(answer->app), "%s", app);
    snprintf(answer->hook, sizeof(answer->hook), "%.*s", (int)(equals - text), text);
    answer->status = (int)strtol(equals + 1, NULL, 10);
}

static const struct http_route routes[] = {{NULL, "/hook/*", on_hook}, {0}};

static enum err serve_hooks(struct stage *stage, struct errinfo *ei)
{
    const struct http_server_options options = {
        .address = "127.0.0.1", .routes = routes, .arg = stage, .no_builtin = true};
    enum err err = http_server_new(stage->loop, &options, &stage->hooks, ei);
    if (err == ERR_OK)
        stage->hooks_url =
            arena_printf(stage->arena, "http://127.0.0.1:%d/hook", http_server_port(stage->hooks));
    return err;
}

/* --- processes */

/* A port that nobody listens on now. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    int port = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &len) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

static enum err start_sandbox(struct stage *stage, struct errinfo *ei)
{
    struct arena *a = stage->arena;
    const char *const argv[] = {
        arena_printf(a, "%s/flagger-sandbox", stage->options.programs),
        "--listen-https=-1",
        "--kubeconfig",
        stage->kubeconfig,
        "--data",
        arena_printf(a, "%s/sandbox", stage->options.directory),
        "--gateway-port",
        arena_printf(a, "%d", stage->gateway_port),
        "--prometheus",
        arena_printf(a, "%d", stage->prometheus_port),
        "--crds",
        stage->options.crds,
        NULL,
    };
    return process_start(argv, stage->sandbox_log, &stage->sandbox, ei);
}

/* Its log has a line that begins with "ready". */
static bool is_up(struct stage *stage)
{
    struct arena *arena = arena_new();
    struct errinfo ei;
    char *text;
    bool up = file_read(arena, stage->sandbox_log, LOG_MAX, &text, NULL, &ei) == ERR_OK &&
              (strncmp(text, "ready", 5) == 0 || strstr(text, "\nready"));
    arena_free(arena);
    return up;
}

static enum err await_sandbox(struct stage *stage, struct errinfo *ei)
{
    int64_t until = clock_monotonic_ms() + UP_MS;
    int status;
    while (!is_up(stage)) {
        if (process_ended(stage->sandbox, &status)) {
            stage->sandbox = 0;
            return err_set(ei, ERR_DENIED, "the sandbox ended with status %d, see %s", status,
                           stage->sandbox_log);
        }
        if (clock_monotonic_ms() > until)
            return err_set(ei, ERR_RETRY, "the sandbox is not up after %d s, see %s", UP_MS / 1000,
                           stage->sandbox_log);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return ERR_OK;
}

enum err stage_new(struct loop *loop, struct arena *arena, const struct stage_options *options,
                   struct stage **out, struct errinfo *ei)
{
    struct stage *stage = ARENA_NEW(arena, struct stage);
    *stage = (struct stage){
        .loop = loop,
        .arena = arena,
        .options = *options,
        .kubeconfig = arena_printf(arena, "%s/kubeconfig", options->directory),
        .sandbox_log = arena_printf(arena, "%s/sandbox.log", options->directory),
        .controller_log = arena_printf(arena, "%s/controller.log", options->directory),
        .gateway_port = free_port(),
        .prometheus_port = free_port(),
    };
    *out = stage;
    enum err err = serve_hooks(stage, ei);
    if (err == ERR_OK)
        err = start_sandbox(stage, ei);
    return err == ERR_OK ? await_sandbox(stage, ei) : err;
}

void stage_free(struct stage *stage)
{
    if (!stage)
        return;
    if (stage->controller)
        process_end(stage->controller);
    if (stage->sandbox)
        process_end(stage->sandbox);
    http_server_free(stage->hooks);
}

void stage_set_flags(struct stage *stage, const char *flags)
{
    stage->flags = flags;
}

enum err stage_start_controller(struct stage *stage, struct errinfo *ei)
{
    struct arena *a = stage->arena;
    enum { FLAGS = 32 };
    const char *argv[FLAGS] = {
        arena_printf(a, "%s/flagger-controller", stage->options.programs),
        "--kubeconfig",
        stage->kubeconfig,
        "--address=127.0.0.1",
        "--port=0",
        "--mesh-provider=gatewayapi:v1",
        "--metrics-server",
        arena_printf(a, "http://127.0.0.1:%d", stage->prometheus_port),
        "--min-analysis-interval=1s",
        "--enable-leader-election=false",
    };
    size_t count = 0;
    if (stage->controller)
        return ERR_OK;
    while (argv[count])
        count++;
    for (const char *at = stage->flags; at && *at && count + 1 < FLAGS;) {
        size_t len = strcspn(at, " ");
        argv[count++] = arena_strndup(a, at, len);
        at += len + strspn(at + len, " ");
    }
    return process_start(argv, stage->controller_log, &stage->controller, ei);
}

void stage_kill_controller(struct stage *stage)
{
    /* one that is killed would leave its lease for half a minute */
    if (stage->controller && stage_controller_leads(stage))
        process_end(stage->controller);
    else if (stage->controller)
        process_kill(stage->controller);
    stage->controller = 0;
}

bool stage_controller_leads(const struct stage *stage)
{
    return stage->flags && strstr(stage->flags, "leader-election=true");
}

bool stage_controller_runs(const struct stage *stage)
{
    return stage->controller != 0;
}

bool stage_broken(struct stage *stage, struct arena *arena, const char **what)
{
    int status;
    if (stage->controller && process_ended(stage->controller, &status)) {
        stage->controller = 0;
        *what = arena_printf(arena, "the controller ended with status %d", status);
        return true;
    }
    if (stage->sandbox && process_ended(stage->sandbox, &status)) {
        stage->sandbox = 0;
        *what = arena_printf(arena, "the sandbox ended with status %d", status);
        return true;
    }
    return false;
}

const char *stage_kubeconfig(const struct stage *stage)
{
    return stage->kubeconfig;
}

int stage_gateway_port(const struct stage *stage)
{
    return stage->gateway_port;
}

const char *stage_hooks(const struct stage *stage)
{
    return stage->hooks_url;
}

const char *stage_controller_log(const struct stage *stage)
{
    return stage->controller_log;
}
