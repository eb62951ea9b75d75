#include "router/shared/appmesh_nodes.h"

#include <string.h>

#include "base/duration.h"
#include "router/router.h"
#include "tick/edit.h"

#define ACCESS_LOG "appmesh.flagger.app/accesslog"
enum { MAX_HEADERS = 10, TRY_MS = 250, FIRST = 10, SECOND = 20 };

/* --- checks of a spec */

static const char *duration_mistake(struct arena *arena, const char *text, const char *at)
{
    struct errinfo ei;
    int64_t ms;

    if (!text || !*text || duration_parse_ms(text, &ms, &ei) == ERR_OK)
        return NULL;
    return arena_printf(arena, "%s: %s", at, ei.text);
}

/* The next word between commas and blanks; NULL after the last one. */
static const char *next_event(struct arena *arena, const char **text)
{
    *text += strspn(*text, ", ");
    size_t len = strcspn(*text, ", ");
    const char *word = len > 0 ? arena_strndup(arena, *text, len) : NULL;

    *text += len;
    return word;
}

/* Other events are Envoy's; the API server would refuse the route. */
static const char *events_mistake(struct arena *arena, const char *text)
{
    static const char *const known[] = {"server-error", "gateway-error", "client-error",
                                        "stream-error"};
    const char *word;

    while (text && (word = next_event(arena, &text))) {
        size_t i = 0;
        while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], word) != 0)
            i++;
        if (i == sizeof(known) / sizeof(known[0]))
            return arena_printf(arena,
                                "spec.service.retries.retryOn: App Mesh knows server-error, "
                                "gateway-error, client-error and stream-error, found \"%.80s\"",
                                word);
    }
    return NULL;
}

const char *appmesh_check(struct arena *arena, const struct canary *canary)
{
    static const char *const ways[] = {"exact", "prefix", "suffix", "regex", NULL};
    struct json_object *service = canary->service.json;

    if (canary->service.port <= 0)
        return "spec.service.port: expected a port number";
    const char *why =
        duration_mistake(arena, json_str_at(service, "timeout", NULL), "spec.service.timeout");
    if (!why)
        why = duration_mistake(arena, json_str_at(service, "retries", "perTryTimeout", NULL),
                               "spec.service.retries.perTryTimeout");
    if (!why)
        why = events_mistake(arena, json_str_at(service, "retries", "retryOn", NULL));
    return why ? why : headers_mistake(arena, canary, "App Mesh", ways, MAX_HEADERS);
}

/* Of `match` only the prefix of the first element is used. */
const char *appmesh_ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const keys[] = {"rewrite", "backendTimeout", "headers", "corsPolicy",
                                       "mirror",  "trafficPolicy",  NULL};
    static const char *const of_match[] = {
        "headers",   "withoutHeaders", "queryParams",     "method",
        "authority", "scheme",         "ignoreUriCase",   "port",
        "gateways",  "sourceLabels",   "sourceNamespace", NULL};
    static const char *const of_uri[] = {"exact", "regex", NULL};
    struct json_object *match = json_at(canary->service.json, "match", NULL);
    struct ignored list = {.arena = arena,
                           .text = ignored_of_service(arena, canary, keys, of_match)};

    ignored_add(&list, json_at(json_elem(match, 0), "uri", NULL), "spec.service.match[0].uri",
                of_uri);
    for (size_t i = 1; i < json_len(match); i++) {
        static const char *const uri[] = {"uri", NULL};
        ignored_add(&list, json_elem(match, i), arena_printf(arena, "spec.service.match[%zu]", i),
                    uri);
    }
    return list.text;
}

static int64_t ms_of(const char *text, int64_t missing)
{
    struct errinfo ei;
    int64_t ms;

    return text && *text && duration_parse_ms(text, &ms, &ei) == ERR_OK ? ms : missing;
}

/* --- nodes */

struct json_object *appmesh_timeout(struct tick *tick)
{
    int64_t ms = ms_of(json_str_at(tick->canary->service.json, "timeout", NULL), -1);
    struct json_object *out = edit_object(tick->arena);

    if (ms < 0)
        return NULL;
    json_set_str(out, "unit", "ms");
    json_set_int(out, "value", ms);
    return out;
}

struct json_object *appmesh_listeners(struct tick *tick, int64_t port)
{
    struct json_object *out = edit_array(tick->arena), *listener = edit_object(tick->arena);
    struct json_object *mapping = json_sub(listener, "portMapping");
    bool grpc = strstr(tick->canary->service.port_name, "grpc");

    json_set_int(mapping, "port", port);
    json_set_str(mapping, "protocol", grpc ? "grpc" : "http");
    edit_add(out, listener);
    return out;
}

static struct json_object *backends(struct tick *tick, const struct appmesh *words)
{
    struct json_object *given = json_at(tick->canary->service.json, "backends", NULL);
    struct json_object *out = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(given); i++) {
        struct json_object *backend = edit_object(tick->arena);
        words->backend(json_sub(backend, "virtualService"),
                       json_object_get_string(json_elem(given, i)));
        edit_add(out, backend);
    }
    return out;
}

struct json_object *appmesh_node(struct tick *tick, const struct appmesh *words, int64_t port,
                                 const char *hostname)
{
    const char *log = json_str_at(tick->canary->json, "metadata", "annotations", ACCESS_LOG, NULL);
    struct json_object *out = route_metadata(tick), *spec = json_sub(out, "spec");
    struct json_object *called = backends(tick, words);

    json_set(spec, "listeners", appmesh_listeners(tick, port));
    json_set_str(json_sub(json_sub(spec, "serviceDiscovery"), "dns"), words->hostname, hostname);
    if (json_len(called) > 0)
        json_set(spec, "backends", called);
    if (log && strcmp(log, "enabled") == 0)
        json_set_str(json_sub(json_sub(json_sub(spec, "logging"), "accessLog"), "file"), "path",
                     "/dev/stdout");
    return out;
}

/* --- routes */

static struct json_object *target(struct tick *tick, const struct appmesh *words,
                                  struct json_object *live, const char *node, int weight)
{
    struct json_object *out = edit_object(tick->arena);

    words->target(out, node);
    json_set_int(out, "weight", weight);
    edit_pair(out, split_backend(words->format, live, node));
    return out;
}

static struct json_object *targets(struct tick *tick, const struct appmesh *words,
                                   const struct route_rule *rule)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_array(tick->arena);

    if (rule->canary >= 0)
        edit_add(out, target(tick, words, rule->live, service->canary_name, rule->canary));
    edit_add(out, target(tick, words, rule->live, service->primary_name, rule->primary));
    return out;
}

/* Events for a failed request. */
static struct json_object *retry_events(struct tick *tick, const char *text)
{
    struct json_object *out = edit_array(tick->arena);
    const char *word;

    for (text = text && *text ? text : "gateway-error"; (word = next_event(tick->arena, &text));)
        edit_add(out, json_own(tick->arena, json_object_new_string(word)));
    return out;
}

static void set_retries(struct tick *tick, const struct appmesh *words, struct json_object *http)
{
    struct json_object *given = json_at(tick->canary->service.json, "retries", NULL);
    int64_t attempts = json_int_at(given, 0, "attempts", NULL);

    json_set(http, "retryPolicy", NULL);
    if (!given)
        return;
    struct json_object *policy = json_sub(http, "retryPolicy");
    json_set(policy, "httpRetryEvents", retry_events(tick, json_str_at(given, "retryOn", NULL)));
    words->retries(policy, ms_of(json_str_at(given, "perTryTimeout", NULL), TRY_MS),
                   attempts > 0 ? attempts : 1);
}

/* An empty list is refused, so it is removed. */
static struct json_object *headers(struct tick *tick)
{
    struct json_object *out = edit_array(tick->arena);
    struct header_match *test;
    size_t count = headers_of_test(tick->arena, tick->canary, &test);

    for (size_t i = 0; i < count; i++) {
        struct json_object *header = edit_object(tick->arena);
        json_set_str(header, "name", test[i].name);
        json_set_str(json_sub(header, "match"), test[i].how, test[i].value);
        edit_pair(header, NULL);
        edit_add(out, header);
    }
    return out;
}

static struct json_object *route(struct tick *tick, const struct appmesh *words, const char *name,
                                 const struct route_rule *rule, struct json_object *to)
{
    struct json_object *matches = json_at(tick->canary->service.json, "match", NULL);
    const char *prefix = json_str_at(json_elem(matches, 0), "uri", "prefix", NULL);
    struct json_object *out = edit_object(tick->arena), *http = json_sub(out, words->route);

    json_set_str(out, "name", name);
    json_set(out, "priority", NULL);
    json_set_str(json_sub(http, "match"), "prefix", prefix && *prefix ? prefix : "/");
    json_set(json_sub(http, "match"), "headers", rule->matched ? headers(tick) : NULL);
    json_set(json_sub(http, "action"), "weightedTargets", to);
    set_retries(tick, words, http);
    if (words->times_out && appmesh_timeout(tick))
        json_set(json_sub(http, "timeout"), "perRequest", appmesh_timeout(tick));
    edit_pair(out, rule->live);
    return out;
}

struct json_object *appmesh_routes(struct tick *tick, const struct appmesh *words, const char *name,
                                   const struct weights *weights, const struct split *split,
                                   const char *plain)
{
    const struct route_rule whole = {.primary = 100, .live = split->split};
    struct json_object *out = edit_array(tick->arena), *apex = edit_array(tick->arena);
    struct route_rule rules[ROUTE_MAX_RULES];
    int count = weights ? route_rules(tick, weights, split, rules) : 0;

    edit_add(apex, target(tick, words, NULL, plain, 100));
    if (!weights)
        edit_add(out, route(tick, words, name, &whole, apex));
    for (int i = 0; i < count; i++) {
        const char *called = count > 1 ? arena_printf(tick->arena, "%s-%c", name, 'a' + i) : name;
        struct json_object *one =
            route(tick, words, called, &rules[i], targets(tick, words, &rules[i]));
        if (count > 1)
            json_set_int(one, "priority", i == 0 ? FIRST : SECOND);
        edit_add(out, one);
    }
    return out;
}

void appmesh_gateway(struct tick *tick, struct json_object *wanted)
{
    struct json_object *service = tick->canary->service.json, *hosts = tick->canary->service.hosts;
    int64_t attempts = json_int_at(service, 0, "retries", "attempts", NULL);
    const char *timeout = json_str_at(service, "timeout", NULL), *domain = "";

    for (size_t i = 0; i < json_len(hosts); i++)
        domain =
            arena_printf(tick->arena, "%s%s,", domain, json_object_get_string(json_elem(hosts, i)));
    if (!*domain)
        return;
    struct json_object *annotations = json_sub(json_sub(wanted, "metadata"), "annotations");
    json_set_str(annotations, "gateway.appmesh.k8s.aws/expose", "true");
    json_set_str(annotations, "gateway.appmesh.k8s.aws/domain", domain);
    if (timeout && *timeout)
        json_set_str(annotations, "gateway.appmesh.k8s.aws/timeout", timeout);
    if (attempts > 0)
        json_set_str(annotations, "gateway.appmesh.k8s.aws/retries",
                     arena_printf(tick->arena, "%lld", (long long)attempts));
}
