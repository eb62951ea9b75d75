/* The controllers together, on a real API with simulated pods, and the pure functions of the
 * cluster, by the rows of cases.yaml. */
#include "api/tryapi.h"
#include "cluster/cluster.h"
#include "cluster/context.h"
#include "cluster/crds.h"
#include "cluster/haproxy.h"
#include "cluster/podspec.h"
#include "cluster/route.h"
#include "cluster/workload.h"
#include "object/cases.h"
#include "object/form.h"
#include "object/meta.h"

/* --- conversations */

struct world {
    struct tryapi a;
    struct cluster *cluster;
    int least_ready, most_pods; /* of the namespace test, since they were counted anew */
};

static void count_pods(void *arg)
{
    struct world *w = arg;
    struct arena *arena TRY_FREED = arena_new();
    struct json_object **items;
    const struct objkind *pods = objstore_kind(w->a.t.store, "", "pods");
    int ready = 0, count = (int)objstore_list(w->a.t.store, arena, pods, "test", &items);
    for (int i = 0; i < count; i++)
        ready += pod_is_ready(items[i]);
    w->least_ready = ready < w->least_ready ? ready : w->least_ready;
    w->most_pods = count > w->most_pods ? count : w->most_pods;
}

/* count: from now on; pods LEAST MOST LIMIT: so many were ready all the time, and the most at a time
 * was between the other two; register TEXT, refuse TEXT: a registration that is taken, or not. */
static void act(void *arg, const char *word)
{
    struct world *w = arg;
    struct errinfo ei = {0};
    int least, most, limit;
    if (strcmp(word, "count") == 0) {
        w->least_ready = INT_MAX;
        w->most_pods = 0;
    } else if (sscanf(word, "pods %d %d %d", &least, &most, &limit) == 3) {
        assert_int_equal(w->least_ready, least);
        assert_in_range(w->most_pods, most, limit);
    } else {
        const char *text = strchr(word, ' ') + 1;
        assert_int_equal(cluster_register(w->cluster, text, &ei) == ERR_OK,
                         *word == 'r' && word[2] == 'g');
    }
}

static struct json_object *talk(struct arena *arena, struct json_object *row)
{
    struct world w = {0};
    struct errinfo ei = {0};
    const struct cluster_options options = {
        .app = "/bin/false", .directory = unit_folder(), .nodes = 2, .gateway_port = -1};
    tryapi_open(&w.a);
    assert_int_equal(crds_install(w.a.t.store, &ei), ERR_OK);
    assert_int_equal(cluster_new(w.a.t.loop, w.a.t.store, &options, &w.cluster, &ei), ERR_OK);
    api_on_pod_log(w.a.api, cluster_pod_log, w.cluster);
    w.a.talk.act = act;
    w.a.talk.turned = count_pods;
    w.a.talk.arg = &w;
    struct json_object *out = json_copy(arena, talk_steps(&w.a.talk, row));
    talk_close(&w.a.talk);
    loop_drain(w.a.t.loop);
    assert_int_equal(loop_run(w.a.t.loop), 0);
    cluster_free(w.cluster);
    api_free(w.a.api);
    try_close(&w.a.t);
    return out;
}

static int number(struct json_object *row, const char *key)
{
    return (int)json_int_at(row, 0, key, NULL);
}

/* --- objects */

static struct json_object *meta(struct arena *arena, struct json_object *row)
{
    struct json_object *obj = json_at(row, "obj", NULL);
    return form(arena,
                "{name: %s, namespace: %s, uid: %s, label: %s, annotation: %s, created: %ld, "
                "deleting: %i, owned_by_o1: %i, owned_by_o2: %i, owns: %p}",
                meta_name(obj), meta_ns(obj), meta_uid(obj), meta_label(obj, "l"),
                meta_annotation(obj, "x/y"), meta_created(obj), meta_deleting(obj),
                meta_owned_by(obj, "o1"), meta_owned_by(obj, "o2"),
                meta_owner_list(arena, obj, "apps/v1", "Deployment"));
}

static struct json_object *condition(struct arena *arena, struct json_object *row)
{
    return cases_bool(arena, meta_condition_true(json_at(row, "conditions", NULL),
                                                 json_str_at(row, "type", NULL)));
}

static struct json_object *hash(struct arena *arena, struct json_object *row)
{
    const char *one = meta_hash(arena, json_at(row, "one", NULL));
    assert_int_equal(strspn(one, "bcdfghjklmnpqrstvwxz2456789"), strlen(one));
    return cases_bool(arena, strcmp(one, meta_hash(arena, json_at(row, "other", NULL))) == 0);
}

/* --- workloads */

static struct json_object *node(struct arena *arena, struct json_object *row)
{
    return cases_bool(arena, daemonset_node_fits(json_at(row, "selector", NULL), "sandbox-1"));
}

static struct json_object *autoscaler(struct arena *arena, struct json_object *row)
{
    return form(arena, "%ld",
                hpa_wanted(number(row, "present"), number(row, "min"), number(row, "max")));
}

static struct json_object *limits(struct arena *arena, struct json_object *row)
{
    struct rollout r = {.desired = number(row, "desired")};
    struct json_object *rolling =
        form(arena, "{maxSurge: %p, maxUnavailable: %p}", json_at(row, "surge", NULL),
             json_at(row, "unavailable", NULL));
    struct errinfo ei = {0};
    if (rollout_limits(&r, rolling, &ei) != ERR_OK)
        return cases_error(arena, &ei);
    return form(arena, "[%d, %d]", r.surge, r.unavailable);
}

/* One Deployment over time; each step names what it differs in from the one before. */
static struct json_object *deployment_status(struct arena *arena, struct json_object *row)
{
    struct json_object *steps = json_at(row, "steps", NULL), *out = form(arena, "[]"), *now = NULL;
    struct json_object *deployment = json_at(row, "deployment", NULL);
    for (size_t i = 0; i < json_len(steps); i++) {
        int64_t recheck;
        now = json_merge(arena, now, json_elem(steps, i));
        struct json_object *status = depstatus_make(
            arena,
            &(struct depstatus_in){.deployment = deployment,
                                   .fresh_name = "web-1",
                                   .desired = number(now, "desired"),
                                   .spec_replicas = number(now, "spec_replicas"),
                                   .replicas = number(now, "replicas"),
                                   .updated = number(now, "updated"),
                                   .ready = number(now, "ready"),
                                   .available = number(now, "ready"),
                                   .created = json_bool_at(now, false, "created", NULL),
                                   .now_ms = 1700000000000 + 1000 * number(now, "s")},
            &recheck);
        struct json_object *conditions = json_at(status, "conditions", NULL);
        struct json_object *progress = meta_condition(conditions, "Progressing");
        form_add(out, form(arena, "%s",
                           arena_printf(
                               arena, "%s %s%s%s%s%s", json_str_at(progress, "status", NULL),
                               json_str_at(progress, "reason", NULL),
                               meta_condition_true(conditions, "Available") ? ", available" : "",
                               recheck > 0 ? ", looks again" : "",
                               json_at(status, "unavailableReplicas", NULL) ? ", some are not" : "",
                               json_same(status, json_at(deployment, "status", NULL))
                                   ? ", nothing is written"
                                   : "")));
        json_set(deployment, "status", status);
    }
    return out;
}

/* --- pods */

static struct json_object *pod_spec(struct arena *arena, struct json_object *row)
{
    static const char *const probes[] = {"none", "http", "tcp"};
    static const struct podrun runs[] = {{"gate", "/bin/run-gate"}, {0}};
    struct podspec spec;
    struct errinfo ei = {0};
    if (podspec_read(json_at(row, "pod", NULL), runs, &spec, &ei) != ERR_OK)
        return cases_error(arena, &ei);
    if (spec.program)
        return form(arena, "{program: %s}", spec.program);
    return form(arena, "{app: %i, probe: %s, port: %d, ready_after: %ld, leave: %ld}",
                spec.container != NULL,
                arena_printf(arena, "%s %d%s every %lld ms", probes[spec.probe], spec.probe_port,
                             spec.probe_path ? spec.probe_path : "", (long long)spec.period_ms),
                spec.port, spec.ready_after_ms, spec.leave_ms);
}

static struct json_object *look_up(void *arg, struct arena *arena, bool secret, const char *name)
{
    if (!secret && strcmp(name, "settings") == 0)
        return form(arena, "{metadata: {name: settings}, data: {color: blue, SIZE: '9'}}");
    return secret && strcmp(name, "keys") == 0 ? form(arena, "{data: {token: 'aGVsbG8='}}") : NULL;
}

/* The arguments, if the container has some, or else the variables. */
static struct json_object *environment(struct arena *arena, struct json_object *row)
{
    const struct podenv_in in = {
        .pod = form(arena, "{metadata: {name: web-1, namespace: test}}"),
        .container = json_at(row, "container", NULL),
        .address = "127.64.0.9",
        .lookup = look_up,
    };
    struct json_object *out = form(arena, "[]");
    const char *const *list;
    struct errinfo ei = {0};
    if (podenv_make(arena, &in, &list, &ei) != ERR_OK)
        return cases_error(arena, &ei);
    if (json_at(in.container, "args", NULL))
        list = podenv_args(arena, in.container, list);
    for (; *list; list++)
        form_add(out, form(arena, "%s", *list));
    return out;
}

static struct json_object *pod_status(struct arena *arena, struct json_object *row)
{
    static const char *const states[] = {"waiting", "running", "backoff", "stopping"};
    struct podstatus_in in = {
        .pod =
            form(arena, "{spec: {containers: [{name: app, image: 'demo-app:1'}, {name: side}]}}"),
        .container = "app",
        .address = "127.64.0.3",
        .reason = json_str_at(row, "reason", NULL),
        .ready = json_bool_at(row, false, "ready", NULL),
        .restarts = number(row, "restarts"),
        .has_last = json_bool_at(row, false, "has_last", NULL),
        .last_exit = number(row, "exit"),
        .last_signal = number(row, "signal"),
    };
    while (strcmp(states[in.state], json_str_at(row, "state", NULL)) != 0)
        in.state++;
    struct json_object *status = podstatus_make(arena, &in);
    struct json_object *c = json_elem(json_at(status, "containerStatuses", NULL), 0);
    struct json_object *out =
        form(arena, "{phase: %s, ready: %i, restarts: %ld, waits: %s, runs: %i}",
             json_str_at(status, "phase", NULL),
             meta_condition_true(json_at(status, "conditions", NULL), "Ready"),
             json_int_at(c, -1, "restartCount", NULL),
             json_str_at(c, "state", "waiting", "reason", NULL),
             json_at(c, "state", "running", NULL) != NULL);
    json_set(out, "ended", json_at(c, "lastState", "terminated", "exitCode", NULL));
    return out;
}

static struct json_object *scraped(struct arena *arena, struct json_object *row)
{
    return prometheus_target(arena, json_at(row, "pod", NULL));
}

static struct json_object *prometheus_file(struct arena *arena, struct json_object *row)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    prometheus_config(&out, "/d", json_int_at(row, 0, "ms", NULL));
    struct json_object *docs = NULL;
    assert_int_equal(yaml_parse(arena, "config", out.data, out.len, 1 << 16, &docs, NULL), ERR_OK);
    buf_fini(&out);
    return json_elem(docs, 0);
}

/* --- Services */

static size_t pods_of(struct arena *arena, struct json_object *row, struct json_object ***pods)
{
    struct json_object *list = json_at(row, "pods", NULL);
    *pods = arena_array(arena, json_len(list) + 1, sizeof(struct json_object *));
    for (size_t i = 0; i < json_len(list); i++)
        (*pods)[i] = json_elem(list, i);
    return json_len(list);
}

/* Where a port leads: to pods, or where an Endpoints object says. */
static struct json_object *targets(struct arena *arena, struct json_object *row)
{
    struct json_object *service = json_at(row, "service", NULL), *out = form(arena, "[]"), **pods;
    struct json_object *given = json_at(row, "endpoints", NULL);
    size_t count = pods_of(arena, row, &pods), port = (size_t)number(row, "port");
    struct forward_target found[8];
    count = count > 0 ? endpoints_targets(service, port, pods, count, found)
                      : endpoints_given(service, port, given, found, 2);
    for (size_t i = 0; i < count; i++)
        form_add(out,
                 form(arena, "%s", arena_printf(arena, "%s:%d", found[i].address, found[i].port)));
    return out;
}

static struct json_object *endpoints(struct arena *arena, struct json_object *row)
{
    struct json_object **pods;
    size_t count = pods_of(arena, row, &pods);
    return json_at(endpoints_object(arena, json_at(row, "service", NULL), pods, count), "subsets",
                   NULL);
}

static struct json_object *host_line(struct arena *arena, struct json_object *row)
{
    struct buf text;
    buf_init(&text, HOSTS_MAX);
    hosts_add(&text, json_str_at(row, "address", NULL), json_str_at(row, "ns", NULL),
              json_str_at(row, "name", NULL));
    struct json_object *out = cases_text(arena, text.data);
    buf_fini(&text);
    return out;
}

static struct json_object *registration(struct arena *arena, struct json_object *row)
{
    struct registration r;
    struct errinfo ei = {0};
    if (register_parse(arena, json_str_at(row, "text", NULL), &r, &ei) != ERR_OK)
        return cases_error(arena, &ei);
    return cases_text(arena, arena_printf(arena, "%s in %s, port %d, at %s:%d", r.name, r.ns,
                                          r.port, r.address, r.to_port));
}

/* --- routes */

static const char *resolve(void *arg, struct arena *arena, const char *ns, const char *name)
{
    return strcmp(name, "missing") == 0 ? NULL : "127.96.0.2";
}

/* Routes of rows {name, spec}, the first the youngest. */
static struct route_table table_of(struct arena *arena, struct json_object *list)
{
    struct json_object **routes =
        arena_array(arena, json_len(list) + 1, sizeof(struct json_object *));
    struct route_table table;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *metadata = json_sub(json_elem(list, i), "metadata");
        routes[i] = json_elem(list, i);
        json_set_str(metadata, "name", json_str_at(routes[i], "name", NULL));
        json_set_str(metadata, "namespace", "test");
        json_set_int(metadata, "generation", 3);
        json_set_str(metadata, "creationTimestamp",
                     arena_printf(arena, "2026-01-01T00:00:%02zuZ", 30 - i));
    }
    route_table_make(arena, routes, json_len(list), resolve, NULL, &table);
    return table;
}

static struct json_object *precedence(struct arena *arena, struct json_object *row)
{
    struct route_table table = table_of(arena, json_at(row, "routes", NULL));
    struct json_object *out = form(arena, "[]");
    for (size_t i = 0; i < table.count; i++) {
        const struct route_entry *e = &table.entries[i];
        form_add(out, form(arena, "%s",
                           arena_printf(arena, "%s %s %s%s%s %zu/%zu", e->rule->id,
                                        e->host ? e->host : "*", e->method ? e->method : "",
                                        e->method ? " " : "", e->path, e->headers.count,
                                        e->queries.count)));
    }
    return out;
}

/* Nothing of a bad one is served, and all of the good one beside it. */
static struct json_object *bad_route(struct arena *arena, struct json_object *row)
{
    struct json_object *list =
        form(arena,
             "[{name: good, spec: {rules: [{backendRefs: [{name: web, port: 80}]}]}}, {name: bad, "
             "spec: %p}]",
             json_at(row, "spec", NULL));
    struct route_table table = table_of(arena, list);
    struct errinfo ei = {0};
    assert_null(table.results[1].refused);
    assert_int_equal(table.count, 1);
    assert_int_equal(table.rule_count, 1);
    err_set(&ei, ERR_INVALID, "%s", table.results[0].refused);
    return cases_error(arena, &ei);
}

static struct json_object *edits(struct arena *arena, const struct route_edits *edits)
{
    static const char *const ops[] = {"set", "add", "remove"};
    struct json_object *out = form(arena, "[]");
    for (size_t i = 0; i < edits->count; i++)
        form_add(out, form(arena, "%s",
                           arena_printf(arena, "%s %s %s", ops[edits->list[i].op],
                                        edits->list[i].name, edits->list[i].value)));
    return out;
}

static struct json_object *backend(struct arena *arena, const struct route_backend *b,
                                   double percent)
{
    return form(arena, "{to: %s, weight: %d, percent: %d, response: %p}",
                b->address ? b->address : "nowhere", b->weight, (int)percent,
                edits(arena, &b->filters.response));
}

static struct json_object *rule(struct arena *arena, struct json_object *row)
{
    struct json_object *backends = form(arena, "[]"), *mirrors = form(arena, "[]");
    struct route_table table = table_of(arena, form(arena, "[%p]", row));
    const struct route_rule *r = table.rules[0];
    assert_null(table.results[0].refused);
    for (size_t i = 0; i < r->backend_count; i++)
        form_add(backends, backend(arena, &r->backends[i], 100));
    for (size_t i = 0; i < r->mirror_count; i++)
        form_add(mirrors, backend(arena, &r->mirrors[i].backend, r->mirrors[i].percent));
    return form(arena,
                "{generation: %ld, unresolved: %s, timeout: %ld, host: %s, prefix: %s, "
                "backends: %p, mirrors: %p}",
                table.results[0].generation, table.results[0].unresolved, r->timeout_ms,
                r->filters.host, r->filters.prefix_path, backends, mirrors);
}

static struct json_object *header_name(struct arena *arena, struct json_object *row)
{
    return cases_bool(arena, route_name_ok(json_str_at(row, "name", NULL)));
}

static struct json_object *header_text(struct arena *arena, struct json_object *row)
{
    char *text = arena_alloc(arena, ROUTE_MAX_TEXT + 2);
    size_t len = ROUTE_MAX_TEXT + (size_t)number(row, "more");
    memset(text, 'x', len);
    text[len] = '\0';
    const char *given = json_str_at(row, "text", NULL);
    return cases_bool(arena, route_text_ok(given ? given : text));
}

/* On a rule, or with rule: false on its backend. */
static struct json_object *filters(struct arena *arena, struct json_object *row)
{
    bool on_rule = json_bool_at(row, true, "rule", NULL);
    struct json_object *given = json_at(row, "filters", NULL);
    struct route_table table = table_of(
        arena, form(arena,
                    "[{name: r, spec: {rules: [{filters: %p, backendRefs: [{name: web, port: 80, "
                    "filters: %p}]}]}}]",
                    on_rule ? given : NULL, on_rule ? NULL : given));
    struct errinfo ei = {0};
    if (table.results[0].refused) {
        err_set(&ei, ERR_INVALID, "%s", table.results[0].refused);
        return cases_error(arena, &ei);
    }
    const struct route_rule *r = table.rules[0];
    return r->mirror_count > 0 ? form(arena, "%zu", r->mirror_count)
                               : edits(arena, &r->filters.request);
}

static struct json_object *route_status(struct arena *arena, struct json_object *row)
{
    const struct route_result result = {.generation = number(row, "generation"),
                                        .parents = json_at(row, "parents", NULL),
                                        .refused = json_str_at(row, "refused", NULL),
                                        .unresolved = json_str_at(row, "unresolved", NULL)};
    return routestatus_route(arena, &result, json_at(row, "before", NULL), "T2");
}

static struct json_object *gateway_status(struct arena *arena, struct json_object *row)
{
    return routestatus_gateway(arena, json_at(row, "gateway", NULL), "127.96.0.1", "T1");
}

static struct json_object *weights(struct arena *arena, struct json_object *row)
{
    struct json_object *given = json_at(row, "given", NULL);
    struct route_backend backends[3];
    const struct route_rule r = {.backends = backends, .backend_count = 3};
    for (size_t i = 0; i < 3; i++)
        backends[i] = (struct route_backend){.weight = json_object_get_int(json_elem(given, i))};
    return form(arena, "[%d, %d, %d]", haproxy_weight(&r, 0), haproxy_weight(&r, 1),
                haproxy_weight(&r, 2));
}

static const struct cases_group groups[] = {
    {"conversations", talk},
    {"metadata", meta},
    {"conditions", condition},
    {"hashes", hash},
    {"nodes", node},
    {"autoscalers", autoscaler},
    {"limits of a rollout", limits},
    {"status of Deployments", deployment_status},
    {"pods", pod_spec},
    {"environment", environment},
    {"status of pods", pod_status},
    {"scraped pods", scraped},
    {"Prometheus", prometheus_file},
    {"targets", targets},
    {"endpoints", endpoints},
    {"lines of hosts", host_line},
    {"registrations", registration},
    {"precedence", precedence},
    {"routes that are refused", bad_route},
    {"rules", rule},
    {"names of headers", header_name},
    {"texts of headers", header_text},
    {"filters", filters},
    {"status of routes", route_status},
    {"status of gateways", gateway_status},
    {"weights", weights},
};

CASES("test/sandbox/cluster/cases.yaml", groups)
