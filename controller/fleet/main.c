#include "fleet/main.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "fleet/daemon/app.h"
#include "fleet/daemon/members.h"
#include "fleet/daemon/wave.h"
#include "fleet/rules/select.h"
#include "kube/lease.h"
#include "kube/resource.h"
#include "net/server/server.h"
#include "page/page.h"

/*
 * The debug endpoints, on the port of /metrics:
 *
 *   GET /debug/process         leader, clusters by state, work running and waiting, memory
 *   GET /debug/clusters        each: state, why it is unreachable, last contact, canaries
 *   GET /debug/applications    each: what blocks it, its places and their states
 *   GET /debug/plans           each: its phase, and the steps under way
 *
 * Lists are paged: ?limit= and ?continue=. The pointers are followed for each request.
 */
struct fleet_debug {
    struct members *const *members;
    struct lease *const *lease;
    struct http_server *const *server;
    struct plans_page page;
};

/* False: the request was answered. Admits the same requests as the page: with a token if tokens are
 * required, and only under its own names. */
static bool admits(const struct fleet_debug *view, struct http_conn_request *req)
{
    if (!debug_admits(req) || !page_admits(&view->page.door, req))
        return false;
    if (*view->members)
        return true;
    http_reply_error(req, 503, "the daemon is stopping");
    return false;
}

static void get_process(void *arg, struct http_conn_request *req)
{
    const struct fleet_debug *view = arg;
    struct members_snapshot look;

    if (!admits(view, req) || debug_shared(req))
        return;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    debug_process(*view->server, out);
    members_snapshot(*view->members, &look);
    json_set_bool(out, "leads", look.leads);
    json_set_bool(out, "ready", members_ready(*view->members));
    json_set_str(out, "waitsFor", management_cache_trouble(look.fleet->management));
    json_set_str(out, "identity", look.fleet->context.identity);
    json_set_int(out, "applications", (int64_t)look.apps);
    json_set_int(out, "plans", (int64_t)look.plans);
    json_set_int(out, "canaries", (int64_t)look.canaries);
    struct json_object *clusters = json_sub(out, "clusters");
    for (int i = 0; i < MEMBER_STATES; i++)
        json_set_int(clusters, member_state_name((enum member_state)i), look.of[i]);
    struct json_object *work = json_sub(out, "rollouts");
    json_set_int(work, "waiting", look.waiting);
    json_set_int(work, "running", look.running);
    json_set_int(out, "writesUnderWay", look.fleet->context.writes);
    if (*view->lease) {
        struct json_object *leader = json_sub(out, "leader");
        json_set_str(leader, "holder", lease_holder(*view->lease));
        json_set_str(leader, "identity", lease_identity(*view->lease));
    }
    debug_reply(req, out);
}

/* --- lists, by name */

struct listed {
    const char *key;
    const void *item;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct listed *)a)->key, ((const struct listed *)b)->key);
}

/* One page of the list, with each element written by `show`. */
static void reply_page(struct http_conn_request *req, const struct debug_page *page,
                       struct listed *all, size_t count, const char *name,
                       void (*show)(const void *item, struct json_object *out))
{
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    struct json_object *list = json_object_new_array();
    size_t at = 0;

    if (count > 0)
        qsort(all, count, sizeof(*all), by_key);
    json_object_object_add(out, name, list);
    while (page->after && at < count && strcmp(all[at].key, page->after) <= 0)
        at++;
    for (int i = 0; i < page->limit && at < count; i++, at++) {
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        show(all[at].item, one);
    }
    if (at < count)
        json_set_str(out, "continue", all[at - 1].key);
    debug_reply(req, out);
}

static void show_member(const void *item, struct json_object *out)
{
    const struct member *member = item;

    json_set_str(out, "namespace", member->namespace_);
    json_set_str(out, "secret", *member->access ? member->access : FLEET_HOST);
    json_set_str(out, "state", member_state_name(member->state));
    json_set_str(out, "why", member->why);
    json_set_int(out, "running", member->running);
    if (!member->cache)
        return;
    json_set_int(out, "canaries", (int64_t)member_cache_canaries(member->cache));
    if (member_cache_heard_ms(member->cache) > 0)
        debug_set_time(out, "heard", member_cache_heard_ms(member->cache));
}

static void get_clusters(void *arg, struct http_conn_request *req)
{
    const struct fleet_debug *view = arg;
    struct arena *arena = http_req_arena(req);
    const struct member *member;
    struct members_snapshot look;
    struct debug_page page;
    size_t count = 0;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    members_snapshot(*view->members, &look);
    struct listed *all = arena_array(arena, look.members, sizeof(*all));
    for (size_t i = 0; (member = members_next(*view->members, &i));)
        all[count++] =
            (struct listed){.key = arena_printf(arena, "%s/%s", member->namespace_, member->access),
                            .item = member};
    reply_page(req, &page, all, count, "clusters", show_member);
}

static void show_app(const void *item, struct json_object *out)
{
    enum { MOST = 1000 };
    const struct app *app = item;
    struct json_object *places = json_object_new_array();
    struct app_snapshot look;
    int shown = 0;

    app_snapshot(app, &look);
    json_set_str(out, "namespace", app_namespace(app));
    json_set_str(out, "name", app_name(app));
    json_set_str(out, "trouble", look.trouble);
    json_set_int(out, "count", (int64_t)look.places);
    json_object_object_add(out, "places", places);
    for (struct place *place = NULL; shown < MOST && (place = app_next_place(app, place));
         shown++) {
        struct json_object *one = json_object_new_object();
        struct report_row row;
        place_report(place, &row);
        json_object_array_add(places, one);
        json_set_str(one, "policy", row.policy);
        json_set_str(one, "cluster", row.cluster);
        json_set_str(one, "doing", place_state_name(place->state));
        json_set_str(one, "state", report_state_name(row.state));
        json_set_str(one, "message", row.says);
    }
}

static void get_applications(void *arg, struct http_conn_request *req)
{
    const struct fleet_debug *view = arg;
    struct arena *arena = http_req_arena(req);
    struct members_snapshot look;
    struct debug_page page;
    const struct app *app;
    size_t count = 0;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    members_snapshot(*view->members, &look);
    struct listed *all = arena_array(arena, look.apps, sizeof(*all));
    for (size_t i = 0; (app = members_next_app(*view->members, &i));)
        all[count++] = (struct listed){.key = app_label(app), .item = app};
    reply_page(req, &page, all, count, "applications", show_app);
}

static void show_plan(const void *item, struct json_object *out)
{
    const struct wave *wave = item;
    struct wave_snapshot look;

    wave_snapshot(wave, &look);
    json_set_str(out, "namespace", wave_namespace(wave));
    json_set_str(out, "name", wave_name(wave));
    json_set_str(out, "doing", look.state);
    json_set_str(out, "phase", look.phase);
    json_set_int(out, "steps", look.steps);
    json_set_int(out, "looks", look.looks);
    json_set_bool(out, "asksGate", look.asks);
}

static void get_plans(void *arg, struct http_conn_request *req)
{
    const struct fleet_debug *view = arg;
    struct arena *arena = http_req_arena(req);
    struct members_snapshot look;
    const struct wave *wave;
    struct debug_page page;
    size_t count = 0;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    members_snapshot(*view->members, &look);
    struct listed *all = arena_array(arena, look.plans, sizeof(*all));
    for (size_t i = 0; (wave = members_next_plan(*view->members, &i));)
        all[count++] = (struct listed){
            .key = arena_printf(arena, "%s/%s", wave_namespace(wave), wave_name(wave)),
            .item = wave};
    reply_page(req, &page, all, count, "plans", show_plan);
}

static void get_page(void *arg, struct http_conn_request *req)
{
    struct fleet_debug *view = arg;

    plans_page_serve(&view->page, req);
}

static const struct http_route fleet_debug_page_routes[] = {
    {"GET", "/ui", get_page}, {"GET", "/ui/*", get_page}, {0}};
static const struct http_route fleet_debug_routes[] = {
    {"GET", "/ui", get_page},
    {"GET", "/ui/*", get_page},
    {"GET", "/debug/process", get_process},
    {"GET", "/debug/clusters", get_clusters},
    {"GET", "/debug/applications", get_applications},
    {"GET", "/debug/plans", get_plans},
    {0}};

/* --- options */

#define LEASE "flagger-fleet-leader"

static struct {
    const char *kubeconfig, *master, *namespace_, *name, *loader_image, *claim_namespace,
        *lease_namespace, *address, *log_level, *ui_token_file, *tenant_addresses,
        *allow_namespaces, *system_namespaces;
    double qps;
    int64_t burst, threadiness, abandon_ms, port;
    bool adopt_kurator, own_cluster, leader_election, debug_endpoints, ui;
} opt;

static char elects[] = "false";

static const struct option_row rows[] = {
    OPTION(STRING, "kubeconfig", &opt.kubeconfig, .arg = "PATHS", .group = "Management cluster",
           .help = "kubeconfig files; default $KUBECONFIG, then the pod's service account, then "
                   "~/.kube/config"),
    OPTION(STRING, "master", &opt.master, .arg = "URL", .group = "Management cluster",
           .help = "address of the API server, instead of the kubeconfig's"),
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME,...", .group = "Management cluster",
           .help = "look after the Applications and ReleasePlans of these namespaces only; default "
                   "all"),
    OPTION(BOOL, "adopt-kurator", &opt.adopt_kurator, .group = "Management cluster",
           .help = "look after Applications that have Kurator's finalizer as well: only where "
                   "Kurator's own controller of Applications does not run any more"),
    OPTION(BOOL, "own-cluster", &opt.own_cluster, .group = "Member clusters",
           .help =
               "this cluster is a member as well: Applications without a destination act on it, "
               "with the rights of this process"),
    OPTION(STRING, "allow-namespaces", &opt.allow_namespaces, .arg = "FROM:IN,...",
           .group = "Member clusters",
           .help =
               "Applications and ReleasePlans of namespace FROM here may act in namespace IN of "
               "the members, each a name or *; without it in the namespace of the same name, and "
               "in those whose Namespace has the annotation " GRANTS_NOTE ": FROM"),
    OPTION(STRING, "system-namespaces", &opt.system_namespaces, .value = "flagger-system",
           .arg = "NAME,...", .group = "Member clusters",
           .help =
               "namespaces of members that no grant opens, as those where their controllers and "
               "the accounts of this fleet live; beside them kube-system, kube-public, "
               "kube-node-lease and the two of leases"),
    OPTION(STRING, "name", &opt.name, .value = "a fleet", .arg = "NAME", .group = "Member clusters",
           .help =
               "what people call this fleet: it is told where a cluster belongs to another one"),
    OPTION(STRING, "claim-namespace", &opt.claim_namespace, .value = "kube-system", .arg = "NAME",
           .group = "Member clusters",
           .help = "namespace, on each member, of the Lease flagger-fleet, which says whose the "
                   "cluster is; the same in all fleets"),
    OPTION(STRING, "loader-image", &opt.loader_image,
           .value = "flagger-loadtester:" FLAGGER_VERSION, .arg = "IMAGE",
           .group = "Member clusters", .help = "image of the load testers that are made"),
    OPTION(DURATION, "abandon-after", &opt.abandon_ms, .value = "1h", .arg = "DURATION",
           .group = "Member clusters",
           .help =
               "how long the deletion of an Application waits for a cluster that is not reached, "
               "since it was reached last or the daemon began; what was made there then stays"),
    OPTION(NUMBER, "kubeconfig-qps", &opt.qps, .value = "100", .arg = "N",
           .group = "Member clusters",
           .help = "most requests a second to each API server: so many reads and so many writes"),
    OPTION(INT, "kubeconfig-burst", &opt.burst, .value = "250", .min = 1, .max = 100000, .arg = "N",
           .group = "Member clusters", .help = "the same for requests that go at once"),
    OPTION(STRING, "tenant-addresses", &opt.tenant_addresses, .arg = "LIST",
           .group = "Member clusters",
           .help = "addresses that gates of ReleasePlans may lead to: +RANGE opens and -RANGE "
                   "closes one, the "
                   "last that has an address in it counts, as in "
                   "+loopback,-10.0.0.0/8; closed are link-local ones and metadata services, and "
                   "in a pod those of the pod itself (loopback); addresses that options name are "
                   "always open"),
    OPTION(INT, "threadiness", &opt.threadiness, .value = "8", .min = 1, .max = 1000, .arg = "N",
           .group = "Member clusters",
           .help = "rollouts that are worked on at once on each member"),
    OPTION(INT, "port", &opt.port, .value = "8080", .min = 0, .max = 65535, .arg = "PORT",
           .group = "Process",
           .help = "port of /metrics, /healthz, /readyz, /debug and /ui; 0 takes a free one"),
    OPTION(BOOL, "debug-endpoints", &opt.debug_endpoints, .value = "true", .group = "Process",
           .help =
               "answer GET /debug/process, /debug/clusters, /debug/applications and /debug/plans: "
               "how each "
               "cluster is reached, what is done there and waited for; names, states and counts, "
               "nothing of what objects hold"),
    OPTION(BOOL, "ui", &opt.ui, .group = "Process",
           .help =
               "serve the page of the plans, GET /ui/, to everybody who reaches the port: it shows "
               "what the statuses of ReleasePlans say; it changes nothing"),
    OPTION(STRING, "ui-token-file", &opt.ui_token_file, .arg = "FILE", .group = "Process",
           .help =
               "serve the page to who has one of the bearer tokens of this file, one a line, at "
               "least 16 characters each; read again when it changes"),
    OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0", .group = "Process"),
    OPTION_ROW_LOG_LEVEL(&opt.log_level, .group = "Process"),
    OPTION(
        BOOL, "enable-leader-election", &opt.leader_election, .value = elects, .group = "Process",
        .help = "several replicas may run: one leads, the others stand by; default true in a pod"),
    OPTION(STRING, "leader-election-namespace", &opt.lease_namespace, .value = "kube-system",
           .arg = "NAME", .group = "Process", .help = "namespace of the lease " LEASE),
    {0}};

extern const char fleet_help[]; /* help.txt */
static const struct option_program program = {
    .name = "flagger-controller fleet",
    .summary =
        "Releases new versions of one workload on many Kubernetes clusters, as Application and "
        "ReleasePlan objects ask for it.",
    .synopsis = "[OPTION...]",
    .details = fleet_help,
    .rows = rows,
};

struct fleet {
    struct loop *loop;
    struct http_client *own;     /* to the management cluster's API server */
    struct http_client *api;     /* to all members' API servers */
    struct http_client *outside; /* to gates */
    struct kube_client *kube;
    struct members *members;
    struct lease *lease;
    struct http_server *server;
    struct tokens *tokens; /* tokens that the page accepts; NULL if it needs none */
    struct fleet_debug debug;
};

static bool is_ready(void *arg)
{
    const struct fleet_debug *view = arg;

    return *view->members && members_ready(*view->members);
}

static bool is_leader(void *arg)
{
    const struct fleet *fleet = arg;

    return fleet->lease && lease_is_leader(fleet->lease);
}

static void on_lead(void *arg, bool leads)
{
    struct fleet *fleet = arg;

    members_lead(fleet->members, leads);
    if (!leads)
        lease_lost(fleet->loop);
}

static void close_clients(void *arg)
{
    struct fleet *fleet = arg;

    lease_free(fleet->lease);
    fleet->lease = NULL;
    kube_client_free(fleet->kube);
    fleet->kube = NULL;
    http_client_free(fleet->own);
    http_client_free(fleet->api);
    http_client_free(fleet->outside);
    if (fleet->tokens)
        tokens_stop(fleet->tokens);
    fleet->own = fleet->api = fleet->outside = NULL;
}

static void on_stopped(void *arg, bool quiet)
{
    struct fleet *fleet = arg;

    members_export(NULL);
    members_free(fleet->members);
    fleet->members = NULL;
    lease_leave(fleet->lease, quiet, close_clients, fleet);
}

static void on_drain(void *arg)
{
    enum { WRITES_MS = 10000 };
    struct fleet *fleet = arg;

    log_info("draining", NULL, "stopping: no new step is begun");
    members_stop(fleet->members, WRITES_MS, on_stopped, fleet);
}

static bool get_names(void *arg, struct arena *arena, const char ***out, size_t *count)
{
    const struct fleet *fleet = arg;

    return fleet->members && members_plans(fleet->members, arena, out, count);
}

static struct json_object *get_plan(void *arg, struct arena *arena, const char *namespace_,
                                    const char *name)
{
    const struct fleet *fleet = arg;

    return members_plan(fleet->members, arena, namespace_, name);
}

static enum err start_server(struct fleet *fleet, struct errinfo *ei)
{
    const char *file = opt.ui_token_file && *opt.ui_token_file ? opt.ui_token_file : NULL;
    enum err err = file ? tokens_new(fleet->loop, file, NULL, &fleet->tokens, ei) : ERR_OK;

    if (err != ERR_OK)
        return err_wrap(ei, err, "--ui-token-file");
    fleet->debug =
        (struct fleet_debug){.members = &fleet->members,
                             .lease = &fleet->lease,
                             .server = &fleet->server,
                             .page = {.door = {.open = opt.ui && !file, .tokens = fleet->tokens},
                                      .names = get_names,
                                      .get = get_plan,
                                      .arg = fleet}};
    const struct http_server_options options = {
        .address = opt.address,
        .port = (int)opt.port,
        .routes = opt.debug_endpoints ? fleet_debug_routes : fleet_debug_page_routes,
        .arg = &fleet->debug,
        .ready = is_ready};

    return http_server_new(fleet->loop, &options, &fleet->server, ei);
}

/* One connection for each watch and each call: the only limit is the number of files that may be
 * open. */
static void open_clients(struct fleet *fleet, const struct kube_config *config,
                         const struct reach *reach)
{
    enum { MAX_HELD = 128 * 1024 * 1024, MAPPED = 128 * 1024 };
    const struct http_client_options own = {.user_agent = "flagger-fleet"};
    const struct http_client_options gates = {
        .user_agent = "flagger-fleet", .reach = reach, .reach_option = REACH_OPTION};
    const struct http_client_options many = {.max_per_host = -1,
                                             .max_total = -1,
                                             .max_held = MAX_HELD,
                                             .budget = BUDGET_MEMBERS,
                                             .user_agent = "flagger-fleet"};
    const struct kube_client_options options = {
        .qps = opt.qps, .burst = (int)opt.burst, .user_agent = "flagger-fleet"};

    /* Partial replies of members grow to megabytes and are then freed: each gets its own mapping,
     * since they would leave holes all over the heap. */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED);
    fleet->own = http_client_new(fleet->loop, &own);
    fleet->api = http_client_new(fleet->loop, &many);
    fleet->outside = http_client_new(fleet->loop, &gates);
    fleet->kube = kube_client_new(fleet->loop, fleet->own, config, &options);
}

static void start_lease(struct fleet *fleet)
{
    const struct lease_spec spec = {
        .namespace_ = opt.lease_namespace, .name = LEASE, .changed = on_lead, .arg = fleet};

    if (opt.leader_election)
        fleet->lease = lease_new(fleet->loop, fleet->kube, &spec);
}

static int fail(const struct errinfo *ei)
{
    log_error("start_failed", NULL, ei->text);
    return 1;
}

static enum err check_namespace(const char *option, const char *text, struct errinfo *ei)
{
    return kube_is_label(text)
               ? ERR_OK
               : err_set(ei, ERR_INVALID, "--%s: expected the name of a namespace, found \"%.80s\"",
                         option, text);
}

/* Refuses option values that every API server would reject. */
static enum err check_options(const char *const *namespaces, struct errinfo *ei)
{
    enum err err = check_namespace("claim-namespace", opt.claim_namespace, ei);

    if (err == ERR_OK)
        err = check_namespace("leader-election-namespace", opt.lease_namespace, ei);
    for (const char *const *at = namespaces; err == ERR_OK && *at; at++)
        err = check_namespace("namespace", *at, ei);
    if (err == ERR_OK && !*opt.loader_image)
        err = err_set(ei, ERR_INVALID, "--loader-image: expected the name of an image, found none");
    return err;
}

/* The namespaces of the leases, on the members and here, are reserved for the fleet itself. */
static enum err read_grants(struct arena *arena, struct grants *out, struct errinfo *ei)
{
    const char *closed = arena_printf(arena, "%s,%s,%s", opt.system_namespaces, opt.claim_namespace,
                                      opt.lease_namespace);

    return grants_read(arena, opt.allow_namespaces, closed, out, ei);
}

static int run(struct arena *arena)
{
    const struct kube_config_source source = {.kubeconfig = opt.kubeconfig, .master = opt.master};
    const char *const *namespaces = option_split(arena, opt.namespace_);
    struct grants grants;
    const struct members_settings settings = {.loader_image = opt.loader_image,
                                              .claim_namespace = opt.claim_namespace,
                                              .name = opt.name,
                                              .agent = "flagger-fleet",
                                              .grants = &grants,
                                              .own_cluster = opt.own_cluster,
                                              .adopt_kurator = opt.adopt_kurator,
                                              .abandon_ms = opt.abandon_ms,
                                              .qps = opt.qps,
                                              .burst = (int)opt.burst,
                                              .max_runs = (int)opt.threadiness};
    struct kube_config config;
    struct errinfo ei = {0};
    int status = 1;

    const struct reach *reach;
    if (check_options(namespaces, &ei) != ERR_OK || read_grants(arena, &grants, &ei) != ERR_OK ||
        reach_option(arena, opt.tenant_addresses, &reach, &ei) != ERR_OK ||
        kube_config_load(arena, &source, &config, &ei) != ERR_OK)
        return fail(&ei);
    struct fleet fleet = {.loop = loop_new(20000)};
    open_clients(&fleet, &config, reach);
    const struct members_options options = {.loop = fleet.loop,
                                            .kube = fleet.kube,
                                            .api = fleet.api,
                                            .outside = fleet.outside,
                                            .settings = &settings,
                                            .namespaces = *namespaces ? namespaces : NULL,
                                            .is_leader = opt.leader_election ? is_leader : NULL,
                                            .arg = &fleet};
    fleet.members = members_new(&options);
    members_export(fleet.members);
    if (start_server(&fleet, &ei) == ERR_OK) {
        loop_on_drain(fleet.loop, on_drain, &fleet);
        loop_take_hangup(fleet.loop,
                         "a restart takes: options and the kubeconfig of the management "
                         "cluster; those of members are followed by themselves");
        start_lease(&fleet);
        log_info("started", NULL, "looking after a fleet", LOG_STR("version", FLAGGER_VERSION),
                 LOG_STR("server", config.server), LOG_INT("port", http_server_port(fleet.server)));
        status = loop_run(fleet.loop);
        http_server_free(fleet.server);
        tokens_free(fleet.tokens);
    } else {
        fail(&ei);
        on_stopped(&fleet, true);
    }
    loop_free(fleet.loop);
    return status;
}

int main_fleet(int argc, char **argv)
{
    struct arena *arena = arena_new();

    if (getenv("KUBERNETES_SERVICE_HOST") && !getenv("KUBECONFIG"))
        (void)snprintf(elects, sizeof(elects), "true");
    option_parse_daemon(&program, arena, argc, argv, &opt.log_level);
    int status = run(arena);
    metrics_reset();
    arena_free(arena);
    return status;
}
