#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/expo.h"
#include "base/log.h"
#include "net/server/server_internal.h"

/* Metrics belong to the process, as the registry does: servers of one name share them and they are
 * never freed. */
struct server_metrics {
    struct server_metrics *next;
    char *name;
    struct expo_metric requests;
    struct expo_metric duration;
    struct expo_metric cut;
};

static struct server_metrics *all;

struct server_metrics *server_metrics_get(const char *name)
{
    if (!name)
        return NULL;
    for (struct server_metrics *m = all; m; m = m->next) {
        if (strcmp(m->name, name) == 0)
            return m;
    }
    struct server_metrics *m = heap_alloc(sizeof(*m));
    *m = (struct server_metrics){
        .next = all,
        .name = heap_strdup(name),
        .requests = {.name = heap_printf("%s_http_requests_total", name),
                     .help = "Requests answered, by route, method and status.",
                     .type = EXPO_COUNTER,
                     .labels = {"path", "method", "code"}},
        .duration = {.name = heap_printf("%s_http_request_duration_seconds", name),
                     .help = "Time from the whole request to its reply, by route.",
                     .type = EXPO_HISTOGRAM,
                     .labels = {"path"}},
        .cut = {.name = heap_printf("%s_http_connections_cut_total", name),
                .help = "Connections that gave way, by what was short: places or memory.",
                .type = EXPO_COUNTER,
                .labels = {"short"}},
    };
    all = m;
    return m;
}

/* The client chooses its method freely, and labels must stay few. */
static const char *method_label(const char *method)
{
    static const char *const known[] = {"GET",   "HEAD",   "POST",    "PUT",
                                        "PATCH", "DELETE", "OPTIONS", NULL};

    for (const char *const *k = known; *k; k++) {
        if (strcmp(*k, method) == 0)
            return *k;
    }
    return "other";
}

void server_metrics_count(const struct http_conn_request *r)
{
    struct server_metrics *m = r->server->metrics;

    if (!m)
        return;
    assert(r->status >= 100 && r->status <= 999);
    const char code[] = {(char)('0' + r->status / 100), (char)('0' + r->status / 10 % 10),
                         (char)('0' + r->status % 10), '\0'};
    expo_add(&m->requests, 1, r->route, method_label(r->method), code);
    expo_observe(&m->duration, (double)(clock_monotonic_ms() - r->started_ms) / 1000.0, r->route);
}

void server_metrics_cut(struct http_server *server, const char *why)
{
    enum { QUIET_MS = 60000 };
    int64_t now = clock_monotonic_ms();

    if (server->metrics)
        expo_add(&server->metrics->cut, 1, why);
    if (server->cut_told_ms && now - server->cut_told_ms < QUIET_MS)
        return;
    server->cut_told_ms = now;
    log_warn("connections_cut", NULL,
             "the oldest idle connections are cut: clients hold all places, or all memory for "
             "requests",
             LOG_STR("short", why), LOG_INT("connections", server->open_count),
             LOG_INT("bytes", server->held));
}
