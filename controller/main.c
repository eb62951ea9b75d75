/* flagger-controller: options and wiring. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "base/process.h"
#include "ctl/ctl.h"
#include "engine/engine.h"
#include "engine/peer_controllers.h"
#include "engine/snapshot.h"
#include "engine/traces.h"
#include "fleet/main.h"
#include "kube/lease.h"
#include "kube/resource.h"
#include "net/child/child.h"
#include "net/client.h"
#include "net/server/server.h"
#include "notify/notify.h"
#include "page/page.h"
#include "router/router.h"

static struct {
    const char *kubeconfig, *kubeconfig_mesh, *master, *namespace_, *log_level, *mesh_provider,
        *metrics_server, *ca_file, *ingress_class, *ingress_prefix;
    const char *tenant_addresses, *selector_labels, *include_label_prefix, *event_webhook,
        *cluster_name, *external_url, *otlp_endpoint, *otlp_headers_file;
    const char *slack_url, *slack_token, *slack_proxy, *slack_user, *slack_channel;
    const char *msteams_url, *msteams_proxy;
    const char *leader_election_namespace, *address, *watch_selector, *ui_token_file,
        *ui_prometheus_url, *ui_grafana_url;
    double qps;
    int64_t burst, port, threadiness, control_loop_interval, min_analysis_interval, max_releases,
        max_releases_per_namespace;
    bool leader_election, config_tracking, no_cross_namespace_refs, group_queries, debug_endpoints,
        observe, ui;
} opt;

/* Default of leader election: on in a pod, where a second one may be started at any time, unless a
 * kubeconfig names another cluster. */
static char elects[] = "false";

static void choose_election(void)
{
    if (getenv("KUBERNETES_SERVICE_HOST") && !getenv("KUBECONFIG"))
        (void)snprintf(elects, sizeof(elects), "true");
}

static const struct option_row rows[] = {
    OPTION(STRING, "kubeconfig", &opt.kubeconfig, .arg = "PATHS", .group = "Kubernetes",
           .help = "kubeconfig files; default $KUBECONFIG, then the pod's service account, then "
                   "~/.kube/config"),
    OPTION(STRING, "master", &opt.master, .arg = "URL", .group = "Kubernetes",
           .help = "address of the API server, instead of the kubeconfig's"),
    OPTION(BOOL, "observe", &opt.observe, .group = "Kubernetes",
           .help = "shadow mode: change nothing, call no webhook, send no alert, and log for "
                   "each step of the active controller whether this one would have done the same"),
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME,...", .group = "Kubernetes",
           .help = "manage only the Canaries of these namespaces; default all"),
    OPTION(STRING, "watch-selector", &opt.watch_selector, .arg = "LABELS", .group = "Kubernetes",
           .help = "manage only Canaries with these labels, as kubectl's --selector; one that "
                   "loses them is left unchanged; default all"),
    OPTION(NUMBER, "kubeconfig-qps", &opt.qps, .value = "100", .arg = "N", .group = "Kubernetes",
           .help = "requests per second to each API server, separately for reads, events and "
                   "writes (writes of running releases: ten times as many); watches and leases "
                   "are not limited"),
    OPTION(INT, "kubeconfig-burst", &opt.burst, .value = "250", .min = 1, .max = 100000, .arg = "N",
           .group = "Kubernetes", .help = "burst of --kubeconfig-qps"),
    OPTION(STRING, "kubeconfig-service-mesh", &opt.kubeconfig_mesh, .arg = "PATHS",
           .group = "Kubernetes",
           .help = "kubeconfig of the cluster in which the mesh has its routes; default that of "
                   "the Canaries. Ingresses and Knative Services are always beside their "
                   "Canaries"),
    OPTION(STRING, "mesh-provider", &opt.mesh_provider, .value = SETTINGS_MESH_PROVIDER,
           .arg = "NAME", .group = "Releases",
           .help = "router of the Canaries that name no spec.provider"),
    OPTION(STRING, "metrics-server", &opt.metrics_server, .value = SETTINGS_METRICS_SERVER,
           .arg = "URL", .group = "Releases",
           .help = "Prometheus, for the Canaries that name no spec.metricsServer"),
    OPTION(BOOL, "group-queries", &opt.group_queries, .group = "Releases",
           .help = "query request-success-rate and request-duration of all due workloads at once"),
    OPTION(STRING, "ca-file", &opt.ca_file, .arg = "FILE", .group = "Releases",
           .help = "authorities (PEM) whose certificates webhooks and metric servers may show, "
                   "beside the system's; read again when it changes"),
    OPTION(STRING, "tenant-addresses", &opt.tenant_addresses, .arg = "LIST", .group = "Releases",
           .help = "addresses allowed in webhooks, metric servers and alerts of objects: +RANGE "
                   "allows and -RANGE denies one, the last match wins, as in "
                   "+loopback,-10.0.0.0/8; denied by default are link-local addresses and "
                   "metadata services, and in a pod those of the pod itself (loopback); "
                   "addresses in options are always allowed"),
    OPTION(STRING, "selector-labels", &opt.selector_labels, .value = SETTINGS_SELECTOR_LABELS,
           .arg = "LABELS", .group = "Releases",
           .help = "label keys that select a workload's pods, first match wins"),
    OPTION(STRING, "include-label-prefix", &opt.include_label_prefix, .arg = "PREFIXES",
           .group = "Releases",
           .help = "copy labels and annotations with these prefixes to the primary; * copies all"),
    OPTION(BOOL, "enable-config-tracking", &opt.config_tracking, .value = "true",
           .group = "Releases",
           .help = "a changed ConfigMap or Secret of the target starts a release"),
    OPTION(BOOL, "no-cross-namespace-refs", &opt.no_cross_namespace_refs, .group = "Releases",
           .help = "refuse templates, alert providers and upstreams of other namespaces, and "
                   "queries of Keptn and of external metrics that read them"),
    OPTION(DURATION, "min-analysis-interval", &opt.min_analysis_interval, .value = "10s",
           .arg = "DURATION", .group = "Releases", .help = "floor of spec.analysis.interval"),
    OPTION(DURATION, "control-loop-interval", &opt.control_loop_interval, .value = "10s",
           .arg = "DURATION", .group = "Releases",
           .help = "longest delay before a failed Canary is retried; there is no polling loop"),
    OPTION(INT, "threadiness", &opt.threadiness, .value = "2", .min = 1, .max = 1000, .arg = "N",
           .group = "Releases",
           .help = "work on at most 16 times N Canaries at once; those that wait for webhooks "
                   "or metrics do not count"),
    OPTION(INT, "max-concurrent-releases", &opt.max_releases, .value = "0", .min = 0,
           .max = 1000000, .arg = "N", .group = "Releases",
           .help = "limit of concurrent releases; further ones wait; 0 is no limit"),
    OPTION(INT, "max-concurrent-releases-per-namespace", &opt.max_releases_per_namespace,
           .value = "0", .min = 0, .max = 1000000, .arg = "N", .group = "Releases",
           .help = "the same in each namespace"),
    OPTION(STRING, "ingress-annotations-prefix", &opt.ingress_prefix,
           .value = "nginx.ingress.kubernetes.io", .arg = "PREFIX", .group = "Releases",
           .help = "provider nginx: prefix of the annotations that its ingress controller reads"),
    OPTION(STRING, "ingress-class", &opt.ingress_class, .arg = "NAME", .group = "Releases",
           .help = "provider contour: class of the created HTTPProxies; default none"),
    OPTION(STRING, "cluster-name", &opt.cluster_name, .arg = "NAME", .group = "Notifications",
           .help = "name of this cluster, shown in every alert"),
    OPTION(STRING, "external-url", &opt.external_url, .arg = "URL", .group = "Notifications",
           .help = "external URL of --port, https://flagger.example.com: every alert then links "
                   "to its Canary on the release page, or, if that is off, in /debug/canaries"),
    OPTION(STRING, "event-webhook", &opt.event_webhook, .env = "EVENT_WEBHOOK_URL", .arg = "URL",
           .group = "Notifications", .env_wins = true,
           .help = "post every event here, for the Canaries without event webhooks of their own"),
    OPTION(STRING, "otlp-endpoint", &opt.otlp_endpoint, .env = "OTEL_EXPORTER_OTLP_ENDPOINT",
           .arg = "URL", .group = "Notifications",
           .help =
               "collector of OpenTelemetry, http://collector:4318: gets a trace of each release "
               "by OTLP over HTTP (JSON), at URL/v1/traces; default none"),
    OPTION(STRING, "otlp-headers-file", &opt.otlp_headers_file, .arg = "FILE",
           .group = "Notifications",
           .help = "headers for --otlp-endpoint, such as Authorization=Bearer%20TOKEN: NAME=VALUE, "
                   "separated by commas or line breaks, values percent-encoded; followed when it "
                   "changes; default the text of the variable OTEL_EXPORTER_OTLP_HEADERS"),
    OPTION(STRING, "slack-url", &opt.slack_url, .env = "SLACK_URL", .arg = "URL",
           .group = "Notifications", .env_wins = true, .secret = true,
           .help = "incoming webhook for the alerts of Canaries without alerts of their own"),
    OPTION(STRING, "slack-token", &opt.slack_token, .env = "SLACK_TOKEN", .arg = "TOKEN",
           .group = "Notifications", .env_wins = true, .secret = true,
           .help = "sent to --slack-url, which is then https://slack.com/api/chat.postMessage"),
    OPTION(STRING, "slack-proxy-url", &opt.slack_proxy, .env = "SLACK_PROXY_URL", .arg = "URL",
           .group = "Notifications", .env_wins = true, .help = "HTTP proxy on the way there"),
    OPTION(STRING, "slack-user", &opt.slack_user, .value = "flagger", .arg = "NAME",
           .group = "Notifications", .help = "name to write under"),
    OPTION(STRING, "slack-channel", &opt.slack_channel, .value = "general", .arg = "NAME",
           .group = "Notifications", .help = "channel to write to"),
    OPTION(STRING, "msteams-url", &opt.msteams_url, .env = "MSTEAMS_URL", .arg = "URL",
           .group = "Notifications", .env_wins = true, .secret = true,
           .help = "the same for Microsoft Teams; goes before --slack-url"),
    OPTION(STRING, "msteams-proxy-url", &opt.msteams_proxy, .env = "MSTEAMS_PROXY_URL",
           .arg = "URL", .group = "Notifications", .env_wins = true,
           .help = "HTTP proxy on the way there"),
    OPTION(INT, "port", &opt.port, .value = "8080", .min = 0, .max = 65535, .arg = "PORT",
           .group = "Process",
           .help = "port of /metrics, /healthz, /readyz, /debug and /ui; 0 takes a free one"),
    OPTION(BOOL, "debug-endpoints", &opt.debug_endpoints, .value = "true", .group = "Process",
           .help = "answer GET /debug/process, /debug/canaries and "
                   "/debug/canaries/NAMESPACE/NAME: activity of each Canary, the queue, the "
                   "watches; names, states and counts, no content of objects"),
    OPTION(BOOL, "ui", &opt.ui, .group = "Process",
           .help = "serve the release page, GET /ui/, to every client that reaches the port: it "
                   "shows the statuses of Canaries, with answers of webhooks and names of "
                   "people; it is read-only"),
    OPTION(STRING, "ui-token-file", &opt.ui_token_file, .arg = "FILE", .group = "Process",
           .help = "serve the release page to clients with one of the bearer tokens in this "
                   "file, one a line, at least 16 characters each; read again when it changes"),
    OPTION(STRING, "ui-prometheus-url", &opt.ui_prometheus_url, .arg = "URL", .group = "Process",
           .help = "external URL of the Prometheus of --metrics-server, for links of the "
                   "release page; default the metric server itself"),
    OPTION(STRING, "ui-grafana-url", &opt.ui_grafana_url, .arg = "URL", .group = "Process",
           .help = "external URL of Grafana, for links of the release page"),
    OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0", .group = "Process"),
    OPTION_ROW_LOG_LEVEL(&opt.log_level, .group = "Process"),
    OPTION(BOOL, "enable-leader-election", &opt.leader_election, .value = elects,
           .group = "Process",
           .help = "several replicas may run: one leads, the others stand by; default true in a "
                   "pod"),
    OPTION(STRING, "leader-election-namespace", &opt.leader_election_namespace,
           .value = "kube-system", .arg = "NAME", .group = "Process",
           .help = "namespace of the lease; that of --namespace when it is one"),
    OPTION_ROWS_ZAP(.group = "Process"),
    {0}};

extern const char controller_help[]; /* help.txt */
static const struct option_program program = {
    .name = "flagger-controller",
    .summary =
        "Releases new versions of Kubernetes workloads step by step, as Canary objects ask for it.",
    .synopsis = "[OPTION...] | ctl COMMAND [ARGUMENT...] | fleet [OPTION...]",
    .details = controller_help,
    .rows = rows,
};

/* Argument of the handlers. The pointers are read for each request: engine and lease may be
 * NULL. */
struct debug_view {
    struct engine *const *engine;
    struct lease *const *lease;
    struct http_server *const *server;
    struct page *page; /* the release page, page/page.h */
};

struct controller {
    struct loop *loop;
    struct http_client *api;     /* for the Kubernetes API: few connections, much used */
    struct http_client *outside; /* for webhooks and metrics: a connection for each call */
    struct kube_client *kube;
    struct kube_client *mesh; /* NULL if it is the same cluster */
    struct engine *engine;
    struct lease *lease;
    struct http_server *server;
    struct tokens *tokens;         /* tokens for the release page; NULL if none is needed */
    struct trace_headers *headers; /* for the collector of traces; NULL if none */
    struct page page;
    struct debug_view debug; /* of the above; argument of the server's handlers */
};

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

/* Channels for alerts of Canaries that have none of their own. */
static const struct channel *read_alerts(struct arena *arena)
{
    bool teams = or_null(opt.msteams_url) != NULL;
    struct channel *channel = ARENA_NEW(arena, struct channel);

    if (!teams && !or_null(opt.slack_url))
        return NULL;
    *channel =
        (struct channel){.own = true,
                         .name = teams ? "--msteams-url" : "--slack-url",
                         .notifier = notifier_find(teams ? "msteams" : "slack"),
                         .address = {.url = teams ? opt.msteams_url : opt.slack_url,
                                     .token = teams ? NULL : or_null(opt.slack_token),
                                     .proxy = or_null(teams ? opt.msteams_proxy : opt.slack_proxy),
                                     .username = opt.slack_user,
                                     .channel = opt.slack_channel}};
    return channel;
}

static int count_texts(const char *const *texts)
{
    int count = 0;

    while (texts && texts[count])
        count++;
    return count;
}

/* Controllers for other parts of the cluster have other leases; replicas have the same options. */
static const char *lease_name(struct arena *arena, const struct cache_scope *scope)
{
    static const char name[] = "flagger-leader-election";
    uint32_t hash = 2166136261u; /* FNV-1a */

    if (count_texts(scope->namespaces) < 2 && !scope->canary_selector)
        return name;
    const char *part = arena_printf(arena, "%s|%s", opt.namespace_,
                                    scope->canary_selector ? scope->canary_selector : "");
    for (; *part; part++)
        hash = (hash ^ (unsigned char)*part) * 16777619u;
    return arena_printf(arena, "%s-%08x", name, hash);
}

static const char *lease_namespace(const struct cache_scope *scope)
{
    const char *const *in = scope->namespaces;
    bool one = in && in[0] && !in[1];

    return one ? in[0] : opt.leader_election_namespace;
}

/*
 * --- views of the state for operators, beside /metrics on the same port
 *
 *   GET /debug/process              leader, queue, watches, requests, memory
 *   GET /debug/canaries             ?namespace= &phase= &state= &limit= &continue=
 *   GET /debug/canaries/NS/NAME     one Canary: its run, pending facts, its last plan
 *   GET /ui/                        the release page
 */

/* False if answered. Access as for the page: requires a known token if tokens are configured, and
 * one of its own host names. */
static bool admits(const struct debug_view *view, struct http_conn_request *req)
{
    if (!debug_admits(req) || !page_admits(&view->page->door, req))
        return false;
    if (*view->engine)
        return true;
    http_reply_error(req, 503, "the controller is stopping");
    return false;
}

static void get_process(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;

    if (!admits(view, req) || debug_shared(req))
        return;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    debug_process(*view->server, out);
    snapshot_process(*view->engine, out);
    if (*view->lease) {
        struct json_object *leader = json_sub(out, "leader");
        json_set_str(leader, "holder", lease_holder(*view->lease));
        json_set_str(leader, "identity", lease_identity(*view->lease));
    }
    debug_reply(req, out);
}

static void get_canaries(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;
    struct debug_page page;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    const struct snapshot_filter filter = {.namespace_ = http_req_param(req, "namespace"),
                                           .phase = http_req_param(req, "phase"),
                                           .state = http_req_param(req, "state")};
    struct json_object *out =
        snapshot_canaries(*view->engine, http_req_arena(req), &filter, page.after, page.limit);
    if (out)
        debug_reply(req, out);
    else
        http_reply_error(req, 410,
                         "the Canary that this page would begin behind is gone; start over, "
                         "without continue");
}

static void get_canary(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;

    if (!admits(view, req) || debug_shared(req))
        return;
    const char *namespace_ = http_req_segment(req, 2), *name = http_req_segment(req, 3);
    struct json_object *out = NULL;
    if (namespace_ && name && !http_req_segment(req, 4))
        out = snapshot_canary(*view->engine, http_req_arena(req), namespace_, name);
    if (out)
        debug_reply(req, out);
    else
        http_reply_error(req, 404,
                         "there is no such Canary here: /debug/canaries/NAMESPACE/NAME; "
                         "GET /debug/canaries lists them");
}

static void get_page(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;

    page_serve(view->page, req);
}

static const struct http_route debug_page_routes[] = {
    {"GET", "/ui", get_page},
    {"GET", "/ui/*", get_page},
    {NULL, NULL, NULL},
};

static const struct http_route debug_routes[] = {
    {"GET", "/ui", get_page},
    {"GET", "/ui/*", get_page},
    {"GET", "/debug/process", get_process},
    {"GET", "/debug/canaries", get_canaries},
    {"GET", "/debug/canaries/*", get_canary},
    {NULL, NULL, NULL},
};

/* The release page (page/live.js), or /debug if it is off. */
static const char *canaries_url(struct arena *arena)
{
    bool has_page = opt.ui || (opt.ui_token_file && *opt.ui_token_file);
    size_t len = opt.external_url ? strlen(opt.external_url) : 0;

    while (len > 0 && opt.external_url[len - 1] == '/')
        len--;
    if (len == 0 || (!has_page && !opt.debug_endpoints))
        return NULL;
    return arena_printf(arena, "%.*s/%s/", (int)len, opt.external_url,
                        has_page ? "ui/#" : "debug/canaries");
}

static struct settings read_settings(struct arena *arena, const struct cache_scope *scope)
{
    return (struct settings){
        .controller = opt.leader_election ? arena_printf(arena, "%s/%s", lease_namespace(scope),
                                                         lease_name(arena, scope))
                                          : NULL,
        .mesh_provider = opt.mesh_provider,
        .metrics_server = opt.metrics_server,
        .selector_labels = option_split(arena, opt.selector_labels),
        .include_label_prefixes = option_split(arena, opt.include_label_prefix),
        .cluster_name = opt.cluster_name ? opt.cluster_name : "",
        .alerts = read_alerts(arena),
        .canaries_url = canaries_url(arena),
        .config_tracking = opt.config_tracking,
        .no_cross_namespace_refs = opt.no_cross_namespace_refs,
        .group_queries = opt.group_queries,
        .ingress_class = opt.ingress_class,
        .ingress_prefix = opt.ingress_prefix,
        .min_analysis_interval_ms = opt.min_analysis_interval,
    };
}

static bool is_ready(void *arg)
{
    const struct debug_view *view = arg;
    return *view->engine && engine_ready(*view->engine);
}

static void on_lead(void *arg, bool leads)
{
    struct controller *controller = arg;
    engine_lead(controller->engine, leads);
    if (!leads)
        lease_lost(controller->loop);
}

static bool is_leader(void *arg)
{
    const struct controller *controller = arg;
    return controller->lease && lease_is_leader(controller->lease);
}

static void close_clients(void *arg)
{
    struct controller *controller = arg;
    lease_free(controller->lease);
    controller->lease = NULL;
    kube_client_free(controller->kube);
    kube_client_free(controller->mesh);
    controller->kube = controller->mesh = NULL;
    http_client_free(controller->api);
    http_client_free(controller->outside);
    if (controller->tokens)
        tokens_stop(controller->tokens);
    trace_headers_stop(controller->headers);
    controller->api = controller->outside = NULL;
}

static void on_stopped(void *arg, bool quiet)
{
    struct controller *controller = arg;
    engine_free(controller->engine);
    controller->engine = NULL;
    lease_leave(controller->lease, quiet, close_clients, controller);
}

/* Watches never end by themselves: closes everything that keeps the loop alive, the lease last. */
static void on_drain(void *arg)
{
    enum { WRITES_MS = 10000 };
    struct controller *controller = arg;
    log_info("draining", NULL, "stopping: no new step is begun");
    engine_stop(controller->engine, WRITES_MS, on_stopped, controller);
}

static enum err read_links(struct arena *arena, struct show_links *out, struct errinfo *ei)
{
    enum err err =
        show_link_read(arena, "--ui-prometheus-url", opt.ui_prometheus_url, &out->prometheus, ei);

    return err == ERR_OK
               ? show_link_read(arena, "--ui-grafana-url", opt.ui_grafana_url, &out->grafana, ei)
               : err;
}

static enum err start_server(struct controller *controller, struct arena *arena,
                             const struct settings *settings, struct errinfo *ei)
{
    const char *file = or_null(opt.ui_token_file);
    enum err err =
        file ? tokens_new(controller->loop, file, NULL, &controller->tokens, ei) : ERR_OK;
    if (err != ERR_OK)
        return err_wrap(ei, err, "--ui-token-file");
    controller->page =
        (struct page){.engine = &controller->engine,
                      .settings = settings,
                      .door = {.open = opt.ui && !file, .tokens = controller->tokens},
                      .promises = promises_new(controller->loop, clock_monotonic_ms)};
    err = read_links(arena, &controller->page.links, ei);
    if (err != ERR_OK)
        return err;
    controller->debug = (struct debug_view){.engine = &controller->engine,
                                            .lease = &controller->lease,
                                            .server = &controller->server,
                                            .page = &controller->page};
    struct http_server_options options = {.address = opt.address,
                                          .port = (int)opt.port,
                                          .routes = opt.debug_endpoints ? debug_routes
                                                                        : debug_page_routes,
                                          .arg = &controller->debug,
                                          .ready = is_ready};
    return http_server_new(controller->loop, &options, &controller->server, ei);
}

/* Annotations of the lease: the part of the cluster that this controller serves, for others with
 * the same Canaries. */
static const char *const *lease_notes(struct arena *arena, const struct cache_scope *scope)
{
    const char **notes = arena_alloc(arena, 5 * sizeof(*notes)), **at = notes;

    if (scope->namespaces) {
        *at++ = PEER_NAMESPACES;
        *at++ = opt.namespace_;
    }
    if (scope->canary_selector) {
        *at++ = PEER_SELECTOR;
        *at++ = scope->canary_selector;
    }
    *at = NULL;
    return notes;
}

static void start_lease(struct controller *controller, struct arena *arena,
                        const struct cache_scope *scope)
{
    if (!opt.leader_election)
        return;
    struct lease_spec spec = {
        .namespace_ = lease_namespace(scope),
        .name = lease_name(arena, scope),
        .annotations = lease_notes(arena, scope),
        .changed = on_lead,
        .arg = controller,
    };
    controller->lease = lease_new(controller->loop, controller->kube, &spec);
}

/* Checked here: the API server would refuse an invalid selector only when Canaries are listed,
 * again and again, unnoticed. */
static enum err check_selector(struct arena *arena, const char *text, struct errinfo *ei)
{
    const struct selector *selector;

    if (selector_parse(arena, text, &selector, NULL) == ERR_OK)
        return ERR_OK;
    return err_set(ei, ERR_INVALID,
                   "--watch-selector: expected labels as team=red,tier!=test,owner,!old, found "
                   "\"%.80s\"",
                   text);
}

/* Each namespace has its own watches. */
static enum err read_scope(struct arena *arena, struct cache_scope *scope, struct errinfo *ei)
{
    enum { MOST = 100 };
    const char *const *namespaces = option_split(arena, opt.namespace_);

    *scope = (struct cache_scope){.namespaces = *namespaces ? namespaces : NULL,
                                  .canary_selector = or_null(opt.watch_selector)};
    if (count_texts(namespaces) > MOST)
        return err_set(ei, ERR_INVALID,
                       "--namespace names more than %d namespaces: look after all of them, or let "
                       "several controllers do it",
                       MOST);
    for (const char *const *at = namespaces; *at; at++)
        if (!kube_is_label(*at))
            return err_set(ei, ERR_INVALID,
                           "--namespace: expected names of namespaces, found \"%.80s\"", *at);
    return scope->canary_selector ? check_selector(arena, scope->canary_selector, ei) : ERR_OK;
}

/* The cluster of the routes; without a server option, that of the Canaries. */
static enum err load_mesh(struct arena *arena, const char *server, struct kube_config *mesh,
                          struct errinfo *ei)
{
    struct kube_config_source source = {.kubeconfig = opt.kubeconfig_mesh,
                                        .master = or_null(opt.master)};

    *mesh = (struct kube_config){.server = NULL};
    if (!or_null(opt.kubeconfig_mesh))
        return ERR_OK;
    enum err err = kube_config_load(arena, &source, mesh, ei);
    if (err == ERR_OK && strcmp(mesh->server, server) == 0)
        mesh->server = NULL;
    return err;
}

static enum err check_provider(struct arena *arena, struct errinfo *ei)
{
    if (router_find(opt.mesh_provider))
        return ERR_OK;
    return err_set(ei, ERR_INVALID, "--mesh-provider: expected one of %s, found \"%.80s\"",
                   router_names(arena), opt.mesh_provider);
}

static enum err check_otlp(struct errinfo *ei)
{
    const char *url = or_null(opt.otlp_endpoint);

    if (!url || url_same_origin(url, url)) /* with itself: it is valid */
        return ERR_OK;
    return err_set(ei, ERR_INVALID,
                   "--otlp-endpoint: expected a URL such as http://collector:4318, found \"%.80s\"",
                   url);
}

/* Not an option: arguments can be read by every user of a machine. */
static enum err open_headers(struct controller *controller, struct errinfo *ei)
{
    static const char variable[] = "OTEL_EXPORTER_OTLP_HEADERS";
    const char *file = or_null(opt.otlp_headers_file), *text = or_null(getenv(variable));

    if (!or_null(opt.otlp_endpoint) && file)
        return err_set(ei, ERR_INVALID,
                       "--otlp-headers-file: expected --otlp-endpoint beside it, which gets them");
    if (!or_null(opt.otlp_endpoint) || (!file && !text))
        return ERR_OK;
    enum err err = trace_headers_new(controller->loop, file, text, &controller->headers, ei);
    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, file ? "--otlp-headers-file" : variable);
}

static int fail(const struct errinfo *ei)
{
    log_error("start_failed", NULL, ei->text);
    return 1;
}

/* Distinguishes the two in the server's logs and audits. */
static const char *agent(void)
{
    return opt.observe ? "flagger-observer" : "flagger-controller";
}

/*
 * Webhook calls do not queue behind each other; each uses its own connection. Limited only by the
 * number of files this process may open, less those needed for everything else; further calls wait,
 * without using up their time-out.
 */
static struct http_client *new_outside(struct loop *loop, const struct reach *reach)
{
    enum { ELSE = 256, LEAST = 64, MOST = 4096, MAX_HELD = 32 * 1024 * 1024 };
    long files = process_raise_files();
    struct http_client_options options = {.max_per_host = -1,
                                          .max_total = -1,
                                          .max_held = MAX_HELD,
                                          .ca_file = or_null(opt.ca_file),
                                          .reach = reach,
                                          .reach_option = REACH_OPTION,
                                          .user_agent = agent()};

    options.max_calls = MOST;
    if (files < MOST + ELSE)
        options.max_calls = files < LEAST + ELSE ? LEAST : (int)files - ELSE;
    return http_client_new(loop, &options);
}

static struct kube_client *new_kube(struct controller *controller, const struct kube_config *config)
{
    const struct kube_client_options options = {
        .qps = opt.qps, .burst = (int)opt.burst, .user_agent = agent(), .reads_only = opt.observe};

    return kube_client_new(controller->loop, controller->api, config, &options);
}

static void open_clients(struct controller *controller, const struct kube_config *config,
                         const struct kube_config *mesh, const struct reach *reach)
{
    controller->api =
        http_client_new(controller->loop, &(struct http_client_options){.user_agent = agent()});
    controller->outside = new_outside(controller->loop, reach);
    controller->kube = new_kube(controller, config);
    if (mesh->server)
        controller->mesh = new_kube(controller, mesh);
}

static void end_loop(struct controller *controller)
{
    promises_free(controller->page.promises);
    loop_free(controller->loop);
    tokens_free(controller->tokens);
    trace_headers_free(controller->headers);
}

static int run(struct arena *arena)
{
    struct errinfo ei = {0};
    struct kube_config config, mesh;
    struct cache_scope scope;
    struct kube_config_source source = {.kubeconfig = or_null(opt.kubeconfig),
                                        .master = or_null(opt.master)};
    const struct reach *reach;
    if (read_scope(arena, &scope, &ei) != ERR_OK ||
        reach_option(arena, opt.tenant_addresses, &reach, &ei) != ERR_OK ||
        check_provider(arena, &ei) != ERR_OK || check_otlp(&ei) != ERR_OK ||
        kube_config_load(arena, &source, &config, &ei) != ERR_OK ||
        load_mesh(arena, config.server, &mesh, &ei) != ERR_OK ||
        (or_null(opt.ca_file) && file_check(opt.ca_file, &ei) != ERR_OK))
        return fail(&ei);
    struct settings settings = read_settings(arena, &scope);
    struct controller controller = {.loop = loop_new(20000)};
    if (open_headers(&controller, &ei) != ERR_OK) {
        end_loop(&controller);
        return fail(&ei);
    }
    open_clients(&controller, &config, &mesh, reach);
    scope.mesh = controller.mesh;
    settings.mesh_apart = controller.mesh != NULL;
    controller.engine = engine_new(
        &(struct engine_options){.loop = controller.loop,
                                 .kube = controller.kube,
                                 .http = controller.outside,
                                 .settings = &settings,
                                 .scope = scope,
                                 .event_webhook = or_null(opt.event_webhook),
                                 .otlp_endpoint = or_null(opt.otlp_endpoint),
                                 .otlp_headers = controller.headers,
                                 .max_runs = (int)opt.threadiness * 16,
                                 .max_releases = (int)opt.max_releases,
                                 .max_releases_per_namespace = (int)opt.max_releases_per_namespace,
                                 .retry_ceiling_ms = opt.control_loop_interval,
                                 .observe = opt.observe,
                                 .is_leader = opt.leader_election ? is_leader : NULL,
                                 .arg = &controller});
    int status = 1;
    if (start_server(&controller, arena, &settings, &ei) == ERR_OK) {
        loop_on_drain(controller.loop, on_drain, &controller);
        loop_take_hangup(controller.loop,
                         "a restart takes: options and their environment, the kubeconfig; the "
                         "files of tokens and authorities are followed by themselves");
        start_lease(&controller, arena, &scope);
        log_info("started", NULL, "watching for canaries", LOG_STR("version", FLAGGER_VERSION),
                 LOG_STR("server", config.server),
                 LOG_STR("mesh_server", mesh.server ? mesh.server : config.server),
                 LOG_STR("mesh_provider", settings.mesh_provider),
                 LOG_STR("routers", router_names(arena)),
                 LOG_INT("port", http_server_port(controller.server)));
        status = loop_run(controller.loop);
        http_server_free(controller.server);
    } else {
        fail(&ei);
        on_stopped(&controller, true);
    }
    end_loop(&controller);
    return status;
}

int main(int argc, char **argv)
{
    static char ctl[] = "flagger-controller ctl", fleet[] = "flagger-controller fleet";

    child_main(argc, argv);
    process_hide(); /* protects tokens of the cluster, webhooks and metric servers */
    if (argc > 1 && strcmp(argv[1], "ctl") == 0) {
        argv[1] = ctl;
        return ctl_main(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "fleet") == 0) {
        argv[1] = fleet;
        return main_fleet(argc - 1, argv + 1);
    }
    struct arena *arena = arena_new();
    choose_election();
    option_parse_daemon(&program, arena, argc, argv, &opt.log_level);
    if (opt.observe) /* beside other observers and the leader */
        opt.leader_election = false;
    int status = run(arena);
    metrics_reset();
    arena_free(arena);
    return status;
}
