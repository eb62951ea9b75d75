#include "cluster/route.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "cluster/routefilter.h"
#include "object/meta.h"
#include "object/pattern.h"

/* One route being read. */
struct reading {
    struct arena *arena;
    struct json_object *route;
    route_resolve_fn resolve;
    void *resolve_arg;
    struct route_table *table;
    struct route_result *result;
    struct route_rule *rule;
    const char *path; /* "spec.rules[0]" */
    size_t position;
};

static enum err bad(struct errinfo *ei, const char *path, const char *what)
{
    return err_set(ei, ERR_INVALID, "%s: %s", path, what);
}

static enum err read_test(const char *type, const char *fallback, enum route_test *out,
                          const char *path, struct errinfo *ei)
{
    type = type ? type : fallback;
    if (strcmp(type, "Exact") == 0)
        *out = ROUTE_EXACT;
    else if (strcmp(type, "RegularExpression") == 0)
        *out = ROUTE_REGEX;
    else if (strcmp(type, "PathPrefix") == 0)
        *out = ROUTE_PREFIX;
    else
        return err_set(ei, ERR_INVALID, "%s.type %s is not supported by the sandbox's gateway",
                       path, type);
    return ERR_OK;
}

/* ---- backends ---- */

static enum err read_ref(struct reading *r, struct json_object *ref, const char *path,
                         struct route_backend *out, struct errinfo *ei)
{
    const char *kind = json_str_at(ref, "kind", NULL), *group = json_str_at(ref, "group", NULL);
    const char *ns = json_str_at(ref, "namespace", NULL);

    *out = (struct route_backend){.service = json_str_at(ref, "name", NULL),
                                  .ns = ns ? ns : meta_ns(r->route),
                                  .port = (int)json_int_at(ref, 0, "port", NULL),
                                  .weight = (int)json_int_at(ref, 1, "weight", NULL)};
    if (!out->service || (kind && strcmp(kind, "Service") != 0) || (group && *group))
        return bad(ei, path, "only Services can be backends");
    if (out->port < 1 || out->port > 65535)
        return bad(ei, path, "port: expected a number from 1 to 65535");
    if (out->weight < 0 || out->weight > 1000000)
        return bad(ei, path, "weight: expected a number from 0 to 1000000");
    const char *ip = r->resolve(r->resolve_arg, r->arena, out->ns, out->service);
    if (ip)
        out->address = arena_printf(r->arena, "%s:%d", ip, out->port);
    else if (!r->result->unresolved)
        r->result->unresolved = arena_printf(r->arena, "%s: there is no Service %s in namespace %s",
                                             path, out->service, out->ns);
    return ERR_OK;
}

/* The number that stands there, or what counts where there is none. */
static double number_of(struct json_object *found, double missing)
{
    bool is_number =
        json_object_is_type(found, json_type_int) || json_object_is_type(found, json_type_double);

    return is_number ? json_object_get_double(found) : missing;
}

static enum err add_mirror(void *arg, struct json_object *mirror, const char *path,
                           struct errinfo *ei)
{
    struct reading *r = arg;
    struct route_mirror *out = &r->rule->mirrors[r->rule->mirror_count];
    double numerator = number_of(json_at(mirror, "fraction", "numerator", NULL), 0);
    double denominator = number_of(json_at(mirror, "fraction", "denominator", NULL), 100);

    out->percent = number_of(json_at(mirror, "percent", NULL), 100);
    if (json_at(mirror, "fraction", NULL) && denominator > 0)
        out->percent = 100 * numerator / denominator;
    if (!(out->percent >= 0 && out->percent <= 100))
        return bad(ei, path, "percent: expected 0 to 100");
    r->rule->mirror_count++;
    return read_ref(r, json_at(mirror, "backendRef", NULL),
                    arena_printf(r->arena, "%s.requestMirror.backendRef", path), &out->backend, ei);
}

static enum err read_backends(struct reading *r, struct json_object *rule, struct errinfo *ei)
{
    struct json_object *refs = json_at(rule, "backendRefs", NULL);
    r->rule->backends = arena_array(r->arena, json_len(refs) + 1, sizeof(struct route_backend));
    for (size_t i = 0; i < json_len(refs); i++) {
        struct route_backend *backend = &r->rule->backends[r->rule->backend_count++];
        const char *path = arena_printf(r->arena, "%s.backendRefs[%zu]", r->path, i);
        enum err err = read_ref(r, json_elem(refs, i), path, backend, ei);
        if (err != ERR_OK)
            return err;
        const struct routefilter_in in = {.filters = json_at(json_elem(refs, i), "filters", NULL),
                                          .path = arena_printf(r->arena, "%s.filters", path)};
        err = routefilter_read(r->arena, &in, &backend->filters, ei);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

static enum err read_timeouts(struct reading *r, struct json_object *rule, struct errinfo *ei)
{
    static const char *const keys[] = {"request", "backendRequest"};
    for (size_t i = 0; i < 2; i++) {
        const char *text = json_str_at(rule, "timeouts", keys[i], NULL);
        int64_t ms;
        if (!text)
            continue;
        enum err err = duration_parse_ms(text, &ms, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "%s.timeouts.%s", r->path, keys[i]);
        if (ms > 0 && (r->rule->timeout_ms == 0 || ms < r->rule->timeout_ms))
            r->rule->timeout_ms = ms;
    }
    return ERR_OK;
}

/* ---- matches ---- */

/* One that the proxy refuses would keep its whole configuration, and every other route, from being
 * loaded. */
static bool is_regex(const char *text)
{
    struct pattern *pattern = NULL;
    enum err err = pattern_compile(text, PATTERN_BYTES, &pattern, NULL);
    pattern_free(pattern);
    return err == ERR_OK;
}

static enum err read_fields(struct reading *r, struct json_object *list, const char *path,
                            struct route_field **out, size_t *count, struct errinfo *ei)
{
    *out = arena_array(r->arena, json_len(list) + 1, sizeof(struct route_field));
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        struct route_field *field = &(*out)[(*count)++];
        enum err err = read_test(json_str_at(entry, "type", NULL), "Exact", &field->test, path, ei);
        field->name = json_str_at(entry, "name", NULL);
        field->value = json_str_at(entry, "value", NULL);
        if (err != ERR_OK)
            return err;
        if (field->test == ROUTE_PREFIX || !routefilter_name_ok(field->name) ||
            !routefilter_text_ok(field->value))
            return bad(ei, path, "expected name, value and type Exact or RegularExpression");
        if (field->test == ROUTE_REGEX && !is_regex(field->value))
            return bad(ei, path, "value: expected a regular expression as RE2 knows it");
    }
    return ERR_OK;
}

static enum err read_match(struct reading *r, struct json_object *match, const char *path,
                           struct route_entry *out, struct errinfo *ei)
{
    const char *value = json_str_at(match, "path", "value", NULL);

    *out = (struct route_entry){.rule = r->rule,
                                .path = value ? value : "/",
                                .method = json_str_at(match, "method", NULL),
                                .position = r->position++};
    enum err err = read_test(json_str_at(match, "path", "type", NULL), "PathPrefix",
                             &out->path_test, arena_printf(r->arena, "%s.path", path), ei);
    if (err == ERR_OK)
        err = read_fields(r, json_at(match, "headers", NULL),
                          arena_printf(r->arena, "%s.headers", path), &out->headers,
                          &out->header_count, ei);
    if (err == ERR_OK)
        err = read_fields(r, json_at(match, "queryParams", NULL),
                          arena_printf(r->arena, "%s.queryParams", path), &out->queries,
                          &out->query_count, ei);
    if (err != ERR_OK)
        return err;
    if (!routefilter_text_ok(out->path) || (out->path_test != ROUTE_REGEX && out->path[0] != '/'))
        return bad(ei, path, "path.value: expected an absolute path");
    if (out->path_test == ROUTE_REGEX && !is_regex(out->path))
        return bad(ei, path, "path.value: expected a regular expression as RE2 knows it");
    if (out->method && !routefilter_name_ok(out->method))
        return bad(ei, path, "method: expected an HTTP method");
    return ERR_OK;
}

/* One entry for each host of the route. */
static enum err add_entries(struct reading *r, const struct route_entry *entry, struct errinfo *ei)
{
    struct json_object *hosts = json_at(r->route, "spec", "hostnames", NULL);
    size_t count = json_len(hosts) ? json_len(hosts) : 1;

    if (r->table->count + count > ROUTE_MAX_ENTRIES)
        return err_set(ei, ERR_INVALID, "the gateway takes at most %d matches in all",
                       ROUTE_MAX_ENTRIES);
    for (size_t i = 0; i < count; i++) {
        const char *host = json_len(hosts) ? json_object_get_string(json_elem(hosts, i)) : NULL;
        struct route_entry *added = &r->table->entries[r->table->count++];
        *added = *entry;
        if (!host || strcmp(host, "*") == 0)
            continue;
        if (!routefilter_name_ok(strncmp(host, "*.", 2) == 0 ? host + 2 : host))
            return bad(ei, "spec.hostnames", "expected host names");
        char *lower = arena_strdup(r->arena, host);
        for (char *p = lower; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        added->host = lower;
    }
    return ERR_OK;
}

static enum err read_matches(struct reading *r, struct json_object *rule, struct errinfo *ei)
{
    struct json_object *matches = json_at(rule, "matches", NULL);
    size_t count = json_len(matches) ? json_len(matches) : 1;
    for (size_t i = 0; i < count; i++) {
        struct route_entry entry;
        const char *path = arena_printf(r->arena, "%s.matches[%zu]", r->path, i);
        enum err err = read_match(r, json_elem(matches, i), path, &entry, ei);
        if (err == ERR_OK)
            err = add_entries(r, &entry, ei);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

static enum err read_rule(struct reading *r, struct json_object *rule, size_t index,
                          struct errinfo *ei)
{
    struct json_object *filters = json_at(rule, "filters", NULL);

    r->path = arena_printf(r->arena, "spec.rules[%zu]", index);
    r->rule = ARENA_NEW(r->arena, struct route_rule);
    r->rule->id =
        arena_printf(r->arena, "%s.%s.%zu", meta_ns(r->route), meta_name(r->route), index);
    r->rule->mirrors = arena_array(r->arena, json_len(filters) + 1, sizeof(struct route_mirror));
    const struct routefilter_in in = {.filters = filters,
                                      .path = arena_printf(r->arena, "%s.filters", r->path),
                                      .add_mirror = add_mirror,
                                      .arg = r};
    enum err err = routefilter_read(r->arena, &in, &r->rule->filters, ei);
    if (err == ERR_OK)
        err = read_backends(r, rule, ei);
    if (err == ERR_OK)
        err = read_timeouts(r, rule, ei);
    if (err == ERR_OK)
        err = read_matches(r, rule, ei);
    if (err == ERR_OK)
        r->table->rules[r->table->rule_count++] = r->rule;
    return err;
}

enum err route_read(struct arena *arena, struct json_object *route, route_resolve_fn resolve,
                    void *arg, struct route_table *out, struct route_result *result,
                    struct errinfo *ei)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    struct reading r = {.arena = arena,
                        .route = route,
                        .resolve = resolve,
                        .resolve_arg = arg,
                        .table = out,
                        .result = result};
    for (size_t i = 0; i < json_len(rules); i++) {
        enum err err = read_rule(&r, json_elem(rules, i), i, ei);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
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
        order = higher(a->header_count, b->header_count);
    if (order == 0)
        order = higher(a->query_count, b->query_count);
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

static size_t count_rules(struct json_object **routes, size_t count)
{
    size_t rules = 0;
    for (size_t i = 0; i < count; i++)
        rules += json_len(json_at(routes[i], "spec", "rules", NULL));
    return rules;
}

void route_table_make(struct arena *arena, struct json_object **routes, size_t count,
                      route_resolve_fn resolve, void *arg, struct route_table *out)
{
    struct json_object **sorted = arena_array(arena, count + 1, sizeof(struct json_object *));
    for (size_t i = 0; i < count; i++)
        sorted[i] = routes[i];
    qsort(sorted, count, sizeof(struct json_object *), by_age);
    *out = (struct route_table){
        .entries = arena_array(arena, ROUTE_MAX_ENTRIES, sizeof(struct route_entry)),
        .rules = arena_array(arena, count_rules(routes, count) + 1, sizeof(struct route_rule *)),
        .results = arena_array(arena, count + 1, sizeof(struct route_result))};

    for (size_t i = 0; i < count; i++) {
        struct route_result *result = &out->results[out->result_count++];
        size_t entries = out->count, rules = out->rule_count;
        struct errinfo ei;
        *result = (struct route_result){
            .ns = meta_ns(sorted[i]),
            .name = meta_name(sorted[i]),
            .generation = json_int_at(sorted[i], 1, "metadata", "generation", NULL),
            .parents = json_at(sorted[i], "spec", "parentRefs", NULL)};
        if (route_read(arena, sorted[i], resolve, arg, out, result, &ei) != ERR_OK) {
            result->refused = arena_strdup(arena, ei.text); /* nothing of it is served */
            out->count = entries;
            out->rule_count = rules;
        }
        for (size_t k = entries; k < out->count; k++)
            out->entries[k].order = i;
    }
    qsort(out->entries, out->count, sizeof(*out->entries), precedence);
}
