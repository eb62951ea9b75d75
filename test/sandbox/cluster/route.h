/*
 * HTTPRoutes of the Gateway API as the gateway works with them: checked, flat, and in order of
 * precedence. Pure.
 *
 * Precedence is the API's: exact host before wildcard before none; exact path, then regular
 * expression, then the longer prefix; a method; more headers; more query parameters; the older
 * route; by name; by position.
 */
#ifndef CLUSTER_ROUTE_H
#define CLUSTER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

enum { ROUTE_MAX_ENTRIES = 2000, ROUTE_MAX_TEXT = 1024 };

enum route_test { ROUTE_EXACT, ROUTE_REGEX, ROUTE_PREFIX };

struct route_fields { /* of header or query parameter matches */
    struct route_field {
        enum route_test test;
        const char *name, *value;
    } * list;
    size_t count;
};

enum route_edit_op { ROUTE_SET, ROUTE_ADD, ROUTE_REMOVE };
struct route_edits {
    struct route_edit {
        enum route_edit_op op;
        const char *name, *value;
    } * list;
    size_t count;
};

struct route_filters {
    struct route_edits request, response;
    const char *host;        /* URLRewrite, NULL: as it is */
    const char *full_path;   /* replaces the path */
    const char *prefix_path; /* replaces the matched prefix */
};

struct route_backend {
    const char *ns, *service;
    int port;
    int weight;                   /* as written */
    const char *address;          /* "127.96.0.3:80"; NULL: there is no such Service */
    struct route_filters filters; /* of the response alone */
};

struct route_mirror {
    struct route_backend backend;
    double percent;
};

struct route_rule {
    const char *id; /* "NS.NAME.INDEX" */
    struct route_filters filters;
    struct route_backend *backends;
    struct route_mirror *mirrors;
    size_t backend_count, mirror_count;
    int64_t timeout_ms; /* 0: none given */
};

/* One match of one rule for one host. */
struct route_entry {
    const struct route_rule *rule;
    const char *host; /* NULL for any; "*.example.com": its subdomains; lower case */
    enum route_test path_test;
    const char *path;
    const char *method; /* NULL for any */
    struct route_fields headers, queries;
    size_t order;    /* position among the routes, oldest first */
    size_t position; /* within its route */
};

/* What became of one HTTPRoute. */
struct route_result {
    const char *ns, *name;
    int64_t generation;
    struct json_object *parents; /* spec.parentRefs */
    const char *refused;         /* why it is not accepted, NULL: it is */
    const char *unresolved;      /* a backend that does not exist, NULL: all do */
};

struct route_table {
    struct route_entry *entries;
    size_t count;
    struct route_rule **rules;
    size_t rule_count;
    struct route_result *results; /* one for each route */
    size_t result_count;
};

/* The address of a Service in the form of struct route_backend, NULL if there is none. */
typedef const char *(*route_resolve_fn)(void *arg, struct arena *arena, const char *ns,
                                        const char *name);

/* All routes (any order), put together; everything lives in the arena. */
void route_table_make(struct arena *arena, struct json_object **routes, size_t count,
                      route_resolve_fn resolve, void *arg, struct route_table *out);

/* Names that can stand in the proxy's configuration as they are. */
bool route_name_ok(const char *name);
/* No control characters, and not too long; NULL is not ok. */
bool route_text_ok(const char *text);

/* status for a route; before: the present status, whose transition times are kept. Owned by the
 * arena. */
struct json_object *routestatus_route(struct arena *arena, const struct route_result *result,
                                      struct json_object *before, const char *now);
/* status of a Gateway object that leads to address. */
struct json_object *routestatus_gateway(struct arena *arena, struct json_object *gateway,
                                        const char *address, const char *now);

#endif
