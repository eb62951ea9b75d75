
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cluster/context.h"
#include "cluster/haproxy.h"
#include "cluster/keeper.h"
#include "cluster/route.h"
#include "object/meta.h"

#define GROUP "gateway.networking.k8s.io"

enum {
    POLL_MS = 20,
    APPLY_LIMIT_MS = 10 * 1000, /* a reload that takes longer has failed */
    ASK_AGAIN_MS = 300,         /* HAProxy loses a signal that comes while it takes over */
    ASK_TIMEOUT_MS = 2 * 1000,
};

enum gateway_state {
    GATEWAY_LOAD,   /* waits for HAProxy to show the mark of the new configuration */
    GATEWAY_IDLE,   /* waits until the process before has no connection left that it answers */
    GATEWAY_WEIGH,  /* waits for the answer to new weights */
    GATEWAY_STEADY, /* what is applied is live */
    GATEWAY_STOPPED,
};

/* What the routes want, and the texts by which two such are told apart. */
struct change {
    struct arena *arena; /* of all of it; NULL if there is none */
    struct route_table table;
    const char *structure, *weights;
};

struct gateway {
    struct cluster *cluster;
    char address[ADDRESS_TEXT];
    char *directory, *config, *socket;
    enum gateway_state state;
    struct keeper haproxy;
    struct timer *poll;
    struct change live, next; /* next: being applied */
    int64_t deadline_ms, ask_again_ms;
    unsigned generation;
    bool dirty; /* something changed while another change was being applied */
};

static const char *const state_names[] = {
    [GATEWAY_LOAD] = "load",     [GATEWAY_IDLE] = "idle",       [GATEWAY_WEIGH] = "weigh",
    [GATEWAY_STEADY] = "steady", [GATEWAY_STOPPED] = "stopped",
};

static void poll_later(struct gateway *gateway);

static void gateway_set_state(struct gateway *gateway, enum gateway_state state)
{
    assert(gateway->state != GATEWAY_STOPPED || state == GATEWAY_STOPPED);
    log_debug("gateway_state", NULL, "the gateway goes on",
              LOG_STR("from", state_names[gateway->state]), LOG_STR("to", state_names[state]));
    gateway->state = state;
}

/* ---- what is wanted ---- */

static const char *resolve(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    (void)arena;
    return services_address(cluster->services, ns, name);
}

static size_t list_of(struct cluster *cluster, struct arena *arena, const char *plural,
                      struct json_object ***items)
{
    const struct objkind *kind = objstore_kind(cluster->store, GROUP, plural);
    *items = NULL;
    return kind ? objstore_list(cluster->store, arena, kind, NULL, items) : 0;
}

static const char *config_text(struct gateway *gateway, const char *mark, bool no_weights)
{
    struct buf out;
    struct arena *arena = gateway->next.arena;
    const struct haproxy_in in = {.table = &gateway->next.table,
                                  .directory = gateway->directory,
                                  .address = gateway->address[0] ? gateway->address : NULL,
                                  .port = gateway->cluster->options.gateway_port,
                                  .mark = mark,
                                  .no_weights = no_weights};
    buf_init(&out, HAPROXY_CONFIG_MAX);
    haproxy_config(&in, arena, &out);
    const char *text = arena_strdup(arena, out.data);
    buf_fini(&out);
    return text;
}

static void make_wanted(struct gateway *gateway)
{
    struct json_object **routes;
    struct arena *arena = arena_new();
    struct buf text;
    gateway->next = (struct change){.arena = arena};
    size_t count = list_of(gateway->cluster, arena, "httproutes", &routes);

    route_table_make(arena, routes, count, resolve, gateway->cluster, &gateway->next.table);
    gateway->next.structure = config_text(gateway, NULL, true);
    buf_init(&text, HAPROXY_CONFIG_MAX);
    haproxy_weights(&gateway->next.table, arena, &text);
    gateway->next.weights = arena_strdup(arena, text.data);
    buf_fini(&text);
}

static const char *mark_of(struct gateway *gateway)
{
    return arena_printf(gateway->next.arena, "change-%u", gateway->generation);
}

/* The file is what a restarted HAProxy reads: it follows every change, also those that need no
 * reload. */
static void write_config(struct gateway *gateway)
{
    struct errinfo ei;
    const char *text = config_text(gateway, mark_of(gateway), false);
    if (file_write(gateway->config, text, strlen(text), 0600, &ei) != ERR_OK)
        log_error("gateway_config", NULL, ei.text);
}

/* ---- status ---- */

static void write_statuses(struct gateway *gateway)
{
    struct cluster *cluster = gateway->cluster;
    struct arena *arena = gateway->next.arena;
    const struct route_table *table = &gateway->next.table;
    const struct objkind *kind = objstore_kind(cluster->store, GROUP, "httproutes");
    const char *now = context_now(arena);
    const char *address = gateway->address[0] ? gateway->address : "127.0.0.1";
    struct json_object **gateways;

    for (size_t i = 0; kind && i < table->result_count; i++) {
        const struct route_result *result = &table->results[i];
        struct json_object *live = objstore_get(cluster->store, kind, result->ns, result->name);
        if (result->refused)
            log_warn("route_refused", NULL, result->refused, LOG_STR("namespace", result->ns),
                     LOG_STR("route", result->name));
        if (live && result->parents)
            context_status(cluster, arena, kind, result->ns, result->name,
                           routestatus_route(arena, result, json_at(live, "status", NULL), now));
    }
    kind = objstore_kind(cluster->store, GROUP, "gateways");
    size_t count = list_of(cluster, arena, "gateways", &gateways);
    for (size_t i = 0; i < count; i++)
        context_status(cluster, arena, kind, meta_ns(gateways[i]), meta_name(gateways[i]),
                       routestatus_gateway(arena, gateways[i], address, now));
}

/* ---- applying ---- */

static void forget(struct change *change)
{
    arena_free(change->arena);
    *change = (struct change){0};
}

static void applied(struct gateway *gateway)
{
    gateway_set_state(gateway, GATEWAY_STEADY);
    write_statuses(gateway);
    forget(&gateway->live);
    gateway->live = gateway->next;
    gateway->next = (struct change){0};
    if (gateway->dirty)
        context_queue(gateway->cluster, gateway_sync, "", "");
}

/* Nothing is known about what is live: the next change begins from nothing. */
static void failed(struct gateway *gateway, const char *why)
{
    log_error("gateway_failed", NULL, why);
    gateway_set_state(gateway, GATEWAY_STEADY);
    forget(&gateway->live);
    forget(&gateway->next);
    context_queue_after(gateway->cluster, gateway_sync, "", "", 1000);
}

static void ask_haproxy(struct gateway *gateway)
{
    gateway->ask_again_ms = clock_monotonic_ms() + ASK_AGAIN_MS;
    int pid = gateway->haproxy.child ? child_pid(gateway->haproxy.child) : 0;
    if (pid > 0) /* the master only: workers would end by it */
        kill(pid, SIGUSR2);
}

static void load_haproxy(struct gateway *gateway)
{
    gateway->generation++;
    gateway->deadline_ms = clock_monotonic_ms() + APPLY_LIMIT_MS;
    gateway_set_state(gateway, GATEWAY_LOAD);
    write_config(gateway);
    if (gateway->haproxy.child)
        ask_haproxy(gateway);
    else
        keeper_start(&gateway->haproxy);
    poll_later(gateway);
}

/* A route that is said to be accepted must be the one that every request meets, or a canary goes too early. */
static void on_idle(void *arg)
{
    struct gateway *gateway = arg;
    gateway->poll = NULL;
    if (gateway->state == GATEWAY_IDLE)
        applied(gateway);
}

static void on_shown(void *arg, const struct http_result *result)
{
    struct gateway *gateway = arg;
    if (gateway->state != GATEWAY_LOAD)
        return;
    if (result->err == ERR_OK && result->status == 200) {
        gateway_set_state(gateway, GATEWAY_IDLE);
        timer_stop(gateway->poll);
        gateway->poll = timer_start(gateway->cluster->loop, HAPROXY_IDLE_MS, 0, on_idle, gateway);
    } else if (clock_monotonic_ms() > gateway->deadline_ms)
        failed(gateway, "HAProxy did not take its configuration in time: see its messages above");
    else {
        if (clock_monotonic_ms() > gateway->ask_again_ms)
            ask_haproxy(gateway);
        poll_later(gateway);
    }
}

static void on_weighed(void *arg, const struct http_result *result)
{
    struct gateway *gateway = arg;
    if (gateway->state != GATEWAY_WEIGH)
        return;
    if (result->err == ERR_OK && result->status == 200 && result->body_len == 0) {
        applied(gateway);
        return;
    }
    log_warn("gateway_weights", NULL,
             "HAProxy did not take the weights: its configuration is loaded anew",
             LOG_STR("said", result->err == ERR_OK ? result->body : result->info->text));
    load_haproxy(gateway); /* the configuration says the same */
}

/* Only who has the present configuration answers. weights may be "". */
static void send_weights(struct gateway *gateway, const char *weights, http_done_fn done)
{
    static const struct http_header headers[] = {{"connection", "close"}, {0}};
    const char *mark = mark_of(gateway);
    const int port = gateway->cluster->options.gateway_port;
    const struct http_request request = {
        .method = "POST",
        .url =
            gateway->address[0]
                ? arena_printf(gateway->next.arena, "http://%s/.sandbox/%s", gateway->address, mark)
                : arena_printf(gateway->next.arena, "http://127.0.0.1:%d/.sandbox/%s", port, mark),
        .headers = headers,
        .body = weights,
        .body_len = strlen(weights),
        .proxy = "",
        .timeout_ms = ASK_TIMEOUT_MS,
    };
    http_send(gateway->cluster->probes, &request, done, gateway);
}

static void on_poll(void *arg)
{
    struct gateway *gateway = arg;
    gateway->poll = NULL;
    if (gateway->state == GATEWAY_LOAD)
        send_weights(gateway, "", on_shown);
}

static void poll_later(struct gateway *gateway)
{
    timer_stop(gateway->poll);
    gateway->poll = timer_start(gateway->cluster->loop, POLL_MS, 0, on_poll, gateway);
}

static void before_haproxy(void *arg)
{
    struct gateway *gateway = arg;
    unlink(gateway->socket);
    gateway->ask_again_ms = INT64_MAX; /* it reads what is there; a signal now would end it */
}

void gateway_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct gateway *gateway = cluster->gateway;

    (void)arena;
    (void)ns;
    (void)name;
    if (!gateway || gateway->state == GATEWAY_STOPPED)
        return;
    gateway->dirty = gateway->state != GATEWAY_STEADY;
    if (gateway->dirty)
        return;
    make_wanted(gateway);
    const struct change *live = &gateway->live, *next = &gateway->next;
    if (!live->arena || strcmp(live->structure, next->structure) != 0) {
        load_haproxy(gateway);
    } else if (strcmp(live->weights, next->weights) != 0) {
        gateway_set_state(gateway, GATEWAY_WEIGH);
        write_config(gateway);
        send_weights(gateway, next->weights, on_weighed);
    } else {
        applied(gateway);
    }
}

/* ---- names, beginning and end ---- */

void gateway_add_names(struct cluster *cluster, struct arena *arena, struct buf *text)
{
    struct json_object **items;
    struct gateway *gateway = cluster->gateway;
    if (!gateway || !gateway->address[0])
        return;
    size_t count = context_list(cluster, arena, KIND_NAMESPACE, NULL, &items);
    for (size_t i = 0; i < count; i++)
        if (!services_address(cluster->services, meta_name(items[i]), "gateway"))
            buf_printf(text, "%s gateway.%s gateway.%s.svc gateway.%s.svc.cluster.local\n",
                       gateway->address, meta_name(items[i]), meta_name(items[i]),
                       meta_name(items[i]));
    count = list_of(cluster, arena, "gateways", &items);
    for (size_t i = 0; i < count; i++)
        if (strcmp(meta_name(items[i]), "gateway") != 0)
            buf_printf(text, "%s %s.%s\n", gateway->address, meta_name(items[i]),
                       meta_ns(items[i]));
}

/* Whether port 80 may be listened on: asked the kernel, since root, capabilities and a sysctl all
 * have a say. */
static bool may_bind_80(const char *address)
{
    struct sockaddr_in addr;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || uv_ip4_addr(address, 80, &addr) != 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bool may = bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0;
    close(fd);
    return may;
}

enum err gateway_new(struct cluster *cluster, struct gateway **out, struct errinfo *ei)
{
    struct gateway *gateway = heap_alloc(sizeof(*gateway));
    *gateway = (struct gateway){
        .cluster = cluster,
        .state = GATEWAY_STEADY,
        .directory = heap_printf("%s/gateway", cluster->options.directory),
        .config = heap_printf("%s/gateway/haproxy.cfg", cluster->options.directory),
        .socket = heap_printf("%s/gateway/stats.sock", cluster->options.directory),
        .haproxy = {.loop = cluster->loop,
                    .name = "HAProxy",
                    .argv = {"haproxy", "-W", "-db", "-q", "-f"},
                    .before = before_haproxy,
                    .arg = gateway},
    };
    gateway->haproxy.argv[5] = gateway->config;
    *out = gateway;
    if (mkdir(gateway->directory, 0700) != 0 && errno != EEXIST)
        return err_set(ei, ERR_DENIED, "cannot make %s: %s", gateway->directory, strerror(errno));
    if (strlen(gateway->directory) > 80)
        return err_set(ei, ERR_INVALID,
                       "%s is too long for the names of sockets in it: give a shorter "
                       "directory",
                       gateway->directory);
    char *lua = heap_printf("%s/gateway.lua", gateway->directory);
    enum err err = file_write(lua, haproxy_lua, strlen(haproxy_lua), 0600, ei);
    free(lua);
    if (err != ERR_OK)
        return err;
    if (!address_take(&cluster->service_addresses, gateway->address))
        return err_set(ei, ERR_CONFLICT, "no address is left for the gateway");
    if (may_bind_80(gateway->address))
        return ERR_OK;
    log_warn("gateway_port", NULL,
             "port 80 may not be listened on: Services on low ports and gateway.NAMESPACE are not "
             "reachable; "
             "run as root or lower the sysctl net.ipv4.ip_unprivileged_port_start to 80");
    gateway->address[0] = '\0';
    if (cluster->options.gateway_port <= 0)
        return err_set(ei, ERR_DENIED,
                       "the gateway has no port to listen on: run as root, or give "
                       "it one above 1023 with --gateway-port");
    return ERR_OK;
}

void gateway_stop(struct gateway *gateway)
{
    gateway_set_state(gateway, GATEWAY_STOPPED);
    timer_stop(gateway->poll);
    gateway->poll = NULL;
    keeper_stop(&gateway->haproxy);
}

void gateway_free(struct gateway *gateway)
{
    if (!gateway)
        return;
    forget(&gateway->live);
    forget(&gateway->next);
    free(gateway->directory);
    free(gateway->config);
    free(gateway->socket);
    free(gateway);
}

const char *gateway_address(const struct gateway *gateway)
{
    return gateway->address;
}

bool gateway_live(const struct gateway *gateway)
{
    return gateway->live.arena != NULL;
}
