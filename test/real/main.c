/* flagger-testnode: options and wiring. */
#include <unistd.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "net/child/child.h"
#include "real/answers.h"
#include "real/node.h"
#include "real/recorder.h"
#include "real/routes.h"

static struct {
    const char *kubeconfig, *record, *serve;
    int64_t port;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "kubeconfig", &opt.kubeconfig, .arg = "PATH", .help = "of the API server"),
    OPTION(STRING, "record", &opt.record, .arg = "FOLDER",
           .help = "write the history of the cluster to files there"),
    OPTION(STRING, "serve", &opt.serve, .arg = "PROGRAM",
           .help = "run this (flagger-demo-app) for every pod at its address"),
    OPTION(INT, "port", &opt.port, .value = "0", .min = 0, .max = 65535, .arg = "PORT",
           .help = "of the metric server and the webhooks; 0 takes a free one"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-testnode",
    .summary = "What a cluster has beside its API server, pretended: a node, a gateway controller, "
               "a Prometheus and webhooks.",
    .synopsis = "--kubeconfig PATH [OPTION...]",
    .rows = rows,
};

struct parts {
    struct http_client *http;
    struct kube_client *kube;
    struct node *node;
    struct routes *routes;
    struct recorder *recorder;
    struct answers *answers;
};

static void on_drain(void *arg)
{
    struct parts *parts = arg;
    node_stop(parts->node);
    routes_stop(parts->routes);
    if (parts->recorder)
        recorder_stop(parts->recorder);
    kube_client_free(parts->kube);
    http_client_free(parts->http);
}

static enum err start(struct parts *parts, struct loop *loop, const struct kube_config *config,
                      struct errinfo *ei)
{
    enum err err = answers_new(loop, (int)opt.port, &parts->answers, ei);
    if (err != ERR_OK)
        return err;
    parts->http = http_client_new(
        loop, &(struct http_client_options){.max_per_host = 64, .user_agent = program.name});
    parts->kube = kube_client_new(
        loop, parts->http, config,
        &(struct kube_client_options){.qps = 1000, .burst = 1000, .user_agent = program.name});
    if (opt.record)
        parts->recorder = recorder_new(loop, parts->kube, opt.record);
    answers_record(parts->answers, parts->recorder);
    parts->node = node_new(loop, parts->kube, opt.serve);
    parts->routes = routes_new(loop, parts->kube);
    loop_on_drain(loop, on_drain, parts);
    log_info("started", NULL, "the pretend node runs",
             LOG_INT("port", answers_port(parts->answers)));
    return ERR_OK;
}

int main(int argc, char **argv)
{
    child_main(argc, argv);
    struct arena *arena = arena_new();
    struct errinfo ei = {0};
    struct kube_config config;
    struct parts parts = {0};
    int status = 1;

    option_parse(&program, arena, argc, argv);
    if (kube_config_load(arena, &(struct kube_config_source){.kubeconfig = opt.kubeconfig}, &config,
                         &ei) != ERR_OK) {
        log_error("start_failed", NULL, ei.text);
        goto out;
    }
    struct loop *loop = loop_new(5000);
    if (start(&parts, loop, &config, &ei) != ERR_OK) {
        /* The process ends here; nothing of it is worth an orderly end. */
        log_error("start_failed", NULL, ei.text);
        _exit(1);
    }
    status = loop_run(loop);
    node_free(parts.node);
    routes_free(parts.routes);
    if (parts.recorder)
        recorder_free(parts.recorder);
    answers_free(parts.answers);
    loop_free(loop);
out:
    metrics_reset();
    arena_free(arena);
    return status;
}
