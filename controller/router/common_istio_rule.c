#include <string.h>
#include <strings.h>

#include "router/common_cookie.h"
#include "router/common_istio.h"
#include "tick/edit.h"

static const struct split_format http_format = {
    .rules = {"spec", "http"}, .backends = {"route"}, .name = {"destination", "host"}};
static const struct split_format tcp_format = {
    .rules = {"spec", "tcp"}, .backends = {"route"}, .name = {"destination", "host"}};

bool istio_is_tcp(const struct canary *canary)
{
    return canary->service.app_protocol && strcasecmp(canary->service.app_protocol, "tcp") == 0;
}

const struct split_format *istio_format(const struct canary *canary)
{
    return istio_is_tcp(canary) ? &tcp_format : &http_format;
}

/* --- what a live rule says */

static const char *read_cookie(struct arena *arena, struct json_object *from, bool taken_back)
{
    const char *value = json_str_at(from, "headers", "response", "add", "Set-Cookie", NULL);

    return cookie_read(arena, value, taken_back);
}

void istio_read(struct arena *arena, const struct canary *canary, const struct split *split,
                struct weights *out)
{
    const char *mirror = json_str_at(split->split, "mirror", "host", NULL);

    out->mirrored = mirror && strcmp(mirror, canary->service.canary_name) == 0;
    out->cookies = (struct cookies){.canary = read_cookie(arena, split->canary, false),
                                    .primary = read_cookie(arena, split->primary, false),
                                    .previous = read_cookie(arena, split->sticky[0], true)};
}

/* --- destinations */

/* Several ports of a Service have the same name for the mesh, not so for a gateway. */
static bool needs_port(const struct canary *canary)
{
    struct json_object *gateways = json_at(canary->service.json, "gateways", NULL);
    struct json_object *first = json_elem(gateways, 0);

    if (!canary->service.port_discovery)
        return false;
    return json_bool_at(canary->service.json, false, "delegation", NULL) ||
           (json_object_is_type(first, json_type_string) &&
            strcmp(json_object_get_string(first), "mesh") != 0);
}

/* cookie NULL: its answers carry none. `live`: the rule that it is part of, may be NULL. */
static struct json_object *destination(struct tick *tick, const char *host, int weight,
                                       const char *cookie, struct json_object *live)
{
    struct json_object *out = edit_object(tick->arena);
    struct json_object *to = json_sub(out, "destination");

    json_set_str(to, "host", host);
    json_set(to, "subset", NULL);
    json_set(to, "port", NULL);
    if (needs_port(tick->canary))
        json_set_int(json_sub(to, "port"), "number", tick->canary->service.port);
    json_set_int(out, "weight", weight);
    json_set(out, "headers", NULL);
    if (cookie)
        json_set_str(json_sub(json_sub(json_sub(out, "headers"), "response"), "add"), "Set-Cookie",
                     cookie);
    edit_pair(out, split_backend(&http_format, live, host));
    return out;
}

static struct json_object *destinations(struct tick *tick, const struct route_rule *rule)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_array(tick->arena);

    edit_add(out, destination(tick, service->primary_name, rule->primary,
                              rule->takes_back ? NULL : rule->primary_cookie, rule->live));
    if (rule->canary >= 0)
        edit_add(out, destination(tick, service->canary_name, rule->canary, rule->canary_cookie,
                                  rule->live));
    return out;
}

/* --- what a rule does to a request and its answer */

/* `given` with a null for each of the keys that it does not have: they are ours also when the spec
 * says nothing of them. What others have added beside them stays. NULL: the whole goes. */
static struct json_object *all_keys(struct arena *arena, struct json_object *given,
                                    const char *const keys[])
{
    if (json_count(given) == 0)
        return NULL;
    struct json_object *out = edit_object(arena);
    for (; *keys; keys++)
        json_set(out, *keys, json_copy(arena, json_at(given, *keys, NULL)));
    return out;
}

/* Empty texts are none. */
static struct json_object *rewrite(struct arena *arena, struct json_object *service)
{
    static const char *const keys[] = {"uri", "authority", NULL};
    struct json_object *given = json_at(service, "rewrite", NULL);
    struct json_object *out = edit_object(arena);

    for (const char *const *key = keys; *key; key++) {
        const char *text = json_str_at(given, *key, NULL);
        if (text && *text)
            json_set_str(out, *key, text);
    }
    return all_keys(arena, out, keys);
}

static struct json_object *cors_policy(struct arena *arena, struct json_object *service)
{
    static const char *const keys[] = {
        "allowOrigin",   "allowOrigins", "allowMethods",     "allowHeaders",
        "exposeHeaders", "maxAge",       "allowCredentials", NULL};
    struct json_object *out = all_keys(arena, json_at(service, "corsPolicy", NULL), keys);
    struct json_object *origins = json_at(out, "allowOrigins", NULL);

    for (size_t i = 0; i < json_len(origins); i++)
        edit_pair(json_elem(origins, i), NULL);
    return out;
}

static struct json_object *headers(struct tick *tick, const struct route_rule *rule)
{
    struct json_object *given = json_at(tick->canary->service.json, "headers", NULL);
    bool any = json_object_is_type(given, json_type_object);
    struct json_object *out = any ? json_copy(tick->arena, given) : edit_object(tick->arena);

    if (rule->takes_back)
        json_set_str(json_sub(json_sub(out, "response"), "add"), "Set-Cookie",
                     rule->primary_cookie);
    if (json_count(out) == 0)
        return NULL;
    return route_whole(tick->arena, out, json_at(rule->live, "headers", NULL));
}

static void add_mirror(struct tick *tick, struct json_object *http)
{
    struct json_object *mirror = json_sub(http, "mirror");
    int percent = tick->canary->analysis.mirror_weight;

    json_set_str(mirror, "host", tick->canary->service.canary_name);
    json_set(mirror, "subset", NULL);
    json_set(mirror, "port", NULL);
    if (percent > 0)
        json_set_int(json_sub(http, "mirrorPercentage"), "value", percent);
}

/* One that was there may copy to others, which is none of ours. */
static void set_mirror(struct tick *tick, const struct route_rule *rule, struct json_object *http)
{
    const char *live = json_str_at(rule->live, "mirror", "host", NULL);

    if (live && strcmp(live, tick->canary->service.canary_name) != 0 && !rule->mirrored)
        return;
    json_set(http, "mirror", NULL);
    json_set(http, "mirrorPercentage", NULL);
    if (rule->mirrored)
        add_mirror(tick, http);
}

/* What every rule of HTTP has, whoever it leads to. */
static struct json_object *http_rule(struct tick *tick, const struct route_rule *rule,
                                     struct json_object *matches, struct json_object *to)
{
    static const char *const retry_keys[] = {"attempts", "perTryTimeout", "retryOn", NULL};
    /* of which none can stand beside a route */
    static const char *const others[] = {"redirect", "delegate", "directResponse"};
    struct json_object *service = tick->canary->service.json;
    struct json_object *out = edit_object(tick->arena);
    const char *timeout = json_str_at(service, "timeout", NULL);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        json_set(out, others[i], NULL);
    json_set(out, "match", matches);
    json_set(out, "rewrite", rewrite(tick->arena, service));
    json_set(out, "timeout", NULL);
    if (timeout && *timeout)
        json_set_str(out, "timeout", timeout);
    json_set(out, "retries", all_keys(tick->arena, json_at(service, "retries", NULL), retry_keys));
    json_set(out, "corsPolicy", cors_policy(tick->arena, service));
    json_set(out, "headers", headers(tick, rule));
    set_mirror(tick, rule, out);
    json_set(out, "route", to);
    return out;
}

static struct json_object *rule_matches(struct tick *tick, const struct route_rule *rule)
{
    if (rule->cookie)
        return istio_cookie_matches(tick->arena, tick->canary, rule->cookie);
    return rule->matched ? istio_test_matches(tick->arena, tick->canary)
                         : istio_matches(tick->arena, tick->canary);
}

static struct json_object *http_rules(struct tick *tick, const struct weights *weights,
                                      const struct split *split)
{
    struct route_rule rules[ROUTE_MAX_RULES];
    int count = route_rules(tick, weights, split, rules);
    struct json_object *out = edit_array(tick->arena);

    for (int i = 0; i < count; i++) {
        struct json_object *http = http_rule(tick, &rules[i], rule_matches(tick, &rules[i]),
                                             destinations(tick, &rules[i]));
        edit_pair(http, rules[i].live);
        edit_add(out, http);
    }
    return out;
}

/* --- TCP */

static struct json_object *tcp_rules(struct tick *tick, struct json_object *to)
{
    struct json_object *given = json_at(tick->canary->service.json, "match", NULL);
    struct json_object *matches = edit_array(tick->arena);
    struct json_object *rule = edit_object(tick->arena);
    struct json_object *out = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(given); i++) {
        struct json_object *match = edit_object(tick->arena);
        int64_t port = json_int_at(json_elem(given, i), 0, "port", NULL);
        if (port > 0)
            json_set_int(match, "port", port);
        edit_pair(match, NULL);
        edit_add(matches, match);
    }
    json_set(rule, "match", json_len(matches) > 0 ? matches : NULL);
    json_set(rule, "route", to);
    edit_add(out, rule);
    return out;
}

/* Of the protocol that the spec had before: rules of others stay, ours go. */
static void remove_rules(struct tick *tick, const struct split_format *format, const char *key,
                         struct json_object *live, struct json_object *spec)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *rules = json_at(live, "spec", key, NULL);
    struct json_object *left = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        if (split_backend(format, rule, service->primary_name) ||
            split_backend(format, rule, service->canary_name))
            continue;
        struct json_object *same = edit_object(tick->arena);
        edit_pair(same, rule);
        edit_add(left, same);
    }
    if (json_len(left) < json_len(rules))
        json_set(spec, key, json_len(left) > 0 ? left : NULL);
}

void istio_wanted_rules(struct tick *tick, const struct weights *weights, const struct split *split,
                        struct json_object *live, struct json_object *spec)
{
    const struct route_rule whole = {.primary = weights ? weights->primary : 100,
                                     .canary = weights ? weights->canary : -1,
                                     .live = split->split};
    struct json_object *apex = edit_array(tick->arena);
    struct json_object *http = edit_array(tick->arena);

    if (!weights)
        edit_add(apex, destination(tick, tick->canary->service.name, 100, NULL, NULL));
    if (istio_is_tcp(tick->canary)) {
        remove_rules(tick, &http_format, "http", live, spec);
        json_set(spec, "tcp", tcp_rules(tick, weights ? destinations(tick, &whole) : apex));
        return;
    }
    remove_rules(tick, &tcp_format, "tcp", live, spec);
    if (!weights)
        edit_add(http, http_rule(tick, &whole, istio_matches(tick->arena, tick->canary), apex));
    json_set(spec, "http", weights ? http_rules(tick, weights, split) : http);
}
