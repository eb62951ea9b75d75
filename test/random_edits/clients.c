#include "random_edits/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { TICK_MS = 20, TIMEOUT_MS = 10000, MAX_BODY = 64 * 1024, VERSION = 40, MOVE_MS = 500 };

enum via { VIA_GATEWAY, VIA_INSIDER, VIA_APEX, VIA_CANARY };
static const char *const vias[] = {[VIA_GATEWAY] = "gateway",
                                   [VIA_INSIDER] = "insider",
                                   [VIA_APEX] = "apex",
                                   [VIA_CANARY] = "canary"};

struct stream {
    struct clients *clients;
    const struct app *app;
    enum via via;
    bool counts;
    int port;        /* of the Service, that it used last */
    int64_t both_ms; /* the Service has a new one beside it since; 0: it has not */
    int64_t began_ms;
    uint64_t sent;
    char version[VERSION]; /* of the last answer */
};

struct clients {
    struct clients_options options;
    struct stream **streams;
    size_t count;
    uint64_t requests;
    struct timer *timer;
};

struct request {
    struct stream *stream;
    int64_t at_ms;
    bool counts;
};

static void report(struct request *request, const char *text, bool stranger)
{
    struct clients *clients = request->stream->clients;
    if (!request->counts)
        return;
    clients->options.failed(clients->options.arg,
                            &(struct failure){.app = request->stream->app,
                                              .via = vias[request->stream->via],
                                              .sent_ms = request->at_ms,
                                              .ended_ms = clock_monotonic_ms(),
                                              .text = text,
                                              .stranger = stranger});
}

static void on_reply(void *arg, const struct http_result *result)
{
    struct request *request = arg;
    struct stream *stream = request->stream;
    char text[400];
    const char *version =
        result->err == ERR_OK ? http_result_header(result, "x-demo-version") : NULL;
    if (result->err != ERR_CANCELLED && request->counts)
        stream->clients->requests++;
    if (result->err != ERR_OK && result->err != ERR_CANCELLED) {
        snprintf(text, sizeof(text), "no answer: %.300s", result->info->text);
        report(request, text, false);
    } else if (result->err == ERR_OK && !version) {
        snprintf(text, sizeof(text), "status %d, and no version", result->status);
        report(request, text, false);
    } else if (result->err == ERR_OK && result->status >= 500 && strncmp(version, "bad", 3) != 0) {
        snprintf(text, sizeof(text), "status %d of version %s", result->status, version);
        report(request, text, false);
    }
    if (version && strcmp(version, APP_STRANGER) == 0)
        report(request, "the pods of another workload have answered", true);
    if (version)
        snprintf(stream->version, sizeof(stream->version), "%s", version);
    free(request);
}

/* The Service's first port. While it has the one of before as well, a client moves a moment later:
 * a new port takes its time to be known everywhere. 0: the Service has none. */
static int port_of(struct stream *stream, struct json_object *service)
{
    struct json_object *ports = json_at(service, "spec", "ports", NULL);
    int first = (int)json_int_at(json_elem(ports, 0), 0, "port", NULL);
    int64_t now = clock_monotonic_ms();
    bool both = false;
    for (size_t i = 1; i < json_len(ports); i++)
        both |= json_int_at(json_elem(ports, i), 0, "port", NULL) == stream->port;
    if (!both || first == stream->port)
        stream->both_ms = 0;
    else if (stream->both_ms == 0)
        stream->both_ms = now;
    if (!both || now - stream->both_ms > MOVE_MS)
        stream->port = first;
    return stream->port;
}

/* Where the Service listens now; NULL: it is not there. */
static const char *service_url(struct stream *stream, struct arena *arena)
{
    const struct view *view = stream->clients->options.view;
    const char *name = stream->via == VIA_CANARY
                           ? arena_printf(arena, "%s-canary", stream->app->name)
                           : stream->app->name;
    struct json_object *service = view_get(view, &kube_services, name);
    const char *address = json_str_at(service, "spec", "clusterIP", NULL);
    int port = port_of(stream, service);
    return address && port > 0 ? arena_printf(arena, "http://%s:%d/", address, port) : NULL;
}

static void send_one(struct stream *stream)
{
    struct clients *clients = stream->clients;
    struct arena *arena = arena_new();
    struct request *asked = heap_alloc(sizeof(*asked));
    *asked =
        (struct request){.stream = stream, .at_ms = clock_monotonic_ms(), .counts = stream->counts};
    bool through_gateway = stream->via == VIA_GATEWAY || stream->via == VIA_INSIDER;
    const struct http_header headers[] = {
        {"Connection", "close"},
        {through_gateway ? "Host" : "X-Via",
         through_gateway ? arena_printf(arena, "%s.example.com", stream->app->name)
                         : vias[stream->via]},
        {stream->via == VIA_INSIDER ? "x-group" : NULL, "insider"},
        {NULL, NULL}};
    const char *url =
        through_gateway ? arena_printf(arena, "http://127.0.0.1:%d/", clients->options.gateway_port)
                        : service_url(stream, arena);
    if (url) {
        struct http_request request = {.url = url,
                                       .headers = headers,
                                       .timeout_ms = TIMEOUT_MS,
                                       .max_body = MAX_BODY,
                                       .proxy = ""};
        http_send(clients->options.http, &request, on_reply, asked);
    } else {
        report(asked, "the Service is not there", false);
        clients->requests += asked->counts;
        free(asked);
    }
    arena_free(arena);
}

/* As many as the rate asks for; but what a stalled machine has missed is not made good in a burst.
 */
static void on_tick(void *arg)
{
    struct clients *clients = arg;
    int64_t now = clock_monotonic_ms();
    for (size_t i = 0; i < clients->count; i++) {
        struct stream *stream = clients->streams[i];
        uint64_t wanted =
            (uint64_t)(now - stream->began_ms) * (uint64_t)clients->options.rate / 1000;
        if (stream->sent >= wanted)
            continue;
        stream->sent = wanted;
        send_one(stream);
    }
}

struct clients *clients_new(const struct clients_options *options)
{
    struct clients *clients = heap_alloc(sizeof(*clients));
    *clients = (struct clients){.options = *options};
    clients->timer = timer_start(options->loop, TICK_MS, TICK_MS, on_tick, clients);
    return clients;
}

static void add(struct clients *clients, const struct app *app, enum via via)
{
    struct stream *stream = heap_alloc(sizeof(*stream));
    *stream = (struct stream){
        .clients = clients, .app = app, .via = via, .began_ms = clock_monotonic_ms()};
    clients->streams = heap_grow(clients->streams, (clients->count + 1) * sizeof(struct stream *));
    clients->streams[clients->count++] = stream;
}

void clients_add(struct clients *clients, const struct app *app)
{
    if (app->gateway)
        add(clients, app, VIA_GATEWAY);
    if (app->insiders)
        add(clients, app, VIA_INSIDER);
    add(clients, app, VIA_APEX);
    add(clients, app, VIA_CANARY);
}

void clients_count(struct clients *clients, const struct app *app)
{
    for (size_t i = 0; i < clients->count; i++)
        if (clients->streams[i]->app == app && clients->streams[i]->via != VIA_CANARY)
            clients->streams[i]->counts = true;
}

void clients_stop(struct clients *clients)
{
    timer_stop(clients->timer);
    clients->timer = NULL;
}

void clients_free(struct clients *clients)
{
    if (!clients)
        return;
    clients_stop(clients);
    for (size_t i = 0; i < clients->count; i++)
        free(clients->streams[i]);
    free(clients->streams);
    free(clients);
}

uint64_t clients_requests(const struct clients *clients)
{
    return clients->requests;
}

bool clients_all_get(const struct clients *clients, const struct app *app, const char *version)
{
    for (size_t i = 0; i < clients->count; i++) {
        const struct stream *stream = clients->streams[i];
        if (stream->app == app && stream->via != VIA_CANARY &&
            strcmp(stream->version, version) != 0)
            return false;
    }
    return true;
}
