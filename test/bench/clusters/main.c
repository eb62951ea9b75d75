/*
 * Many member clusters in one process, for test/bench/fleet-clusters: flagger-clusters CLUSTERS CANARIES
 *
 * Cluster 7 is served below http://127.0.0.1:PORT/c/7: its Canaries (lists in pages, watches, GET, merge patches), its
 * Leases, the namespace kube-system; of everything else there is nothing, which can be listed and
 * watched as well. GET /stats counts requests by verb and resource, DELETE starts over. Prints its
 * port. A watch lives as long as its timeoutSeconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/process.h"
#include "clusters/member.h"
#include "net/loop.h"
#include "net/server/server.h"

enum {
    MAX_CLUSTERS = 5000,
    MAX_CANARIES = 5000,
    MAX_COUNTS = 100,
    COUNT_TEXT = 80,
    PAGE = 500,
    MAX_CONNECTIONS = 60000
};

struct watcher {
    LIST_ENTRY(watcher) next;
    struct http_conn_request *req;
    struct timer *timer;
    bool canaries;
};

/* A Lease that somebody has made. */
struct lease {
    struct lease *next;
    char *name;
    struct json_object *object;
};

static struct cluster {
    struct member member;
    LIST_HEAD(, watcher) watchers;
    struct lease *leases;
} * clusters;
static int n_clusters;
static struct loop *loop;

static struct {
    char what[COUNT_TEXT];
    long count;
} counts[MAX_COUNTS];
static int n_counts;

static void count(const char *verb, const char *resource)
{
    char what[COUNT_TEXT];
    int at = 0;

    (void)snprintf(what, sizeof(what), "%s %s", verb, resource);
    while (at < n_counts && strcmp(counts[at].what, what) != 0)
        at++;
    if (at == MAX_COUNTS)
        return;
    if (at == n_counts)
        (void)snprintf(counts[n_counts++].what, COUNT_TEXT, "%s", what);
    counts[at].count++;
}

static void get_stats(void *arg, struct http_conn_request *req)
{
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());

    (void)arg;
    if (strcmp(http_req_method(req), "DELETE") == 0)
        n_counts = 0;
    for (int i = 0; i < n_counts; i++)
        json_set_int(out, counts[i].what, counts[i].count);
    http_reply_json(req, 200, json_text(http_req_arena(req), out));
}

/* --- watches */

static void end_watch(void *arg)
{
    struct watcher *watcher = arg;

    LIST_REMOVE(watcher, next);
    timer_stop(watcher->timer);
    free(watcher);
}

static void on_time(void *arg)
{
    struct watcher *watcher = arg;
    struct http_conn_request *req = watcher->req;

    end_watch(watcher);
    http_stream_end(req);
}

static void begin_watch(struct cluster *cluster, struct http_conn_request *req, bool canaries)
{
    struct watcher *watcher = calloc(1, sizeof(*watcher));
    const char *seconds = http_req_param(req, "timeoutSeconds");
    long limit = seconds ? strtol(seconds, NULL, 10) : 0;

    if (!watcher)
        abort();
    *watcher = (struct watcher){.req = req, .canaries = canaries};
    LIST_INSERT_HEAD(&cluster->watchers, watcher, next);
    http_stream_start(req, 200, "application/json", 0);
    http_req_on_gone(req, end_watch, watcher);
    watcher->timer = timer_start(loop, (limit > 0 ? limit : 600) * 1000, 0, on_time, watcher);
}

static void tell_watchers(struct cluster *cluster, int canary)
{
    struct watcher *watcher, *next;
    struct buf event;

    buf_init(&event, 1 << 20);
    buf_puts(&event, "{\"type\":\"MODIFIED\",\"object\":");
    member_write(&cluster->member, canary, &event);
    buf_puts(&event, "}\n");
    for (watcher = LIST_FIRST(&cluster->watchers); watcher; watcher = next) {
        next = LIST_NEXT(watcher, next);
        if (watcher->canaries)
            (void)http_stream_send(watcher->req, event.data, event.len);
    }
    buf_fini(&event);
}

/* --- Canaries */

/* NULL if none. */
static int number(const char *text, int none)
{
    return text ? (int)strtol(text, NULL, 10) : none;
}

static void list(const struct cluster *cluster, struct http_conn_request *req, bool canaries)
{
    const char *limit_text = http_req_param(req, "limit"), *from = http_req_param(req, "continue");
    int limit = number(limit_text, PAGE), at = number(from, 0);
    int end = canaries ? cluster->member.count : 0;
    struct buf out;

    buf_init(&out, (size_t)64 << 20);
    if (limit > 0 && at + limit < end)
        end = at + limit;
    buf_printf(&out,
               "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%u\"",
               canaries ? "CanaryList" : "List", cluster->member.version);
    if (canaries && end < cluster->member.count)
        buf_printf(&out, ",\"continue\":\"%d\"", end);
    buf_puts(&out, "},\"items\":[");
    for (int i = at; i < end; i++) {
        buf_puts(&out, i > at ? "," : "");
        member_write(&cluster->member, i, &out);
    }
    buf_puts(&out, "]}");
    http_reply(req, 200, "application/json", out.data, out.len);
    buf_fini(&out);
}

static void reply_status(struct http_conn_request *req, int code, const char *reason)
{
    http_reply_json(
        req, code,
        arena_printf(http_req_arena(req),
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                     "\"reason\":\"%s\",\"message\":\"%s\",\"code\":%d}",
                     reason, reason, code));
}

static struct json_object *body_of(struct http_conn_request *req)
{
    size_t len;
    const char *text = http_req_body(req, &len);
    struct json_object *out = NULL;
    struct errinfo ei;

    return json_parse(http_req_arena(req), text, len, JSON_MAX_BYTES, &out, &ei) == ERR_OK ? out
                                                                                           : NULL;
}

static void serve_canary(struct cluster *cluster, struct http_conn_request *req, const char *name)
{
    int canary = member_find(&cluster->member, name);
    bool patches = strcmp(http_req_method(req), "PATCH") == 0;
    struct json_object *patch = patches ? body_of(req) : NULL;
    struct buf out;

    if (canary < 0 || (patches && !patch)) {
        reply_status(req, canary < 0 ? 404 : 400, canary < 0 ? "NotFound" : "BadRequest");
        return;
    }
    if (patches && !member_patch(&cluster->member, canary, patch)) {
        reply_status(req, 409, "Conflict");
        return;
    }
    buf_init(&out, 1 << 20);
    member_write(&cluster->member, canary, &out);
    http_reply(req, 200, "application/json", out.data, out.len);
    buf_fini(&out);
    if (patches)
        tell_watchers(cluster, canary);
}

/* --- Leases */

static struct lease *find_lease(const struct cluster *cluster, const char *name)
{
    struct lease *lease = cluster->leases;

    while (lease && strcmp(lease->name, name) != 0)
        lease = lease->next;
    return lease;
}

/* As it was sent, with another version. */
static void store_lease(struct cluster *cluster, struct http_conn_request *req, const char *name)
{
    struct json_object *object = body_of(req);
    struct lease *lease = find_lease(cluster, name);
    char version[16];

    if (!object) {
        reply_status(req, 400, "BadRequest");
        return;
    }
    if (!lease) {
        lease = calloc(1, sizeof(*lease));
        if (!lease)
            abort();
        *lease = (struct lease){.next = cluster->leases, .name = strdup(name)};
        cluster->leases = lease;
    }
    (void)snprintf(version, sizeof(version), "%u", ++cluster->member.version);
    json_set_str(json_sub(object, "metadata"), "resourceVersion", version);
    json_set_str(json_sub(object, "metadata"), "uid", "00000000-0000-4000-8000-000000000001");
    json_object_put(lease->object);
    lease->object = json_object_get(object);
    http_reply_json(req, 200, json_text(http_req_arena(req), object));
}

static void serve_lease(struct cluster *cluster, struct http_conn_request *req, const char *name)
{
    const char *method = http_req_method(req);
    struct json_object *body = strcmp(method, "POST") == 0 ? body_of(req) : NULL;
    const char *own = name ? name : json_str_at(body, "metadata", "name", NULL);
    struct lease *lease = own ? find_lease(cluster, own) : NULL;

    if (strcmp(method, "GET") != 0 && own)
        store_lease(cluster, req, own);
    else if (lease)
        http_reply_json(req, 200, json_text(http_req_arena(req), lease->object));
    else
        reply_status(req, 404, "NotFound");
}

/* --- what is asked */

struct asked {
    const char *resource, *name; /* name NULL: of a list */
};

/* Behind /c/7: /api/v1/... or /apis/GROUP/VERSION/..., of a namespace or not. */
static struct asked read_path(struct http_conn_request *req)
{
    const char *first = http_req_segment(req, 2);
    int at = first && strcmp(first, "apis") == 0 ? 5 : 4;
    const char *segment = http_req_segment(req, at);

    if (segment && strcmp(segment, "namespaces") == 0 && http_req_segment(req, at + 2))
        at += 2;
    return (struct asked){http_req_segment(req, at), http_req_segment(req, at + 1)};
}

static void serve(struct cluster *cluster, struct http_conn_request *req, struct asked asked)
{
    bool canaries = strcmp(asked.resource, "canaries") == 0;
    const char *watch = http_req_param(req, "watch"), *method = http_req_method(req);
    bool watches = watch && strcmp(watch, "0") != 0 && strcmp(watch, "false") != 0;

    count(watches                      ? "watch"
          : strcmp(method, "GET") != 0 ? method
          : asked.name                 ? "get"
                                       : "list",
          asked.resource);
    if (watches)
        begin_watch(cluster, req, canaries);
    else if (strcmp(asked.resource, "leases") == 0)
        serve_lease(cluster, req, asked.name);
    else if (!asked.name && strcmp(method, "GET") == 0)
        list(cluster, req, canaries);
    else if (canaries && asked.name)
        serve_canary(cluster, req, asked.name);
    else if (asked.name && strcmp(asked.name, "kube-system") == 0)
        http_reply_json(req, 200,
                        arena_printf(http_req_arena(req),
                                     "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                                     "\"name\":\"kube-system\",\"resourceVersion\":\"1\",\"uid\":"
                                     "\"00000000-0000-4000-8000-%012d\"}}",
                                     cluster->member.number));
    else
        reply_status(req, 404, "NotFound");
}

static void on_request(void *arg, struct http_conn_request *req)
{
    const char *number = http_req_segment(req, 1);
    struct asked asked = read_path(req);
    char *end;
    long at = number ? strtol(number, &end, 10) : -1;

    (void)arg;
    if (at < 0 || *end != '\0' || at >= n_clusters || !asked.resource)
        reply_status(req, 404, "NotFound");
    else
        serve(&clusters[at], req, asked);
}

/* --- from beginning to end */

static void free_all(void)
{
    for (int i = 0; i < n_clusters; i++) {
        struct lease *lease, *next;
        for (lease = clusters[i].leases; lease; lease = next) {
            next = lease->next;
            json_object_put(lease->object);
            free(lease->name);
            free(lease);
        }
        member_fini(&clusters[i].member);
    }
    free(clusters);
}

/* -1: it is no such number. */
static int read_number(const char *text, int most)
{
    char *end;
    long number = strtol(text, &end, 10);

    return *text && !*end && number > 0 && number <= most ? (int)number : -1;
}

int main(int argc, char **argv)
{
    static const struct http_route routes[] = {
        {NULL, "/stats", get_stats}, {NULL, "/c/*", on_request}, {NULL, NULL, NULL}};
    struct http_server_options options = {.address = "127.0.0.1",
                                          .routes = routes,
                                          .max_connections = MAX_CONNECTIONS,
                                          .max_held = (size_t)512 << 20,
                                          .request_timeout_ms = 600000};
    struct http_server *server;
    struct errinfo info;
    int canaries = argc == 3 ? read_number(argv[2], MAX_CANARIES) : -1;

    n_clusters = argc == 3 ? read_number(argv[1], MAX_CLUSTERS) : -1;
    if (n_clusters < 0 || canaries < 0) {
        fprintf(stderr, "flagger-clusters: expected CLUSTERS CANARIES, each 1 to %d\n",
                (int)MAX_CLUSTERS);
        return 2;
    }
    process_raise_files();
    clusters = calloc((size_t)n_clusters, sizeof(*clusters));
    if (!clusters)
        abort();
    for (int i = 0; i < n_clusters; i++)
        member_init(&clusters[i].member, i, canaries);
    loop = loop_new(2000);
    if (http_server_new(loop, &options, &server, &info) != ERR_OK) {
        fprintf(stderr, "flagger-clusters: %s\n", info.text);
        return 1;
    }
    printf("%d\n", http_server_port(server));
    fflush(stdout);
    int status = loop_run(loop);
    http_server_free(server);
    free_all();
    loop_free(loop);
    return status;
}
