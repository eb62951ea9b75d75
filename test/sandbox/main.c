/* flagger-sandbox: options and wiring. */
#define _GNU_SOURCE /* nftw */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/option.h"
#include "base/process.h"
#include "cluster/cluster.h"
#include "cluster/crds.h"
#include "cluster/podspec.h"
#include "net/child/child.h"

enum { DRAIN_MS = 20 * 1000, READY_POLL_MS = 20, READY_LIMIT_MS = 30 * 1000, RUNS_MAX = 16 };

static struct {
    const char *address, *data, *token, *kubeconfig, *hosts, *crds, *registered, *app, *load, *runs;
    const char *log_level;
    int64_t http, https, prometheus, gateway_port, nodes, watch_delay_ms;
    bool no_gateway, no_services;
} opt;

static const struct option_row rows[] = {
    OPTION(INT, "listen-http", &opt.http, .value = "0", .min = -1, .max = 65535, .arg = "PORT",
           .help = "port of the Kubernetes API over HTTP; 0 takes a free one, -1 none",
           .group = "Kubernetes API"),
    OPTION(INT, "listen-https", &opt.https, .value = "0", .min = -1, .max = 65535, .arg = "PORT",
           .help = "port of the Kubernetes API over HTTPS; 0 takes a free one, -1 none",
           .group = "Kubernetes API"),
    OPTION(STRING, "address", &opt.address, .value = "127.0.0.1", .arg = "ADDRESS",
           .help = "address that the API listens on", .group = "Kubernetes API"),
    OPTION(STRING, "token", &opt.token, .env = "SANDBOX_TOKEN", .arg = "TOKEN", .secret = true,
           .help = "bearer token of the API; a random one if not given", .group = "Kubernetes API"),
    OPTION(STRING, "kubeconfig", &opt.kubeconfig, .arg = "FILE",
           .help = "kubeconfig file to write for kubectl and the controller",
           .group = "Kubernetes API"),
    OPTION(DURATION, "watch-delay", &opt.watch_delay_ms, .value = "0s", .arg = "DURATION",
           .env = "SANDBOX_WATCH_DELAY", .help = "so late watches tell of what happens",
           .group = "Kubernetes API"),
    OPTION(STRING, "crds", &opt.crds, .arg = "PATH,...",
           .help =
               "files or directories with CustomResourceDefinitions to install, besides HTTPRoute "
               "and Gateway",
           .group = "Kubernetes API"),
    OPTION(INT, "nodes", &opt.nodes, .value = "1", .min = 1, .max = 100, .arg = "N",
           .help = "nodes that DaemonSets run on", .group = "Workloads"),
    OPTION(STRING, "app", &opt.app, .arg = "FILE",
           .help =
               "program that pods with an image named demo-app run; flagger-demo-app beside this "
               "program if not given",
           .group = "Workloads"),
    OPTION(STRING, "run", &opt.runs, .arg = "IMAGE=FILE,...",
           .help =
               "programs that run pods with other images, by the image's name: FILE NAMESPACE POD "
               "ADDRESS ARGUMENT...",
           .group = "Workloads"),
    OPTION(STRING, "hosts", &opt.hosts, .arg = "FILE",
           .help =
               "hosts file to keep with the names of all Services, to be mounted over /etc/hosts",
           .group = "Network"),
    OPTION(INT, "gateway-port", &opt.gateway_port, .value = "0", .min = 0, .max = 65535,
           .arg = "PORT", .help = "further port of the gateway, on 127.0.0.1", .group = "Network"),
    OPTION(BOOL, "no-gateway", &opt.no_gateway,
           .help = "runs no gateway: HTTPRoutes are stored, but nobody serves them",
           .group = "Network"),
    OPTION(BOOL, "no-services", &opt.no_services,
           .help = "forwards nothing: Services are stored, with their addresses, and have no "
                   "endpoints",
           .group = "Network"),
    OPTION(STRING, "register", &opt.registered, .arg = "SERVICE=ADDRESS:PORT,...",
           .help = "Services that lead to programs of this machine, as "
                   "NAME.NAMESPACE[:PORT]=ADDRESS:PORT; Prometheus scrapes them",
           .group = "Network"),
    OPTION(INT, "prometheus", &opt.prometheus, .value = "0", .min = 0, .max = 65535, .arg = "PORT",
           .help = "runs Prometheus on this port of 127.0.0.1", .group = "Metrics"),
    OPTION(STRING, "data", &opt.data, .arg = "DIR",
           .help =
               "directory for certificates and files of the proxies; a temporary one if not given",
           .group = "State"),
    OPTION(STRING, "load", &opt.load, .arg = "FILE",
           .help =
               "objects to put in before it is ready, one as JSON in each line, exactly as they "
               "are: nobody works on one of them before it changes",
           .group = "State"),
    OPTION_ROW_LOG_LEVEL(&opt.log_level, .group = "State"),
    {0},
};

extern const char sandbox_help[]; /* help.txt */

static const struct option_program program = {
    .name = "flagger-sandbox",
    .summary = "a Kubernetes cluster on one machine, to try a Canary in",
    .synopsis = "[OPTION...]",
    .details = sandbox_help,
    .rows = rows,
};

struct sandbox {
    struct loop *loop;
    struct arena *arena;
    struct objstore *store;
    struct api *api;
    struct cluster *cluster;
    struct timer *ready_timer;
    struct podrun runs[RUNS_MAX + 1];
    size_t run_count;
    const char *directory;
    bool temporary, never_ready;
    int64_t started_ms;
};

static enum err make_directory(struct sandbox *s, struct errinfo *ei)
{
    if (!opt.data) {
        const char *tmp = getenv("TMPDIR");
        char *name = arena_printf(s->arena, "%s/sandbox-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        s->directory = mkdtemp(name);
        s->temporary = s->directory != NULL;
        if (!s->directory)
            return err_set(ei, ERR_DENIED, "cannot make a temporary directory: %s",
                           strerror(errno));
        return ERR_OK;
    }
    if (mkdir(opt.data, 0700) != 0 && errno != EEXIST)
        return err_set(ei, ERR_DENIED, "--data %s: %s", opt.data, strerror(errno));
    char *full = realpath(opt.data, NULL); /* the proxies do not run in our directory */
    s->directory = arena_strdup(s->arena, full ? full : opt.data);
    free(full);
    return ERR_OK;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* flagger-demo-app stands beside this program. */
static enum err find_app(struct sandbox *s, const char **app, struct errinfo *ei)
{
    char self[4096];
    size_t len = sizeof(self);
    *app = opt.app;
    if (!opt.app && uv_exepath(self, &len) == 0) {
        char *slash = strrchr(self, '/');
        *app = arena_printf(s->arena, "%.*s/flagger-demo-app", (int)(slash - self), self);
    }
    if (!*app || access(*app, X_OK) != 0)
        return err_set(ei, ERR_NOT_FOUND, "there is no program %s for pods: name it with --app",
                       *app ? *app : "flagger-demo-app");
    return ERR_OK;
}

/* Calls fn for each part of a list with commas. */
static enum err each_part(struct sandbox *s, const char *list,
                          enum err (*fn)(struct sandbox *s, const char *part, struct errinfo *ei),
                          struct errinfo *ei)
{
    enum err err = ERR_OK;
    while (list && *list && err == ERR_OK) {
        size_t len = strcspn(list, ",");
        if (len > 0)
            err = fn(s, arena_strndup(s->arena, list, len), ei);
        list += len + (list[len] == ',');
    }
    return err;
}

static enum err add_crds(struct sandbox *s, const char *part, struct errinfo *ei)
{
    return crds_load(s->store, part, ei);
}

static enum err add_registered(struct sandbox *s, const char *part, struct errinfo *ei)
{
    return cluster_register(s->cluster, part, ei);
}

static enum err add_run(struct sandbox *s, const char *part, struct errinfo *ei)
{
    size_t len = strcspn(part, "=");
    if (len == 0 || !part[len] || !part[len + 1])
        return err_set(ei, ERR_INVALID, "--run %s: expected IMAGE=FILE", part);
    if (s->run_count == RUNS_MAX)
        return err_set(ei, ERR_INVALID, "--run: expected at most %d images", RUNS_MAX);
    s->runs[s->run_count++] =
        (struct podrun){.image = arena_strndup(s->arena, part, len), .program = part + len + 1};
    return ERR_OK;
}

static enum err copy_kubeconfig(struct sandbox *s, struct errinfo *ei)
{
    char *text;
    size_t len;
    if (!opt.kubeconfig)
        return ERR_OK;
    enum err err = file_read(s->arena, api_kubeconfig(s->api), 1024 * 1024, &text, &len, ei);
    return err == ERR_OK ? file_write(opt.kubeconfig, text, len, 0600, ei) : err;
}

/* ---- from beginning to end ---- */

static void print_ready(struct sandbox *s)
{
    printf("ready");
    if (api_https_port(s->api) > 0)
        printf(" api=https://%s:%d", opt.address, api_https_port(s->api));
    if (api_http_port(s->api) > 0)
        printf(" api-http=http://%s:%d", opt.address, api_http_port(s->api));
    if (cluster_gateway_address(s->cluster)[0])
        printf(" gateway=http://%s", cluster_gateway_address(s->cluster));
    if (opt.gateway_port > 0 && !opt.no_gateway)
        printf(" gateway-local=http://127.0.0.1:%d", (int)opt.gateway_port);
    if (opt.prometheus > 0)
        printf(" prometheus=http://127.0.0.1:%d", (int)opt.prometheus);
    printf(" kubeconfig=%s\n", opt.kubeconfig ? opt.kubeconfig : api_kubeconfig(s->api));
    fflush(stdout);
}

static void on_ready_poll(void *arg)
{
    struct sandbox *s = arg;
    const char *trouble = cluster_trouble(s->cluster);
    struct errinfo ei;
    if (trouble && clock_monotonic_ms() - s->started_ms < READY_LIMIT_MS)
        return;
    timer_stop(s->ready_timer);
    s->ready_timer = NULL;
    if (trouble) {
        log_error("not_ready", NULL, trouble);
        s->never_ready = true;
        loop_drain(s->loop);
    } else if (opt.load && objstore_load(s->store, opt.load, &ei) != ERR_OK) {
        log_error("not_ready", NULL, ei.text);
        s->never_ready = true;
        loop_drain(s->loop);
    } else {
        print_ready(s);
    }
}

static void on_drain(void *arg)
{
    struct sandbox *s = arg;
    timer_stop(s->ready_timer);
    s->ready_timer = NULL;
}

static enum err start(struct sandbox *s, struct errinfo *ei)
{
    const char *app;
    enum err err = make_directory(s, ei);
    if (err == ERR_OK)
        err = find_app(s, &app, ei);
    if (err != ERR_OK)
        return err;
    s->store = objstore_new(s->loop, 0);
    err = crds_install(s->store, ei);
    if (err == ERR_OK)
        err = each_part(s, opt.crds, add_crds, ei);
    if (err == ERR_OK)
        err = each_part(s, opt.runs, add_run, ei);
    if (err != ERR_OK)
        return err;
    const struct cluster_options cluster = {.app = app,
                                            .runs = s->runs,
                                            .directory = s->directory,
                                            .hosts = opt.hosts,
                                            .nodes = (int)opt.nodes,
                                            .no_services = opt.no_services,
                                            .gateway_port =
                                                opt.no_gateway ? -1 : (int)opt.gateway_port,
                                            .prometheus_port = (int)opt.prometheus};
    err = cluster_new(s->loop, s->store, &cluster, &s->cluster, ei);
    if (err != ERR_OK)
        return err;
    const struct api_options api = {.address = opt.address,
                                    .http_port = (int)opt.http,
                                    .https_port = (int)opt.https,
                                    .token = opt.token,
                                    .watch_delay_ms = opt.watch_delay_ms,
                                    .directory = s->directory};
    err = api_new(s->loop, s->store, &api, &s->api, ei);
    if (err != ERR_OK)
        return err;
    api_on_pod_log(s->api, cluster_pod_log, s->cluster);
    err = each_part(s, opt.registered, add_registered, ei);
    return err == ERR_OK ? copy_kubeconfig(s, ei) : err;
}

static void print_statistics(struct sandbox *s)
{
    struct json_object *counts = s->api ? api_counts(s->api, s->arena) : NULL;
    if (counts)
        printf("api requests: %s\n", json_text(s->arena, counts));
}

int main(int argc, char **argv)
{
    struct sandbox s = {.arena = arena_new(), .started_ms = clock_monotonic_ms()};
    struct errinfo ei = {0};
    int status = 1;

    child_main(argc, argv);
    option_parse(&program, s.arena, argc, argv);
    process_raise_files();
    (void)log_set_level(opt.log_level);
    s.loop = loop_new(DRAIN_MS);
    loop_on_drain(s.loop, on_drain, &s);
    if (start(&s, &ei) == ERR_OK) {
        s.ready_timer = timer_start(s.loop, READY_POLL_MS, READY_POLL_MS, on_ready_poll, &s);
        status = loop_run(s.loop);
        if (s.never_ready)
            status = 1;
    } else {
        log_error("start_failed", NULL, ei.text);
        loop_drain(s.loop); /* ends what was started before the mistake was found */
        (void)loop_run(s.loop);
    }
    print_statistics(&s);
    cluster_free(s.cluster);
    api_free(s.api);
    objstore_free(s.store);
    loop_free(s.loop);
    if (s.temporary)
        nftw(s.directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    arena_free(s.arena);
    return status;
}
