/* HTTPRoutes: reading them, their order, and their status. */
#include "cluster/route.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "object/form.h"
#include "object/meta.h"
#include "object/pattern.h"

#define CONTROLLER "sandbox.flagger.app/gateway"

/* One route being read. The reader keeps the first thing that is wrong. */
struct reading {
    struct json_reader r;
    struct json_object *route;
    route_resolve_fn resolve;
    void *resolve_arg;
    struct route_table *table;
    struct route_result *result;
    struct route_rule *rule;
    size_t position;
};

bool route_name_ok(const char *name)
{
    if (!name || !*name || strlen(name) > 256)
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.~", *p))
            return false;
    return true;
}

bool route_text_ok(const char *text)
{
    if (!text || strlen(text) > ROUTE_MAX_TEXT)
        return false;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return true;
}

static enum route_test read_test(struct json_reader *r, struct json_object *obj,
                                 enum route_test missing)
{
    static const char *const names[] = {[ROUTE_EXACT] = "Exact",
                                        [ROUTE_REGEX] = "RegularExpression",
                                        [ROUTE_PREFIX] = "PathPrefix"};
    const char *type = json_read_str(r, obj, "type", JSON_OPTIONAL);
    for (size_t i = 0; type && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(type, names[i]) == 0)
            return (enum route_test)i;
    if (type)
        json_reader_fail(r, obj, "type", "%s is not supported by the sandbox's gateway", type);
    return missing;
}

/* A regular expression that the proxy refuses would keep its whole configuration, and every other
 * route, from being loaded. */
static void check_value(struct json_reader *r, struct json_object *obj, enum route_test test,
                        const char *value)
{
    struct pattern *pattern = NULL;
    if (!route_text_ok(value))
        json_reader_fail(r, obj, "value", "expected a text without control characters");
    else if (test == ROUTE_REGEX && pattern_compile(value, PATTERN_BYTES, &pattern, NULL) != ERR_OK)
        json_reader_fail(r, obj, "value", "expected a regular expression as RE2 knows it");
    pattern_free(pattern);
}

/* ---- backends ---- */

static void read_ref(struct reading *rd, struct json_object *ref, struct route_backend *out)
{
    struct json_reader *r = &rd->r;
    const char *kind = json_read_str(r, ref, "kind", JSON_OPTIONAL);
    const char *group = json_read_str(r, ref, "group", JSON_OPTIONAL);
    const char *ns = json_read_str(r, ref, "namespace", JSON_OPTIONAL);

    *out = (struct route_backend){
        .service = json_read_str(r, ref, "name", JSON_REQUIRED),
        .ns = ns ? ns : meta_ns(rd->route),
        .port = (int)json_read_int(r, ref, "port", 1, 65535, 0),
        .weight = (int)json_read_int(r, ref, "weight", 0, 1000000, 1),
    };
    if ((kind && strcmp(kind, "Service") != 0) || (group && *group))
        json_reader_fail(r, ref, NULL, "only Services can be backends");
    if (out->port == 0)
        json_reader_fail(r, ref, "port", "expected a number from 1 to 65535");
    const char *ip =
        r->err == ERR_OK ? rd->resolve(rd->resolve_arg, r->arena, out->ns, out->service) : NULL;
    if (ip)
        out->address = arena_printf(r->arena, "%s:%d", ip, out->port);
    else if (r->err == ERR_OK && !rd->result->unresolved)
        rd->result->unresolved =
            arena_printf(r->arena, "%s: there is no Service %s in namespace %s",
                         json_reader_path(r, ref, NULL), out->service, out->ns);
}

static void read_mirror(struct reading *rd, struct json_object *filter)
{
    struct json_reader *r = &rd->r;
    struct json_object *mirror = json_read_obj(r, filter, "requestMirror", JSON_REQUIRED);
    struct json_object *fraction = json_read_obj(r, mirror, "fraction", JSON_OPTIONAL);
    struct json_object *ref = json_read_obj(r, mirror, "backendRef", JSON_REQUIRED);
    double denominator = json_read_num(r, fraction, "denominator", 100);
    struct route_mirror *out = &rd->rule->mirrors[rd->rule->mirror_count++];

    out->percent = json_read_num(r, mirror, "percent", 100);
    if (fraction && denominator > 0)
        out->percent = 100 * json_read_num(r, fraction, "numerator", 0) / denominator;
    if (!(out->percent >= 0 && out->percent <= 100))
        json_reader_fail(r, mirror, "percent", "expected 0 to 100");
    if (ref)
        read_ref(rd, ref, &out->backend);
}

/* ---- filters ---- */

static void add_edits(struct json_reader *r, struct json_object *modifier, const char *key,
                      enum route_edit_op op, struct route_edits *edits)
{
    struct json_object *list = json_read_array(r, modifier, key, JSON_OPTIONAL);
    struct route_edit *all = arena_array(r->arena, edits->count + json_len(list), sizeof(*all));

    for (size_t i = 0; i < edits->count; i++)
        all[i] = edits->list[i];
    edits->list = all;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        struct route_edit edit = {.op = op, .name = json_object_get_string(entry), .value = ""};
        if (op != ROUTE_REMOVE) {
            edit.name = json_str_at(entry, "name", NULL);
            edit.value = json_str_at(entry, "value", NULL);
        }
        if (!route_name_ok(edit.name) || !route_text_ok(edit.value))
            json_reader_fail(r, list, NULL, "a header name or value that no header can have");
        all[edits->count++] = edit;
    }
}

/* What is removed goes first, so that set and add stay. */
static void read_edits(struct json_reader *r, struct json_object *filter, const char *key,
                       struct route_edits *edits)
{
    struct json_object *modifier = json_read_obj(r, filter, key, JSON_OPTIONAL);
    add_edits(r, modifier, "remove", ROUTE_REMOVE, edits);
    add_edits(r, modifier, "set", ROUTE_SET, edits);
    add_edits(r, modifier, "add", ROUTE_ADD, edits);
}

static void read_rewrite(struct json_reader *r, struct json_object *filter,
                         struct route_filters *out)
{
    struct json_object *rewrite = json_read_obj(r, filter, "urlRewrite", JSON_OPTIONAL);
    struct json_object *path = json_read_obj(r, rewrite, "path", JSON_OPTIONAL);
    const char *host = json_read_str(r, rewrite, "hostname", JSON_OPTIONAL);
    const char *type = json_read_str(r, path, "type", JSON_OPTIONAL);
    const char *full = json_read_str(r, path, "replaceFullPath", JSON_OPTIONAL);
    const char *prefix = json_read_str(r, path, "replacePrefixMatch", JSON_OPTIONAL);

    if ((host && !route_name_ok(host)) || (full && !route_text_ok(full)) ||
        (prefix && !route_text_ok(prefix)))
        json_reader_fail(r, rewrite, NULL, "expected a host name and a path");
    out->host = host;
    if (type && strcmp(type, "ReplacePrefixMatch") == 0)
        out->prefix_path = prefix ? prefix : "/";
    else if (type)
        out->full_path = full ? full : "/";
}

/* Of a rule, or of a backend, which edits answers alone. */
static void read_filters(struct reading *rd, struct json_object *owner, bool on_rule,
                         struct route_filters *out)
{
    struct json_reader *r = &rd->r;
    struct json_object *list = json_read_array(r, owner, "filters", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *filter = json_read_elem(r, list, i);
        const char *type = json_read_str(r, filter, "type", JSON_REQUIRED);
        if (!type)
            return;
        if (strcmp(type, "CORS") == 0 && on_rule)
            continue; /* for browsers, of which there are none here */
        if (strcmp(type, "ResponseHeaderModifier") == 0)
            read_edits(r, filter, "responseHeaderModifier", &out->response);
        else if (strcmp(type, "RequestHeaderModifier") == 0 && on_rule)
            read_edits(r, filter, "requestHeaderModifier", &out->request);
        else if (strcmp(type, "URLRewrite") == 0 && on_rule)
            read_rewrite(r, filter, out);
        else if (strcmp(type, "RequestMirror") == 0 && on_rule)
            read_mirror(rd, filter);
        else
            json_reader_fail(r, filter, "type",
                             "%s is not supported on %s by the sandbox's gateway", type,
                             on_rule ? "rules" : "backends");
    }
}

static void read_backends(struct reading *rd, struct json_object *rule)
{
    struct json_reader *r = &rd->r;
    struct json_object *refs = json_read_array(r, rule, "backendRefs", JSON_OPTIONAL);
    rd->rule->backends = arena_array(r->arena, json_len(refs), sizeof(struct route_backend));
    for (size_t i = 0; i < json_len(refs); i++) {
        struct json_object *ref = json_read_elem(r, refs, i);
        struct route_backend *backend = &rd->rule->backends[rd->rule->backend_count++];
        read_ref(rd, ref, backend);
        read_filters(rd, ref, false, &backend->filters);
    }
}

static void read_timeouts(struct reading *rd, struct json_object *rule)
{
    static const char *const keys[] = {"request", "backendRequest"};
    struct json_object *timeouts = json_read_obj(&rd->r, rule, "timeouts", JSON_OPTIONAL);
    for (size_t i = 0; i < 2; i++) {
        int64_t ms = json_read_duration(&rd->r, timeouts, keys[i], 0);
        if (ms > 0 && (rd->rule->timeout_ms == 0 || ms < rd->rule->timeout_ms))
            rd->rule->timeout_ms = ms;
    }
}

/* ---- matches ---- */

static struct route_fields read_fields(struct json_reader *r, struct json_object *match,
                                       const char *key)
{
    struct json_object *list = json_read_array(r, match, key, JSON_OPTIONAL);
    struct route_fields out = {.list = arena_array(r->arena, json_len(list), sizeof(*out.list))};
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_read_elem(r, list, i);
        struct route_field *field = &out.list[out.count++];
        field->test = read_test(r, entry, ROUTE_EXACT);
        field->name = json_read_str(r, entry, "name", JSON_REQUIRED);
        field->value = json_read_str(r, entry, "value", JSON_REQUIRED);
        if (field->test == ROUTE_PREFIX || !route_name_ok(field->name))
            json_reader_fail(r, entry, NULL,
                             "expected a name, and type Exact or RegularExpression");
        check_value(r, entry, field->test, field->value);
    }
    return out;
}

static void read_match(struct reading *rd, struct json_object *match, struct route_entry *out)
{
    struct json_reader *r = &rd->r;
    struct json_object *path = json_read_obj(r, match, "path", JSON_OPTIONAL);
    const char *value = json_read_str(r, path, "value", JSON_OPTIONAL);

    *out = (struct route_entry){
        .rule = rd->rule,
        .path = value ? value : "/",
        .path_test = read_test(r, path, ROUTE_PREFIX),
        .method = json_read_str(r, match, "method", JSON_OPTIONAL),
        .headers = read_fields(r, match, "headers"),
        .queries = read_fields(r, match, "queryParams"),
        .position = rd->position++,
    };
    check_value(r, path, out->path_test, out->path);
    if (out->path_test != ROUTE_REGEX && out->path[0] != '/')
        json_reader_fail(r, path, "value", "expected an absolute path");
    if (out->method && !route_name_ok(out->method))
        json_reader_fail(r, match, "method", "expected an HTTP method");
}

/* One entry for each host of the route. */
static void add_entries(struct reading *rd, const struct route_entry *entry)
{
    struct json_object *hosts = json_at(rd->route, "spec", "hostnames", NULL);
    size_t count = json_len(hosts) ? json_len(hosts) : 1;

    if (rd->table->count + count > ROUTE_MAX_ENTRIES)
        json_reader_fail(&rd->r, NULL, NULL, "the gateway takes at most %d matches in all",
                         ROUTE_MAX_ENTRIES);
    for (size_t i = 0; i < count && rd->r.err == ERR_OK; i++) {
        const char *host = json_len(hosts) ? json_object_get_string(json_elem(hosts, i)) : NULL;
        struct route_entry *added = &rd->table->entries[rd->table->count++];
        *added = *entry;
        if (!host || strcmp(host, "*") == 0)
            continue;
        if (!route_name_ok(strncmp(host, "*.", 2) == 0 ? host + 2 : host))
            json_reader_fail(&rd->r, NULL, NULL, "spec.hostnames: expected host names");
        char *lower = arena_strdup(rd->r.arena, host);
        for (char *p = lower; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        added->host = lower;
    }
}

static void read_rule(struct reading *rd, struct json_object *rule, size_t index)
{
    struct json_reader *r = &rd->r;
    struct json_object *matches = json_read_array(r, rule, "matches", JSON_OPTIONAL);
    size_t count = json_len(matches) ? json_len(matches) : 1;
    size_t filters = json_len(json_at(rule, "filters", NULL));

    rd->rule = ARENA_NEW(r->arena, struct route_rule);
    rd->rule->id =
        arena_printf(r->arena, "%s.%s.%zu", meta_ns(rd->route), meta_name(rd->route), index);
    rd->rule->mirrors = arena_array(r->arena, filters, sizeof(struct route_mirror));
    read_filters(rd, rule, true, &rd->rule->filters);
    read_backends(rd, rule);
    read_timeouts(rd, rule);
    for (size_t i = 0; i < count; i++) {
        struct route_entry entry;
        read_match(rd, matches ? json_read_elem(r, matches, i) : NULL, &entry);
        add_entries(rd, &entry);
    }
    rd->table->rules[rd->table->rule_count++] = rd->rule;
}

/* ---- order ---- */

static size_t host_rank(const struct route_entry *entry)
{
    if (!entry->host)
        return 0;
    return strlen(entry->host) + (entry->host[0] == '*' ? 1 : 1000);
}

static size_t path_rank(const struct route_entry *entry)
{
    if (entry->path_test == ROUTE_EXACT)
        return 3 * ROUTE_MAX_TEXT;
    return strlen(entry->path) + (entry->path_test == ROUTE_REGEX ? ROUTE_MAX_TEXT + 1 : 0);
}

static int higher(size_t a, size_t b)
{
    return a > b ? -1 : a < b;
}

static int precedence(const void *left, const void *right)
{
    const struct route_entry *a = left, *b = right;
    int order = higher(host_rank(a), host_rank(b));
    if (order == 0)
        order = higher(path_rank(a), path_rank(b));
    if (order == 0)
        order = higher(a->method != NULL, b->method != NULL);
    if (order == 0)
        order = higher(a->headers.count, b->headers.count);
    if (order == 0)
        order = higher(a->queries.count, b->queries.count);
    if (order == 0)
        order = higher(b->order, a->order);
    return order ? order : higher(b->position, a->position);
}

static int by_age(const void *left, const void *right)
{
    struct json_object *a = *(struct json_object *const *)left;
    struct json_object *b = *(struct json_object *const *)right;
    int64_t older = meta_created(a) - meta_created(b);
    if (older != 0)
        return older < 0 ? -1 : 1;
    int order = strcmp(meta_ns(a), meta_ns(b));
    return order ? order : strcmp(meta_name(a), meta_name(b));
}

/* Nothing of a route that is refused is served. */
static void add_route(struct reading *rd, size_t order)
{
    struct route_table *table = rd->table;
    size_t entries = table->count, rules = table->rule_count;
    struct json_object *spec = json_read_obj(&rd->r, rd->route, "spec", JSON_OPTIONAL);
    struct json_object *list = json_read_array(&rd->r, spec, "rules", JSON_OPTIONAL);

    *rd->result = (struct route_result){.ns = meta_ns(rd->route),
                                        .name = meta_name(rd->route),
                                        .generation = meta_generation(rd->route),
                                        .parents = json_at(spec, "parentRefs", NULL)};
    for (size_t i = 0; i < json_len(list) && rd->r.err == ERR_OK; i++)
        read_rule(rd, json_read_elem(&rd->r, list, i), i);
    if (rd->r.err != ERR_OK) {
        rd->result->refused = arena_strdup(rd->r.arena, rd->r.info.text);
        table->count = entries;
        table->rule_count = rules;
    }
    for (size_t k = entries; k < table->count; k++)
        table->entries[k].order = order;
}

void route_table_make(struct arena *arena, struct json_object **routes, size_t count,
                      route_resolve_fn resolve, void *arg, struct route_table *out)
{
    struct json_object **sorted = arena_array(arena, count, sizeof(struct json_object *));
    size_t rules = 0;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = routes[i];
        rules += json_len(json_at(routes[i], "spec", "rules", NULL));
    }
    qsort(sorted, count, sizeof(struct json_object *), by_age);
    *out = (struct route_table){
        .entries = arena_array(arena, ROUTE_MAX_ENTRIES, sizeof(struct route_entry)),
        .rules = arena_array(arena, rules, sizeof(struct route_rule *)),
        .results = arena_array(arena, count, sizeof(struct route_result))};
    for (size_t i = 0; i < count; i++) {
        struct reading rd = {.r = {.arena = arena},
                             .route = sorted[i],
                             .resolve = resolve,
                             .resolve_arg = arg,
                             .table = out,
                             .result = &out->results[out->result_count++]};
        add_route(&rd, i);
    }
    qsort(out->entries, out->count, sizeof(*out->entries), precedence);
}

/* ---- status ---- */

static void put_condition(struct arena *arena, struct json_object *list, struct json_object *before,
                          const char *type, int64_t generation, const char *reason,
                          const char *problem, const char *now)
{
    struct json_object *c = meta_add_condition(
        arena, list, before, type, problem ? "False" : "True", reason, problem ? problem : "", now);
    json_set_int(c, "observedGeneration", generation);
}

struct json_object *routestatus_route(struct arena *arena, const struct route_result *result,
                                      struct json_object *before, const char *now)
{
    struct json_object *parents = form(arena, "[]");
    struct json_object *old_parents = json_at(before, "parents", NULL);

    for (size_t i = 0; i < json_len(result->parents); i++) {
        struct json_object *ref = json_elem(result->parents, i), *old = NULL;
        struct json_object *list = form(arena, "[]");
        for (size_t k = 0; k < json_len(old_parents); k++)
            if (json_same(json_at(json_elem(old_parents, k), "parentRef", NULL), ref))
                old = json_at(json_elem(old_parents, k), "conditions", NULL);
        put_condition(arena, list, old, "Accepted", result->generation,
                      result->refused ? "UnsupportedValue" : "Accepted", result->refused, now);
        put_condition(arena, list, old, "ResolvedRefs", result->generation,
                      result->unresolved ? "BackendNotFound" : "ResolvedRefs", result->unresolved,
                      now);
        form_add(parents, form(arena, "{parentRef: %p, controllerName: %s, conditions: %p}", ref,
                               CONTROLLER, list));
    }
    return form(arena, "{parents: %p}", parents);
}

struct json_object *routestatus_gateway(struct arena *arena, struct json_object *gateway,
                                        const char *address, const char *now)
{
    struct json_object *list = form(arena, "[]");
    struct json_object *before = json_at(gateway, "status", "conditions", NULL);
    int64_t generation = meta_generation(gateway);

    put_condition(arena, list, before, "Accepted", generation, "Accepted", NULL, now);
    put_condition(arena, list, before, "Programmed", generation, "Programmed", NULL, now);
    return form(arena, "{addresses: [{type: IPAddress, value: %s}], conditions: %p}", address,
                list);
}
