#include "metric/family.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"

enum { QUERY_MAX = 64 * 1024 };

#define NAME "[0-9a-zA-Z-]+"

static const struct metric_family table[] = {
    {
        .name = "http", /* reported by the pods, in seconds */
        .requests = "http_request_duration_seconds_count",
        .good = "status!~\"5.*\"",
        .times = "http_request_duration_seconds_bucket",
        .duration_to_ms = 1000,
        .namespace_label = "kubernetes_namespace",
        .label = "kubernetes_pod_name",
        .key = "{{ target }}",
        .pods = true,
        .bare_rate_errors = true,
        .primary_key = "{{ target }}-primary",
    },
    {
        .name = "grpc", /* calls handled by the pods; failed if the code blames the server */
        .requests = "grpc_server_handled_total",
        .good =
            "grpc_code!~\"Unknown|DeadlineExceeded|Unimplemented|Internal|Unavailable|DataLoss\"",
        .times = "grpc_server_handling_seconds_bucket",
        .duration_to_ms = 1000,
        .namespace_label = "kubernetes_namespace",
        .label = "kubernetes_pod_name",
        .key = "{{ target }}",
        .pods = true,
        .primary_key = "{{ target }}-primary",
    },
    {
        .name = "appmesh", /* Envoy, by pod name */
        .requests = "envoy_cluster_upstream_rq",
        .good = "envoy_response_code!~\"5.*\"",
        .times = "envoy_cluster_upstream_rq_time_bucket",
        .duration_to_ms = 1,
        .namespace_label = "kubernetes_namespace",
        .label = "kubernetes_pod_name",
        .key = "{{ target }}",
        .pods = true,
        .primary_key = "{{ target }}-primary",
    },
    {
        .name = "istio", /* telemetry reported at the destination */
        .requests = "istio_requests_total",
        .requests_are = "reporter=\"destination\"",
        .good = "response_code!~\"5.*\"",
        .times = "istio_request_duration_milliseconds_bucket",
        .times_are = "reporter=\"destination\"",
        .duration_to_ms = 1,
        .namespace_label = "destination_workload_namespace",
        .label = "destination_workload",
        .key = "{{ target }}",
        .primary_key = "{{ target }}-primary",
    },
    {
        .name = "linkerd", /* its proxies, inbound */
        .requests = "response_total",
        .requests_are = "direction=\"inbound\"",
        .good = "classification!=\"failure\"",
        .times = "response_latency_ms_bucket",
        .times_are = "direction=\"inbound\"",
        .duration_to_ms = 1,
        .namespace_label = "namespace",
        .label = "deployment",
        .key = "{{ target }}",
        .primary_key = "{{ target }}-primary",
    },
    {
        .name = "osm", /* Open Service Mesh */
        .requests = "osm_request_total",
        .requests_are = "destination_kind=\"Deployment\"",
        .good = "response_code!~\"5.*\"",
        .times = "osm_request_duration_ms_bucket",
        .times_are = "destination_kind=\"Deployment\"",
        .duration_to_ms = 1,
        .namespace_label = "destination_namespace",
        .label = "destination_name",
        .key = "{{ target }}",
        .equals = true,
        .primary_key = "{{ target }}-primary",
    },
    {
        .name = "contour", /* Envoy, by canary cluster; the same for the next ones */
        .requests = "envoy_cluster_upstream_rq",
        .good = "envoy_response_code!~\"5.*\"",
        .times = "envoy_cluster_upstream_rq_time_bucket",
        .duration_to_ms = 1,
        .label = "envoy_cluster_name",
        .key = "{{ namespace }}_{{ service }}",
        .after = "-canary_" NAME,
        .primary_key = "{{ namespace }}_{{ service }}",
        .primary_after = "-primary_" NAME,
    },
    {
        .name = "crossover",
        .requests = "envoy_cluster_upstream_rq",
        .good = "envoy_response_code!~\"5.*\"",
        .times = "envoy_cluster_upstream_rq_time_bucket",
        .duration_to_ms = 1,
        .namespace_label = "kubernetes_namespace",
        .label = "envoy_cluster_name",
        .key = "{{ target }}-canary",
        .equals = true,
        .primary_key = "{{ target }}-primary",
    },
    {
        .name = "gloo",
        .requests = "envoy_cluster_upstream_rq",
        .good = "envoy_response_code!~\"5.*\"",
        .times = "envoy_cluster_upstream_rq_time_bucket",
        .duration_to_ms = 1,
        .label = "envoy_cluster_name",
        .key = "{{ namespace }}-{{ target }}",
        /* A name of two words can be split into namespace and workload in two ways. The last word
         * is the namespace of the Upstream, which resolves that. */
        .alone = true,
        .after = "-canaryupstream-" NAME "_{{ namespace }}",
        .primary_key = "{{ namespace }}-{{ target }}",
        .primary_after = "-primaryupstream-" NAME "_{{ namespace }}",
    },
    {
        .name = "kuma",
        .requests = "envoy_cluster_upstream_rq",
        .good = "envoy_response_code!~\"5.*\"",
        .times = "envoy_cluster_upstream_rq_time_bucket",
        .duration_to_ms = 1,
        .label = "service",
        .key = "{{ target }}-canary_{{ namespace }}_svc",
        .after = "_" NAME,
        .primary_key = "{{ target }}-primary_{{ namespace }}_svc",
        .primary_after = "_" NAME,
    },
    {
        .name = "knative", /* by revision */
        .requests = "envoy_cluster_upstream_rq",
        .good = "envoy_response_code!~\"5.*\"",
        .times = "envoy_cluster_upstream_rq_time_bucket",
        .duration_to_ms = 1,
        .label = "envoy_cluster_name",
        .key = "{{ namespace }}/{{ route }}",
        .incomparable = "its series name the latest revision, and not the one that the primary has",
    },
    {
        .name = "nginx", /* the ingress controller, canary ingress only; the mean */
        .requests = "nginx_ingress_controller_requests",
        .requests_are = "canary!=\"\"",
        .good = "status!~\"5.*\"",
        .sum = "nginx_ingress_controller_response_duration_seconds_sum",
        .count = "nginx_ingress_controller_response_duration_seconds_count",
        .times_are = "canary!=\"\"",
        .in_ms = true,
        .duration_to_ms = 1,
        .namespace_label = "namespace",
        .label = "ingress",
        .key = "{{ ingress }}",
        .equals = true,
        .primary_key = "{{ ingress }}",
        .primary_are = "canary=\"\"",
    },
    {
        .name = "skipper", /* routes, with only word characters in their names; the mean */
        .requests = "skipper_response_duration_seconds_bucket",
        .requests_are = "le=\"+Inf\"",
        .good = "code!~\"5..\"",
        .sum = "skipper_serve_route_duration_seconds_sum",
        .count = "skipper_serve_route_duration_seconds_count",
        .in_ms = true,
        .duration_to_ms = 1,
        .label = "route",
        .key = "kube(ew)?_{{ namespace }}__{{ ingress }}_canary__.*__{{ service }}_canary",
        .after = "(_[0-9]+)?",
        .alone = true,
        .plain_words = true,
        .incomparable = "the routes of its primary have no name of their own",
    },
    {
        .name = "traefik", /* services of its CRDs */
        .requests = "traefik_service_request_duration_seconds_bucket",
        .requests_are = "le=\"+Inf\"",
        .good = "code!~\"5..\"",
        .times = "traefik_service_request_duration_seconds_bucket",
        .in_ms = true,
        .duration_to_ms = 1,
        .label = "service",
        .key = "{{ namespace }}-{{ target }}",
        .after = "-canary-" NAME "@kubernetescrd",
        .primary_key = "{{ namespace }}-{{ target }}",
        .primary_after = "-primary-" NAME "@kubernetescrd",
    },
    {
        .name = "apisix", /* routes */
        .requests = "apisix_http_status",
        .good = "code!~\"5..\"",
        .times = "apisix_http_latency_bucket",
        .times_are = "type=~\"request\"",
        .duration_to_ms = 1,
        .label = "route",
        .key = "{{ namespace }}_{{ route }}-{{ target }}",
        .after = "-canary_.+",
        .incomparable = "its series name the route, and not which side has answered",
    },
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

const struct metric_family *metric_family_find(const char *name)
{
    for (size_t i = 0; name && i < ROWS; i++) {
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    }
    return NULL;
}

const struct metric_family *metric_family_next(const struct metric_family *family)
{
    const struct metric_family *next = family ? family + 1 : table;

    return next < table + ROWS ? next : NULL;
}

/* --- queries */

/* The parts of a query about one workload or many. */
struct shape {
    struct arena *arena;
    const struct metric_family *family;
    const char *whose;    /* label matchers for the workload */
    const char *interval; /* "{{ interval }}" */
    const char *by;       /* labels that the result keeps; NULL if none */
    const char *renamed;  /* end of the label_replace() around each rate; NULL if none */
};

static const char *rate_of(const struct shape *shape, const char *metric, const char *are,
                           const char *good)
{
    const char *rate = arena_printf(shape->arena, "rate( %s{ %s%s%s%s%s }[%s] )", metric,
                                    shape->whose, are ? ", " : "", are ? are : "", good ? ", " : "",
                                    good ? good : "", shape->interval);

    return shape->renamed
               ? arena_printf(shape->arena, "label_replace( %s%s )", rate, shape->renamed)
               : rate;
}

/* le: keeps the buckets separate. */
static const char *sum_of(const struct shape *shape, const char *rate, bool le)
{
    const char *labels = shape->by ? shape->by : "";

    if (!le && !shape->by)
        return arena_printf(shape->arena, "sum( %s )", rate);
    return arena_printf(shape->arena, "sum( %s ) by (%s%s%s)", rate, labels,
                        le && shape->by ? ", " : "", le ? "le" : "");
}

static const char *ratio_of(struct arena *arena, const char *good, const char *all)
{
    return arena_printf(arena, "%s / %s * 100", good, all);
}

static const char *query_of(const struct shape *shape, enum metric_kind kind)
{
    const struct metric_family *family = shape->family;
    struct arena *arena = shape->arena;

    if (kind == METRIC_SUCCESS_RATE)
        return ratio_of(
            arena,
            sum_of(shape, rate_of(shape, family->requests, family->requests_are, family->good),
                   false),
            sum_of(shape, rate_of(shape, family->requests, family->requests_are, NULL), false));
    const char *unit = family->in_ms ? " * 1000" : "";
    if (family->times)
        return arena_printf(
            arena, "histogram_quantile( 0.99, %s )%s",
            sum_of(shape, rate_of(shape, family->times, family->times_are, NULL), true), unit);
    return arena_printf(
        arena, "%s / %s%s",
        sum_of(shape, rate_of(shape, family->sum, family->times_are, NULL), false),
        sum_of(shape, rate_of(shape, family->count, family->times_are, NULL), false), unit);
}

static struct shape shape_of(struct arena *arena, const struct metric_family *family)
{
    const char *namespace_ =
        family->namespace_label
            ? arena_printf(arena, "%s=\"{{ namespace }}\", ", family->namespace_label)
            : "";
    const char *value =
        family->pods ? "{{ pods }}"
                     : arena_printf(arena, "%s%s", family->key, family->after ? family->after : "");

    return (struct shape){
        .arena = arena,
        .family = family,
        .whose = arena_printf(arena, "%s%s%s\"%s\"", namespace_, family->label,
                              family->equals ? "=" : "=~", value),
        .interval = "{{ interval }}",
    };
}

const char *metric_family_query(struct arena *arena, const struct metric_family *family,
                                enum metric_kind kind)
{
    const struct shape shape = shape_of(arena, family);

    return query_of(&shape, kind);
}

/* --- native histograms: one series instead of those by `le`, and of the same labels */

static const char bucket_suffix[] = "_bucket", count_suffix[] = "_count", inf[] = "le=\"+Inf\"";

/* The length of the name of the histogram that this is a series of; 0 if it is none. */
static size_t histogram_len(const char *metric)
{
    static const char *const suffixes[] = {bucket_suffix, count_suffix};
    size_t len = metric ? strlen(metric) : 0;

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t end = strlen(suffixes[i]);
        if (len > end && strcmp(metric + len - end, suffixes[i]) == 0)
            return len - end;
    }
    return 0;
}

static const char *histogram_of(struct arena *arena, const char *metric)
{
    return arena_strndup(arena, metric, histogram_len(metric));
}

/* Label matchers but the one for a bucket. */
static const char *labels_of(const char *are)
{
    return are && strcmp(are, inf) != 0 ? are : NULL;
}

static const char *counted(const struct metric_family *family, enum metric_kind kind)
{
    return kind == METRIC_DURATION ? family->times : family->requests;
}

bool metric_family_has_native(const struct metric_family *family, enum metric_kind kind)
{
    return histogram_len(counted(family, kind)) > 0;
}

const char *metric_family_native_query(struct arena *arena, const struct metric_family *family,
                                       enum metric_kind kind)
{
    const struct shape shape = shape_of(arena, family);

    if (!metric_family_has_native(family, kind))
        return NULL;
    const char *metric = histogram_of(arena, counted(family, kind));
    if (kind == METRIC_DURATION)
        return arena_printf(arena, "histogram_quantile( 0.99, %s )%s",
                            sum_of(&shape, rate_of(&shape, metric, family->times_are, NULL), false),
                            family->in_ms ? " * 1000" : "");
    const char *are = labels_of(family->requests_are);
    const char *good = sum_of(&shape, rate_of(&shape, metric, are, family->good), false);
    const char *all = sum_of(&shape, rate_of(&shape, metric, are, NULL), false);
    return ratio_of(arena, arena_printf(arena, "histogram_count( %s )", good),
                    arena_printf(arena, "histogram_count( %s )", all));
}

/* --- counts */

const char *metric_family_incomparable(struct arena *arena, const struct metric_family *family,
                                       enum metric_kind kind)
{
    if (family->incomparable)
        return arena_printf(arena, "the metrics of %s tell not canary from primary: %s",
                            family->name, family->incomparable);
    if (kind == METRIC_DURATION && !family->times)
        return arena_printf(arena,
                            "the metrics of %s have no buckets of durations, and a mean does not "
                            "say how many requests were slow",
                            family->name);
    return NULL;
}

double metric_family_bucket(const struct metric_family *family, double ms)
{
    return family->in_ms ? ms / 1000 : ms / family->duration_to_ms;
}

/* The value of a side's matcher, as in the query for one workload. */
static const char *side_value(struct arena *arena, const struct metric_family *family, bool primary)
{
    const char *key = primary ? family->primary_key : family->key, *after = family->after;

    if (family->pods)
        return "{{ pods }}";
    if (primary && family->primary_after)
        after = family->primary_after;
    return arena_printf(arena, "%s%s", key, after ? after : "");
}

/*
 * Increase of the counters from raw values, so that adjacent windows count each request once. A
 * counter that fell was reset, and a new series belongs to a new pod. Stale series keep their last
 * value for a while, so that a failed scrape does not look like a new pod; older values of a pod
 * are remembered for an hour, for pods that were not scraped for longer.
 */
static const char *growth(struct arena *arena, const char *series, bool by_bucket)
{
    return arena_printf(arena,
                        "sum( ( last_over_time( %s[5m] ) - last_over_time( %s[1h] offset "
                        "{{ interval }} ) ) >= 0 or last_over_time( %s[5m] ) )%s",
                        series, series, series, by_bucket ? " by (le)" : "");
}

/*
 * The same of native histograms, whose raw values Prometheus subtracts in new versions only, but not
 * their increase. That of one value for each second, the first of which is there a millisecond after
 * the window begins, is the difference of the first and the last value, with resets. A pod that was
 * not there for an hour counts from zero.
 */
static const char *native_growth(struct arena *arena, const char *series)
{
    return arena_printf(arena,
                        "sum( increase( %s[{{ interval }}1ms:1s] ) and count_over_time( %s[1h] "
                        "offset {{ interval }} ) or %s )",
                        series, series, series);
}

/* The series of one side. */
static const char *series_of(struct arena *arena, const struct metric_family *family,
                             const struct metric_count *count, const char *metric, const char *are,
                             const char *only)
{
    const char *namespace_ =
        family->namespace_label
            ? arena_printf(arena, "%s=\"{{ namespace }}\", ", family->namespace_label)
            : "";

    return arena_printf(arena, "%s{ %s%s%s\"%s\"%s%s%s%s }", metric, namespace_, family->label,
                        family->equals ? "=" : "=~", side_value(arena, family, count->primary),
                        are ? ", " : "", are ? are : "", *only ? ", " : "", only);
}

const char *metric_family_count_query(struct arena *arena, const struct metric_family *family,
                                      const struct metric_count *count)
{
    bool slow = count->kind == METRIC_DURATION;
    const char *metric = counted(family, count->kind);
    const char *are = slow ? family->times_are : family->requests_are;
    const char *only = !slow && count->good ? family->good : "";

    if (count->primary && !slow && family->primary_are)
        are = family->primary_are;
    if (count->native)
        return native_growth(arena, series_of(arena, family, count, histogram_of(arena, metric),
                                              labels_of(are), only));
    if (slow && !count->good)
        only = inf;
    return growth(arena, series_of(arena, family, count, metric, are, only), slow && count->good);
}

/* --- many workloads */

const char *metric_family_key_label(const struct metric_family *family)
{
    return family->after || family->pods ? METRIC_KEY_LABEL : family->label;
}

/* "a|b": the distinct keys, or the distinct namespaces. */
static const char *alternatives(struct arena *arena, const struct metric_member *members, size_t n,
                                bool keys)
{
    struct buf buf;

    buf_init(&buf, QUERY_MAX);
    for (size_t i = 0; i < n; i++) {
        const char *text = keys ? members[i].key : members[i].namespace_;
        bool known = false;
        for (size_t k = 0; k < i && !known; k++)
            known = strcmp(text, keys ? members[k].key : members[k].namespace_) == 0;
        if (!known)
            buf_printf(&buf, "%s%s", buf.len > 0 ? "|" : "", text);
    }
    const char *all = arena_strdup(arena, buf.data);
    buf_fini(&buf);
    return all;
}

const char *metric_family_group_query(struct arena *arena, const struct metric_family *family,
                                      enum metric_kind kind, const char *after,
                                      const char *interval, const struct metric_member *members,
                                      size_t n)
{
    const char *keys = alternatives(arena, members, n, true), *namespaces = "", *by;
    const char *value = arena_printf(arena, "(%s)%s", keys, after);
    const char *label = metric_family_key_label(family);
    struct shape shape = {.arena = arena, .family = family, .interval = interval};

    by = label;
    if (family->namespace_label) {
        namespaces = arena_printf(arena, "%s=~\"%s\", ", family->namespace_label,
                                  alternatives(arena, members, n, false));
        by = arena_printf(arena, "%s, %s", family->namespace_label, label);
    }
    shape.by = by;
    shape.whose = arena_printf(arena, "%s%s=~\"%s\"", namespaces, family->label, value);
    if (label != family->label)
        shape.renamed =
            arena_printf(arena, ", \"%s\", \"$1\", \"%s\", \"%s\"", label, family->label, value);
    return query_of(&shape, kind);
}

bool metric_member_is_plain(const struct metric_member *member)
{
    for (const char *at = member->key; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("-_/", *at))
            return false;
    }
    return member->key[0] != '\0';
}

static bool begins_with(const char *text, const char *start)
{
    size_t len = strlen(start);

    return strncmp(text, start, len) == 0 && strchr("-_", text[len]) != NULL && text[len] != '\0';
}

bool metric_members_clash(const struct metric_member *one, const struct metric_member *other)
{
    return begins_with(one->key, other->key) || begins_with(other->key, one->key);
}
