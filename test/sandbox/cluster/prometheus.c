#include "cluster/context.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "cluster/keeper.h"
#include "cluster/podspec.h"
#include "cluster/workload.h"
#include "object/form.h"
#include "object/meta.h"

enum { SCRAPE_MS = 1000, READY_POLL_MS = 100, CONFIG_MAX = 64 * 1024 };

struct prometheus {
    struct cluster *cluster;
    struct arena *arena; /* of its texts */
    const char *directory;
    struct keeper keeper;
    struct timer *ready_timer;
    char *targets; /* as last written */
    bool ready;
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

    if ((scrape && strcmp(scrape, "false") == 0) || !pod_is_ready(pod) || meta_deleting(pod) ||
        podspec_read(pod, NULL, &spec, &ei) != ERR_OK || !spec.container)
        return NULL;
    const char *ip = json_str_at(pod, "status", "podIP", NULL);
    const char *text =
        port ? arena_printf(arena, "%s:%s", ip, port) : arena_printf(arena, "%s:%d", ip, spec.port);
    struct json_object *labels =
        form(arena, "{kubernetes_namespace: %s, kubernetes_pod_name: %s, __metrics_path__: %s}",
             meta_ns(pod), meta_name(pod), path);
    struct json_object *own = meta_labels(pod);
    if (own) {
        json_object_object_foreach(own, key, value)
            json_set_str(labels, label_name(arena, key), json_object_get_string(value));
    }
    return form(arena, "{targets: [%s], labels: %p}", text, labels);
}

/* A registered daemon: the Service's Endpoints were written by cluster_register(). */
static struct json_object *daemon_target(struct cluster *cluster, struct arena *arena,
                                         struct json_object *service)
{
    struct json_object *endpoints =
        context_get(cluster, arena, KIND_ENDPOINTS, meta_ns(service), meta_name(service));
    struct json_object *subset = json_elem(json_at(endpoints, "subsets", NULL), 0);
    const char *ip = json_str_at(json_elem(json_at(subset, "addresses", NULL), 0), "ip", NULL);
    int64_t port = json_int_at(json_elem(json_at(subset, "ports", NULL), 0), 0, "port", NULL);
    if (!ip || port == 0 || !meta_label(service, "sandbox.flagger.app/registered"))
        return NULL;
    return form(arena, "{targets: [%s], labels: {job: %s, kubernetes_namespace: %s}}",
                arena_printf(arena, "%s:%lld", ip, (long long)port), meta_name(service),
                meta_ns(service));
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
    struct json_object *pods = form(arena, "[]"), *daemons = form(arena, "[]"), **items, *target;

    (void)ns;
    (void)name;
    if (!p)
        return;
    size_t count = context_list(cluster, arena, KIND_POD, NULL, &items);
    for (size_t i = 0; i < count; i++)
        if ((target = prometheus_target(arena, items[i])))
            form_add(pods, target);
    count = context_list(cluster, arena, KIND_SERVICE, NULL, &items);
    for (size_t i = 0; i < count; i++)
        if ((target = daemon_target(cluster, arena, items[i])))
            form_add(daemons, target);
    const char *both =
        arena_printf(arena, "%s%s", json_text(arena, pods), json_text(arena, daemons));
    if (p->targets && strcmp(p->targets, both) == 0)
        return;
    free(p->targets);
    p->targets = heap_strdup(both);
    write_list(p, arena, "pods.json", pods);
    write_list(p, arena, "daemons.json", daemons);
}

static void ask_ready(void *arg);

static void on_asked(void *arg, const struct http_result *result)
{
    struct prometheus *p = arg;
    p->ready = result->err == ERR_OK && result->status == 200;
    if (!p->ready && !p->keeper.stopped && result->err != ERR_CANCELLED)
        p->ready_timer = timer_start(p->cluster->loop, READY_POLL_MS, 0, ask_ready, p);
}

static void ask_ready(void *arg)
{
    struct prometheus *p = arg;
    char *url = heap_printf("http://127.0.0.1:%d/-/ready", p->cluster->options.prometheus_port);
    const struct http_request request = {.url = url, .proxy = "", .timeout_ms = 1000};
    p->ready_timer = NULL;
    http_send(p->cluster->probes, &request, on_asked, p);
    free(url);
}

enum err prometheus_new(struct cluster *cluster, struct prometheus **out, struct errinfo *ei)
{
    const struct cluster_options *options = &cluster->options;
    struct prometheus *p = heap_alloc(sizeof(*p));
    struct arena *arena = arena_new();
    struct buf text;

    *p = (struct prometheus){
        .cluster = cluster,
        .arena = arena,
        .directory = arena_printf(arena, "%s/prometheus", options->directory),
        .keeper = {.loop = cluster->loop, .name = "Prometheus"},
    };
    const char *argv[] = {
        "prometheus",
        arena_printf(arena, "--config.file=%s/prometheus.yml", p->directory),
        arena_printf(arena, "--storage.tsdb.path=%s/data", p->directory),
        arena_printf(arena, "--web.listen-address=127.0.0.1:%d", options->prometheus_port),
        "--query.lookback-delta=1m",
        "--enable-feature=native-histograms",
        "--log.level=warn",
    };
    memcpy(p->keeper.argv, argv, sizeof(argv));
    *out = p;
    if (mkdir(p->directory, 0700) != 0 && errno != EEXIST)
        return err_set(ei, ERR_DENIED, "cannot make %s: %s", p->directory, strerror(errno));
    buf_init(&text, CONFIG_MAX);
    prometheus_config(&text, p->directory, SCRAPE_MS);
    enum err err = file_write(arena_printf(arena, "%s/prometheus.yml", p->directory), text.data,
                              text.len, 0644, ei);
    buf_fini(&text);
    if (err != ERR_OK)
        return err;
    keeper_start(&p->keeper);
    p->ready_timer = timer_start(cluster->loop, READY_POLL_MS, 0, ask_ready, p);
    return ERR_OK;
}

void prometheus_stop(struct prometheus *prometheus)
{
    timer_stop(prometheus->ready_timer);
    prometheus->ready_timer = NULL;
    keeper_stop(&prometheus->keeper);
}

void prometheus_free(struct prometheus *prometheus)
{
    if (!prometheus)
        return;
    free(prometheus->targets);
    arena_free(prometheus->arena);
    free(prometheus);
}

bool prometheus_ready(const struct prometheus *prometheus)
{
    return prometheus->ready;
}
