#include "cluster/prometheus.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "cluster/meta.h"
#include "cluster/podset.h"
#include "cluster/podspec.h"
#include "net/child/child.h"

enum { RESTART_MS = 500, READY_POLL_MS = 100, CONFIG_MAX = 64 * 1024, LAST_WORDS = 2048 };

struct prometheus {
    struct cluster *cluster;
    char *directory;
    struct child *child;
    struct timer *restart, *ready_timer;
    struct http_call *ready_call;
    char *targets; /* as last written */
    bool ready;
    bool stopped;
};

void prometheus_config(struct buf *out, const char *directory, int64_t scrape_ms)
{
    buf_printf(out,
               "# written by flagger-sandbox\nglobal:\n  scrape_interval: %lldms\n"
               "  scrape_timeout: %lldms\n  evaluation_interval: %lldms\n",
               (long long)scrape_ms, (long long)scrape_ms, (long long)scrape_ms);
    buf_printf(out,
               "scrape_configs:\n  - job_name: kubernetes-pods\n    file_sd_configs:\n"
               "      - files: ['%s/pods.json']\n        refresh_interval: 1s\n"
               "  - job_name: daemons\n    file_sd_configs:\n"
               "      - files: ['%s/daemons.json']\n        refresh_interval: 1s\n",
               directory, directory);
}

/* Prometheus' label names have no dots, dashes or slashes: as its own label mapping does. */
static const char *label_name(struct arena *arena, const char *key)
{
    char *name = arena_strdup(arena, key);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    return name;
}

struct json_object *prometheus_target(struct arena *arena, struct json_object *pod)
{
    const char *scrape = meta_annotation(pod, "prometheus.io/scrape");
    const char *port = meta_annotation(pod, "prometheus.io/port");
    const char *path = meta_annotation(pod, "prometheus.io/path");
    struct podspec spec;
    struct errinfo ei;

    if ((scrape && strcmp(scrape, "false") == 0) || !podset_ready(pod) || meta_deleting(pod) ||
        podspec_read(pod, &spec, &ei) != ERR_OK || !spec.container)
        return NULL;
    struct json_object *entry = json_own(arena, json_object_new_object());
    struct json_object *targets = json_own(arena, json_object_new_array());
    struct json_object *labels = json_sub(entry, "labels"), *own = meta_labels(pod);
    const char *ip = json_str_at(pod, "status", "podIP", NULL);
    const char *text =
        port ? arena_printf(arena, "%s:%s", ip, port) : arena_printf(arena, "%s:%d", ip, spec.port);
    json_object_array_add(targets, json_object_new_string(text));
    json_set(entry, "targets", targets);
    if (own) {
        json_object_object_foreach(own, key, value)
            json_set_str(labels, label_name(arena, key), json_object_get_string(value));
    }
    json_set_str(labels, "kubernetes_namespace", meta_ns(pod));
    json_set_str(labels, "kubernetes_pod_name", meta_name(pod));
    json_set_str(labels, "__metrics_path__", path);
    return entry;
}

/* A registered daemon: the Service's Endpoints were written by cluster_register(). */
static void add_daemon(struct cluster *cluster, struct arena *arena, struct json_object *service,
                       struct json_object *list)
{
    struct json_object *endpoints =
        context_get(cluster, arena, KIND_ENDPOINTS, meta_ns(service), meta_name(service));
    struct json_object *subset = json_elem(json_at(endpoints, "subsets", NULL), 0);
    const char *ip = json_str_at(json_elem(json_at(subset, "addresses", NULL), 0), "ip", NULL);
    int64_t port = json_int_at(json_elem(json_at(subset, "ports", NULL), 0), 0, "port", NULL);
    if (!ip || port == 0)
        return;
    struct json_object *entry = json_object_new_object();
    struct json_object *targets = json_own(arena, json_object_new_array());
    json_object_array_add(
        targets, json_object_new_string(arena_printf(arena, "%s:%lld", ip, (long long)port)));
    json_set(entry, "targets", targets);
    json_set_str(json_sub(entry, "labels"), "job", meta_name(service));
    json_set_str(json_sub(entry, "labels"), "kubernetes_namespace", meta_ns(service));
    json_object_array_add(list, entry);
}

static void write_list(struct prometheus *p, struct arena *arena, const char *name,
                       struct json_object *list)
{
    struct errinfo ei;
    const char *text = json_text(arena, list);
    const char *path = arena_printf(arena, "%s/%s", p->directory, name);
    if (file_write(path, text, strlen(text), 0644, &ei) != ERR_OK)
        log_error("prometheus_targets", NULL, ei.text);
}

void prometheus_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct prometheus *p = cluster->prometheus;
    struct json_object *pods = json_own(arena, json_object_new_array());
    struct json_object *daemons = json_own(arena, json_object_new_array());
    struct json_object **items;

    (void)ns;
    (void)name;
    if (!p)
        return;
    size_t count = context_list(cluster, arena, KIND_POD, NULL, &items);
    for (size_t i = 0; i < count; i++) {
        struct json_object *target = prometheus_target(arena, items[i]);
        if (target)
            json_object_array_add(pods, json_object_get(target));
    }
    count = context_list(cluster, arena, KIND_SERVICE, NULL, &items);
    for (size_t i = 0; i < count; i++)
        if (meta_label(items[i], "sandbox.flagger.app/registered"))
            add_daemon(cluster, arena, items[i], daemons);
    const char *both =
        arena_printf(arena, "%s%s", json_text(arena, pods), json_text(arena, daemons));
    if (p->targets && strcmp(p->targets, both) == 0)
        return;
    free(p->targets);
    p->targets = heap_strdup(both);
    write_list(p, arena, "pods.json", pods);
    write_list(p, arena, "daemons.json", daemons);
}

static void start(void *arg);
static void ask_ready(void *arg);

static void on_asked(void *arg, const struct http_result *result)
{
    struct prometheus *p = arg;
    p->ready_call = NULL;
    p->ready = result->err == ERR_OK && result->status == 200;
    if (!p->ready && !p->stopped && result->err != ERR_CANCELLED)
        p->ready_timer = timer_start(p->cluster->loop, READY_POLL_MS, 0, ask_ready, p);
}

static void ask_ready(void *arg)
{
    struct prometheus *p = arg;
    char *url = heap_printf("http://127.0.0.1:%d/-/ready", p->cluster->options.prometheus_port);
    const struct http_request request = {.url = url, .proxy = "", .timeout_ms = 1000};
    p->ready_timer = NULL;
    p->ready_call = http_send(p->cluster->probes, &request, on_asked, p);
    free(url);
}

static void on_output(void *arg, const char *data, size_t len)
{
    char line[512];
    (void)arg;
    snprintf(line, sizeof(line), "%.*s", (int)len, data);
    if (strstr(line, "level=error"))
        log_warn("prometheus_says", NULL, line);
    else
        log_debug("prometheus_says", NULL, line);
}

static void on_ended(void *arg, const struct child_result *result)
{
    struct prometheus *p = arg;
    p->child = NULL;
    if (p->stopped)
        return;
    log_warn("prometheus_ended", NULL,
             result->err == ERR_OK ? "Prometheus has ended and is started again"
                                   : result->info->text,
             LOG_INT("status", result->exit_status), LOG_INT("signal", result->signal),
             LOG_STR("said", result->output));
    p->restart =
        timer_start(p->cluster->loop, result->elapsed_ms > 5000 ? 0 : RESTART_MS, 0, start, p);
}

static void start(void *arg)
{
    struct prometheus *p = arg;
    struct arena *arena = arena_new();
    const struct cluster_options *options = &p->cluster->options;
    const char *argv[] = {
        options->prometheus ? options->prometheus : "prometheus",
        arena_printf(arena, "--config.file=%s/prometheus.yml", p->directory),
        arena_printf(arena, "--storage.tsdb.path=%s/data", p->directory),
        arena_printf(arena, "--web.listen-address=127.0.0.1:%d", options->prometheus_port),
        "--query.lookback-delta=1m",
        "--log.level=warn",
        NULL};
    const struct child_spec spec = {
        .argv = argv, .grace_ms = 3000, .max_output = LAST_WORDS, .on_output = on_output};
    p->restart = NULL;
    p->child = child_spawn(p->cluster->loop, &spec, on_ended, p);
    if (!p->ready && !p->ready_timer && !p->ready_call)
        p->ready_timer = timer_start(p->cluster->loop, READY_POLL_MS, 0, ask_ready, p);
    arena_free(arena);
}

enum err prometheus_new(struct cluster *cluster, struct prometheus **out, struct errinfo *ei)
{
    struct prometheus *p = heap_alloc(sizeof(*p));
    int64_t scrape_ms = cluster->options.scrape_ms > 0 ? cluster->options.scrape_ms : 1000;
    struct buf text;

    *p = (struct prometheus){.cluster = cluster,
                             .directory = heap_printf("%s/prometheus", cluster->options.directory)};
    *out = p;
    if (mkdir(p->directory, 0700) != 0 && errno != EEXIST)
        return err_set(ei, ERR_DENIED, "cannot make %s: %s", p->directory, strerror(errno));
    buf_init(&text, CONFIG_MAX);
    prometheus_config(&text, p->directory, scrape_ms);
    char *path = heap_printf("%s/prometheus.yml", p->directory);
    enum err err = file_write(path, text.data, text.len, 0644, ei);
    free(path);
    buf_fini(&text);
    if (err == ERR_OK)
        start(p);
    return err;
}

void prometheus_stop(struct prometheus *prometheus)
{
    prometheus->stopped = true;
    timer_stop(prometheus->restart);
    timer_stop(prometheus->ready_timer);
    prometheus->restart = prometheus->ready_timer = NULL;
    if (prometheus->child)
        child_stop(prometheus->child);
}

void prometheus_free(struct prometheus *prometheus)
{
    if (!prometheus)
        return;
    free(prometheus->targets);
    free(prometheus->directory);
    free(prometheus);
}

bool prometheus_ready(const struct prometheus *prometheus)
{
    return prometheus->ready;
}
