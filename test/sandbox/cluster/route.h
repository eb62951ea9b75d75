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

struct route_field { /* of a header or query parameter match */
    enum route_test test;
    const char *name, *value;
};

enum route_edit_op { ROUTE_SET, ROUTE_ADD, ROUTE_REMOVE };
struct route_edit {
    enum route_edit_op op;
    const char *name, *value;
};

struct route_filters {
    struct route_edit *request, *response;
    size_t request_count, response_count;
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
    const char *host; /* NULL: any; "*.example.com": its subdomains; lower case */
    enum route_test path_test;
    const char *path;
    const char *method; /* NULL: any */
    struct route_field *headers, *queries;
    size_t header_count, query_count;
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

/* Reads the rules of one route; ERR_INVALID says which field the gateway cannot take. */
enum err route_read(struct arena *arena, struct json_object *route, route_resolve_fn resolve,
                    void *arg, struct route_table *out, struct route_result *result,
                    struct errinfo *ei) MUST_USE;

#endif
