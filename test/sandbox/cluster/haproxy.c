#include "cluster/haproxy.h"

#include <string.h>

#include "object/meta.h"

/* Nobody listens on it: requests for a Service that does not exist get 503. */
#define NOWHERE "127.0.0.1:1"

static int common_divisor(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * In the smallest numbers: HAProxy gives each server its share within a round of sixteen times the
 * sum of the weights, and new weights are kept to from the next round on. A round of 1,600 requests
 * would be longer than a step of a release.
 */
int haproxy_weight(const struct route_rule *rule, size_t index)
{
    int largest = 0, divisor = 0, weight = rule->backends[index].weight;
    for (size_t i = 0; i < rule->backend_count; i++) {
        if (rule->backends[i].weight > largest)
            largest = rule->backends[i].weight;
        divisor = common_divisor(divisor, rule->backends[i].weight);
    }
    if (weight == 0)
        return 0;
    weight /= divisor;
    largest /= divisor;
    if (largest <= HAPROXY_MAX_WEIGHT)
        return weight;
    int scaled = (int)(((int64_t)weight * HAPROXY_MAX_WEIGHT + largest / 2) / largest);
    return scaled > 0 ? scaled : 1;
}

/* The short name of a rule, as its backend has it. */
static const char *rule_key(struct arena *arena, const struct route_rule *rule)
{
    return meta_hash(arena, json_own(arena, json_object_new_string(rule->id)));
}

/* A double-quoted argument. log_format: '%' begins a variable and is doubled. */
static const char *quoted(struct arena *arena, const char *text, bool log_format)
{
    char *out = arena_alloc(arena, 2 * strlen(text) + 3), *to = out;
    *to++ = '"';
    for (; *text; text++) {
        if (strchr("\"\\$", *text))
            *to++ = '\\';
        if (log_format && *text == '%')
            *to++ = '%';
        *to++ = *text;
    }
    *to = '"';
    return out;
}

/* The path without the slashes at its end. */
static const char *stem(struct arena *arena, const char *path)
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    return arena_strndup(arena, path, len);
}

/* ---- matches ---- */

/* The whole value must match, as with the other gateways. */
static const char *test_of(struct arena *arena, enum route_test test, const char *value)
{
    bool exact = test == ROUTE_EXACT;
    return arena_printf(
        arena, "-m %s -- %s", exact ? "str" : "reg",
        quoted(arena, exact ? value : arena_printf(arena, "^(?:%s)$", value), false));
}

static void put_path(struct arena *arena, struct buf *out, size_t number,
                     const struct route_entry *entry)
{
    const char *prefix = stem(arena, entry->path);
    if (entry->path_test != ROUTE_PREFIX)
        buf_printf(out, "    acl m%zu path %s\n", number,
                   test_of(arena, entry->path_test, entry->path));
    else if (*prefix) /* /foo, and /foo/... but not /foobar; "/" is every path */
        buf_printf(out, "    acl m%zu path %s\n    acl m%zu path -m beg -- %s\n", number,
                   test_of(arena, ROUTE_EXACT, prefix), number,
                   quoted(arena, arena_printf(arena, "%s/", prefix), false));
}

static bool any_path(const struct route_entry *entry)
{
    return entry->path_test == ROUTE_PREFIX && entry->path[strspn(entry->path, "/")] == '\0';
}

/* The ACLs of an entry, and the condition made of them. */
static void put_entry(struct arena *arena, struct buf *out, size_t number,
                      const struct route_entry *entry, struct buf *condition)
{
    bool wildcard = entry->host && entry->host[0] == '*';
    if (entry->host) {
        buf_printf(out, "    acl m%zuh req.hdr(host),field(1,:),lower -m %s -- %s\n", number,
                   wildcard ? "end" : "str", quoted(arena, entry->host + wildcard, false));
        buf_printf(condition, " m%zuh", number);
    }
    put_path(arena, out, number, entry);
    if (!any_path(entry))
        buf_printf(condition, " m%zu", number);
    if (entry->method)
        buf_printf(condition, " { method %s }", entry->method);
    for (size_t i = 0; i < entry->headers.count; i++) {
        const struct route_field *field = &entry->headers.list[i];
        buf_printf(out, "    acl m%zuf%zu req.fhdr(%s) %s\n", number, i, field->name,
                   test_of(arena, field->test, field->value));
        buf_printf(condition, " m%zuf%zu", number, i);
    }
    for (size_t i = 0; i < entry->queries.count; i++) {
        const struct route_field *field = &entry->queries.list[i];
        buf_printf(out, "    acl m%zuq%zu url_param(%s),url_dec %s\n", number, i, field->name,
                   test_of(arena, field->test, field->value));
        buf_printf(condition, " m%zuq%zu", number, i);
    }
}

static void put_matches(const struct haproxy_in *in, struct arena *arena, struct buf *out)
{
    struct buf uses;
    buf_init(&uses, HAPROXY_CONFIG_MAX);
    for (size_t i = 0; i < in->table->count; i++) {
        const struct route_entry *entry = &in->table->entries[i];
        struct buf condition;
        buf_init(&condition, 2000);
        put_entry(arena, out, i, entry, &condition);
        /* The first match counts; the backend asks which one it was when it replaces a prefix. */
        buf_printf(
            out, "    http-request set-var(txn.match) int(%zu) if !{ var(txn.match) -m found }%s\n",
            i, condition.data);
        buf_printf(&uses, "    use_backend rule.%s if { var(txn.match) -m int %zu }\n",
                   rule_key(arena, entry->rule), i);
        buf_fini(&condition);
    }
    buf_puts(out, uses.data);
    buf_fini(&uses);
}

/* ---- backends ---- */

static void put_edits(struct arena *arena, struct buf *out, const char *where,
                      const struct route_edits *edits, const char *condition)
{
    static const char *const verbs[] = {
        [ROUTE_SET] = "set-header", [ROUTE_ADD] = "add-header", [ROUTE_REMOVE] = "del-header"};
    for (size_t i = 0; i < edits->count; i++) {
        const struct route_edit *edit = &edits->list[i];
        const char *value = edit->op == ROUTE_REMOVE
                                ? ""
                                : arena_printf(arena, " %s", quoted(arena, edit->value, true));
        buf_printf(out, "    %s %s %s%s%s\n", where, verbs[edit->op], edit->name, value, condition);
    }
}

/*
 * What is replaced is the prefix that matched, which differs from match to match. The path is known
 * to begin with it, so its length is enough. "/old" with "/" is "/", "/old/x" with "/new" is
 * "/new/x".
 */
static void put_prefix_rewrites(const struct haproxy_in *in, struct arena *arena,
                                const struct route_rule *rule, struct buf *out)
{
    const char *to = stem(arena, rule->filters.prefix_path);
    char *format = arena_alloc(arena, 2 * strlen(to) + 4), *end = format;
    for (const char *p = to; *p; p++) { /* a reference to what matched begins with a backslash */
        if (*p == '\\')
            *end++ = '\\';
        *end++ = *p;
    }
    memcpy(end, *to ? "\\1" : "/\\1", *to ? 2 : 3);
    for (size_t i = 0; i < in->table->count; i++) {
        const struct route_entry *entry = &in->table->entries[i];
        if (entry->rule == rule && entry->path_test == ROUTE_PREFIX)
            buf_printf(out,
                       "    http-request replace-path \"^.{%zu}%s(.*)\\$\" %s if { "
                       "var(txn.match) -m int %zu }\n",
                       strlen(stem(arena, entry->path)), *to ? "" : "/*",
                       quoted(arena, format, true), i);
    }
}

static const char *address_of(const struct route_backend *backend)
{
    return backend->address ? backend->address : NOWHERE;
}

static void put_servers(const struct haproxy_in *in, const struct route_rule *rule, struct buf *out)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rule->backend_count; i++) {
        const struct route_backend *backend = &rule->backends[i];
        sum += backend->weight;
        buf_printf(out, "    server s%zu %s", i, address_of(backend));
        if (!in->no_weights)
            buf_printf(out, " weight %d", haproxy_weight(rule, i));
        buf_puts(out, "\n");
    }
    if (sum == 0)
        buf_puts(out, "    http-request return status 500 content-type text/plain string "
                      "\"the route has no backend with a weight\\n\"\n");
}

/* gateway.lua sends the copies, of the request as the prefix has been replaced. */
static void put_mirrors(const struct route_rule *rule, struct buf *out)
{
    if (rule->mirror_count > 0)
        buf_puts(out, "    http-request wait-for-body time 5s if !METH_GET !METH_HEAD\n");
    for (size_t i = 0; i < rule->mirror_count; i++)
        if (rule->mirrors[i].percent > 0)
            buf_printf(out, "    http-request lua.mirror %s %.2f\n",
                       address_of(&rule->mirrors[i].backend), rule->mirrors[i].percent);
}

static void put_rule(const struct haproxy_in *in, struct arena *arena,
                     const struct route_rule *rule, struct buf *out)
{
    const char *key = rule_key(arena, rule);

    buf_printf(out, "\n# %s\nbackend rule.%s\n    balance roundrobin\n", rule->id, key);
    if (rule->timeout_ms > 0)
        buf_printf(out, "    timeout server %lldms\n", (long long)rule->timeout_ms);
    if (rule->filters.prefix_path)
        put_prefix_rewrites(in, arena, rule, out);
    put_mirrors(rule, out);
    if (rule->filters.host)
        buf_printf(out, "    http-request set-header host %s\n",
                   quoted(arena, rule->filters.host, true));
    if (rule->filters.full_path)
        buf_printf(out, "    http-request set-path %s\n",
                   quoted(arena, rule->filters.full_path, true));
    put_edits(arena, out, "http-request", &rule->filters.request, "");
    put_edits(arena, out, "http-response", &rule->filters.response, "");
    for (size_t i = 0; i < rule->backend_count; i++) {
        const struct route_filters *filters = &rule->backends[i].filters;
        const char *condition = arena_printf(arena, " if { srv_name s%zu }", i);
        put_edits(arena, out, "http-response", &filters->response, condition);
    }
    put_servers(in, rule, out);
}

static void put_head(const struct haproxy_in *in, struct buf *out)
{
    buf_puts(out, "# written by flagger-sandbox\nglobal\n    nbthread 1\n    maxconn 4000\n"
                  "    hard-stop-after 60s\n");
    buf_printf(out, "    stats socket %s/stats.sock mode 600 level admin expose-fd listeners\n",
               in->directory);
    buf_printf(out, "    lua-load %s/gateway.lua\n", in->directory);
    buf_puts(out, "\ndefaults\n    mode http\n    option http-server-close\n"
                  "    option idle-close-on-response\n    option forwardfor if-none\n"
                  "    retries 1\n    retry-on conn-failure empty-response\n"
                  "    timeout connect 2s\n    timeout client 75s\n    timeout server 75s\n"
                  "    timeout http-request 30s\n");
    buf_printf(out, "    timeout http-keep-alive %dms\n\nfrontend gateway\n", HAPROXY_IDLE_MS);
    if (in->address)
        buf_printf(out, "    bind %s:80\n", in->address);
    if (in->port > 0)
        buf_printf(out, "    bind 127.0.0.1:%d\n", in->port);
    buf_puts(out, "    http-request disable-l7-retry unless METH_GET\n");
    if (in->mark && !in->no_weights)
        buf_printf(out, "    http-request use-service lua.weights if { path /.sandbox/%s }\n",
                   in->mark);
}

void haproxy_config(const struct haproxy_in *in, struct arena *arena, struct buf *out)
{
    put_head(in, out);
    put_matches(in, arena, out);
    buf_puts(out, "    default_backend none\n\nbackend none\n    http-request return status 404 "
                  "content-type text/plain string \"no HTTPRoute matches\\n\"\n");
    for (size_t i = 0; i < in->table->rule_count; i++) {
        put_rule(in, arena, in->table->rules[i], out);
    }
}

/* Those with a share, or those without. */
static void put_weights(const struct route_table *table, struct arena *arena, bool some,
                        struct buf *out)
{
    for (size_t i = 0; i < table->rule_count; i++)
        for (size_t k = 0; k < table->rules[i]->backend_count; k++) {
            int weight = haproxy_weight(table->rules[i], k);
            if ((weight > 0) == some)
                buf_printf(out, "rule.%s/s%zu %d\n", rule_key(arena, table->rules[i]), k, weight);
        }
}

/* HAProxy takes one after the other: no rule may be without any share in between. */
void haproxy_weights(const struct route_table *table, struct arena *arena, struct buf *out)
{
    put_weights(table, arena, true, out);
    put_weights(table, arena, false, out);
}
