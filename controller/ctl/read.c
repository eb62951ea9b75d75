#include "ctl/read.h"

#include <string.h>

#include "proto/canary.h"

const struct kube_resource read_canaries = {
    .group = "flagger.app", .version = "v1beta1", .plural = "canaries", .kind = "Canary"};

struct waiting {
    struct ctl *ctl;
    struct read_answer *answer;
    struct json_object *items; /* elements of a list */
    size_t *left;
    bool full;
};

static void on_answer(void *arg, const struct kube_result *result)
{
    struct waiting *w = arg;

    w->answer->err = result->err;
    w->answer->status = result->status;
    if (result->info)
        w->answer->info = *result->info;
    if (result->body)
        w->answer->body = json_own(w->ctl->arena, json_object_get(result->body));
    --*w->left;
}

static void start(struct waiting *w, const struct kube_request *request)
{
    struct kube_request timed = *request;

    if (w->ctl->timeout_ms > 0)
        timed.timeout_ms = w->ctl->timeout_ms;
    *w->answer = (struct read_answer){0};
    kube_send(w->ctl->kube, &timed, on_answer, w);
}

static void wait_for(struct ctl *ctl, const size_t *left)
{
    while (*left > 0)
        uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
}

void read_calls(struct ctl *ctl, const struct kube_request *requests, struct read_answer *answers,
                size_t count)
{
    struct waiting *waiting = arena_array(ctl->arena, count, sizeof(*waiting));
    size_t left = count;

    for (size_t i = 0; i < count; i++) {
        waiting[i] = (struct waiting){.ctl = ctl, .answer = &answers[i], .left = &left};
        start(&waiting[i], &requests[i]);
    }
    wait_for(ctl, &left);
}

enum err read_call(struct ctl *ctl, const struct kube_request *request, struct json_object **body,
                   struct errinfo *ei)
{
    struct read_answer answer;

    read_calls(ctl, request, &answer, 1);
    *body = answer.body;
    if (answer.err != ERR_OK && ei)
        *ei = answer.info;
    return answer.err;
}

enum err read_get(struct ctl *ctl, const struct kube_resource *resource, const char *namespace_,
                  const char *name, struct json_object **out, struct errinfo *ei)
{
    const struct kube_request request = {
        .verb = KUBE_GET, .resource = resource, .namespace_ = namespace_, .name = name};

    return read_call(ctl, &request, out, ei);
}

/* --- lists, page by page */

static bool on_item(void *arg, struct json_object *item, bool whole)
{
    struct waiting *w = arg;

    w->full = json_len(w->items) >= READ_MOST;
    if (!w->full && whole)
        json_object_array_add(w->items, json_object_get(item));
    return !w->full;
}

static const char *list_query(struct ctl *ctl, const char *selector, const char *fields,
                              const char *after)
{
    const char *query = "limit=500";

    if (selector)
        query = arena_printf(ctl->arena, "%s&labelSelector=%s", query,
                             url_encode(ctl->arena, selector));
    if (fields)
        query =
            arena_printf(ctl->arena, "%s&fieldSelector=%s", query, url_encode(ctl->arena, fields));
    if (after)
        query = arena_printf(ctl->arena, "%s&continue=%s", query, url_encode(ctl->arena, after));
    return query;
}

enum err read_list(struct ctl *ctl, const struct read_what *what, struct json_object **out,
                   struct errinfo *ei)
{
    const char *after = NULL;
    struct read_answer answer;

    *out = json_own(ctl->arena, json_object_new_array());
    do {
        const struct kube_request request = {
            .verb = KUBE_LIST,
            .resource = what->resource,
            .namespace_ = what->namespace_,
            .query = list_query(ctl, what->selector, what->fields, after),
            .on_item = on_item};
        size_t left = 1;
        struct waiting w = {.ctl = ctl, .answer = &answer, .items = *out, .left = &left};
        start(&w, &request);
        wait_for(ctl, &left);
        if (w.full)
            return err_set(ei, ERR_INVALID,
                           "there are more than %d %s: ask for those of one "
                           "namespace, or with a selector",
                           READ_MOST, what->resource->plural);
        if (answer.err != ERR_OK) {
            *ei = answer.info;
            return answer.err;
        }
        after = json_str_at(answer.body, "metadata", "continue", NULL);
    } while (after && *after);
    return ERR_OK;
}

/* --- errors in words */

int read_fail(const struct ctl *ctl, enum err err, const struct errinfo *ei)
{
    const char *hint = "";

    if (err == ERR_RETRY && ei->status == 0)
        hint = arena_printf(ctl->arena, " (is %s the right server? --context names another one)",
                            ctl->config->server);
    else if (err == ERR_DENIED && ei->status == 401)
        hint = " (the server does not know who asks: log in again)";
    else if (err == ERR_DENIED)
        hint = " (ask whoever gives rights in this cluster)";
    return ctl_fail(ctl, CTL_SERVER, "%s%s", ei->text, hint);
}

int read_canary_fail(const struct ctl *ctl, const char *name, enum err err,
                     const struct errinfo *ei)
{
    if (err != ERR_NOT_FOUND)
        return read_fail(ctl, err, ei);
    if (strstr(ei->text, "could not find the requested resource"))
        return ctl_fail(ctl, CTL_SERVER,
                        "the cluster has no Canaries: their CRD is not installed (%s crds | "
                        "kubectl apply -f -)",
                        ctl->program);
    return ctl_fail(ctl, CTL_SERVER,
                    "there is no Canary \"%s\" in namespace \"%s\"; %s get -A lists all", name,
                    ctl->namespace_, ctl->program);
}

int read_canary(struct ctl *ctl, const char *name, struct json_object **out)
{
    struct errinfo ei = {0};
    enum err err = read_get(ctl, &read_canaries, ctl->namespace_, name, out, &ei);

    return err == ERR_OK ? CTL_DONE : read_canary_fail(ctl, name, err, &ei);
}

static void on_pause(void *arg)
{
    *(bool *)arg = true;
}

void read_pause(struct ctl *ctl, int64_t ms)
{
    bool over = false;

    timer_start(ctl->loop, ms, 0, on_pause, &over);
    while (!over)
        uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
}

static const struct kube_resource reviews = {.group = "authentication.k8s.io",
                                             .version = "v1",
                                             .plural = "selfsubjectreviews",
                                             .kind = "SelfSubjectReview",
                                             .cluster_scoped = true};

enum err person_name(struct ctl *ctl, const char *as_name, const char **out, struct errinfo *ei)
{
    struct json_object *body = json_own(ctl->arena, json_object_new_object()), *answer = NULL;
    const struct kube_request request = {.verb = KUBE_CREATE, .resource = &reviews, .body = body};

    *out = as_name;
    if (as_name)
        return ERR_OK;
    json_set_str(body, "apiVersion", "authentication.k8s.io/v1");
    json_set_str(body, "kind", "SelfSubjectReview");
    enum err err = read_call(ctl, &request, &answer, ei);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return err;
    *out = json_str_at(answer, "status", "userInfo", "username", NULL);
    if (err == ERR_OK && *out)
        return ERR_OK;
    return err_set(ei, ERR_NOT_FOUND,
                   "the API server cannot say who you are (SelfSubjectReview is of Kubernetes 1.28 "
                   "and later): give --as-name");
}

enum { MAX_ANSWER = 4 * 1024 * 1024 };

/* --- the gate: where it is */

/* Splits the host of a Service, "flagger-gate.flagger.svc.cluster.local" or
 * "NAME.NAMESPACE[.svc[.…]]"; false if it is not the name of a Service. */
static bool is_service(struct arena *arena, const char *host, const char **name,
                       const char **namespace_)
{
    const char *dot = strchr(host, '.'), *rest = dot ? strchr(dot + 1, '.') : NULL;

    if (strspn(host, "0123456789.") == strlen(host) || host[0] == '[')
        return false;
    if (!dot) {
        *name = host;
        return strcmp(host, "localhost") != 0;
    }
    if (rest && strcmp(rest, ".svc") != 0 && strncmp(rest, ".svc.", 5) != 0)
        return false;
    *name = arena_strndup(arena, host, (size_t)(dot - host));
    *namespace_ = arena_strndup(arena, dot + 1, rest ? (size_t)(rest - dot - 1) : strlen(dot + 1));
    return **name && **namespace_;
}

struct gate gate_of_url(struct arena *arena, const char *namespace_, const char *url)
{
    const char *after = strstr(url, "://");
    const char *host = after ? after + 3 : url;
    const char *scheme = after ? arena_strndup(arena, url, (size_t)(after - url)) : "http";
    const char *name;

    host = arena_strndup(arena, host, strcspn(host, "/?#"));
    const char *at =
        strrchr(host, '@'); /* credentials, which are never shown and are not part of the address */
    host = at ? at + 1 : host;
    struct gate gate = {.url = arena_printf(arena, "%s://%s", scheme, host)};
    const char *colon = host[0] == '[' ? NULL : strchr(host, ':');
    bool tls = strcmp(scheme, "https") == 0;
    const char *port = colon ? colon + 1 : tls ? "443" : "80";

    if (colon)
        host = arena_strndup(arena, host, (size_t)(colon - host));
    if (is_service(arena, host, &name, &namespace_))
        gate.proxy_path = arena_printf(arena, "/api/v1/namespaces/%s/services/%s%s:%s/proxy",
                                       url_encode(arena, namespace_), tls ? "https:" : "",
                                       url_encode(arena, name), url_encode(arena, port));
    return gate;
}

static struct json_object *hooks_of(struct json_object *canary)
{
    struct json_object *analysis = json_at(canary, "spec", "analysis", NULL);

    if (!analysis)
        analysis = json_at(canary, "spec", "canaryAnalysis", NULL);
    return json_at(analysis, "webhooks", NULL);
}

static bool is_gate_type(const char *name)
{
    enum hook_type type;

    return hook_type_find(name, &type) && (hook_type_is_gate(type) || type == HOOK_ROLLBACK);
}

enum err gate_find(struct ctl *ctl, struct json_object *canary, const char *hook, struct gate *out,
                   struct errinfo *ei)
{
    struct json_object *hooks = hooks_of(canary);
    const char *namespace_ = json_str_at(canary, "metadata", "namespace", NULL);

    *out = (struct gate){.url = NULL};
    for (size_t i = 0; i < json_len(hooks); i++) {
        struct json_object *at = json_elem(hooks, i);
        const char *name = json_str_at(at, "name", NULL), *url = json_str_at(at, "url", NULL);
        if (!url || !is_gate_type(json_str_at(at, "type", NULL)) ||
            (hook && (!name || strcmp(hook, name) != 0)))
            continue;
        struct gate found = gate_of_url(ctl->arena, namespace_ ? namespace_ : ctl->namespace_, url);
        if (out->url && strcmp(out->url, found.url) != 0)
            return err_set(ei, ERR_INVALID,
                           "its hooks ask at several gates, %s and %s: choose one with --hook",
                           out->url, found.url);
        *out = found;
    }
    if (out->url)
        return ERR_OK;
    if (hook)
        return err_set(ei, ERR_NOT_FOUND,
                       "the Canary has no hook \"%.60s\" of the types confirm-* or rollback", hook);
    return err_set(ei, ERR_NOT_FOUND, "the Canary has no hook of the types confirm-* or rollback");
}

bool gate_rolls_back(struct arena *arena, struct json_object *canary, const struct gate *gate)
{
    struct json_object *hooks = hooks_of(canary);

    for (size_t i = 0; i < json_len(hooks); i++) {
        const char *type = json_str_at(json_elem(hooks, i), "type", NULL);
        const char *url = json_str_at(json_elem(hooks, i), "url", NULL);
        if (!type || !url || strcmp(type, "rollback") != 0)
            continue;
        if (strcmp(gate_of_url(arena, "", url).url, gate->url) == 0)
            return true;
    }
    return false;
}

/* --- the gate: requests */

struct direct {
    struct ctl *ctl;
    enum err err;
    int status;
    struct errinfo info;
    struct json_object *body;
    bool done;
};

static void on_reply(void *arg, const struct http_result *result)
{
    struct direct *d = arg;

    d->done = true;
    d->err = result->err;
    d->status = result->status;
    if (result->info)
        d->info = *result->info;
    if (result->err == ERR_OK && result->body_len > 0 &&
        json_parse(d->ctl->arena, result->body, result->body_len, MAX_ANSWER, &d->body, NULL) !=
            ERR_OK)
        d->body = NULL;
}

static enum err call_direct(struct ctl *ctl, const struct gate *gate, const char *path,
                            struct json_object *body, struct direct *d)
{
    const char *text = body ? json_text(ctl->arena, body) : NULL;
    const char *bearer = gate->token ? arena_printf(ctl->arena, "Bearer %s", gate->token) : NULL;
    const struct http_header headers[] = {{"Accept", "application/json"},
                                          {"Content-Type", "application/json"},
                                          {bearer ? "Authorization" : NULL, bearer},
                                          {NULL, NULL}};
    const struct http_tls tls = {.insecure = gate->insecure};
    const struct http_request request = {.method = body ? "POST" : "GET",
                                         .url = arena_printf(ctl->arena, "%s%s", gate->url, path),
                                         .headers = headers,
                                         .body = text,
                                         .body_len = text ? strlen(text) : 0,
                                         .tls = &tls,
                                         .timeout_ms = ctl->timeout_ms,
                                         .max_body = MAX_ANSWER};

    http_send(ctl->http, &request, on_reply, d);
    while (!d->done)
        uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
    return d->err;
}

/* The gate's own sentence is preferred to the transport's. */
static enum err judge(const struct gate *gate, int status, struct json_object *body, enum err err,
                      struct errinfo *ei)
{
    const char *said = json_str_at(body, "error", NULL);
    enum err meaning = status == 404                    ? ERR_NOT_FOUND
                       : status == 401 || status == 403 ? ERR_DENIED
                       : status == 409                  ? ERR_CONFLICT
                       : status >= 500                  ? ERR_RETRY
                                                        : ERR_INVALID;

    if (err == ERR_OK && status < 300)
        return ERR_OK;
    if (said)
        err_set(ei, meaning, "the gate at %s: %s", gate->url, said);
    else if (err == ERR_OK)
        err_set(ei, meaning, "the gate at %s answered %d", gate->url, status);
    else
        err_wrap(ei, err, "the gate at %s", gate->url);
    ei->status = status;
    return err == ERR_OK ? meaning : err;
}

enum err gate_call(struct ctl *ctl, const struct gate *gate, const char *path,
                   struct json_object *body, struct json_object **out, struct errinfo *ei)
{
    if (!gate->proxy_path) {
        struct direct d = {.ctl = ctl};
        enum err err = call_direct(ctl, gate, path, body, &d);
        *out = d.body;
        *ei = d.info;
        return judge(gate, d.status, d.body, err, ei);
    }
    struct read_answer answer;
    const struct kube_request request = {
        .verb = body ? KUBE_CREATE : KUBE_GET,
        .raw_path = arena_printf(ctl->arena, "%s%s", gate->proxy_path, path),
        .body = body};
    read_calls(ctl, &request, &answer, 1);
    *out = answer.body;
    *ei = answer.info;
    return judge(gate, answer.status, answer.body, answer.err, ei);
}

enum err gate_read(struct ctl *ctl, const struct gate *gate, const char *namespace_,
                   const char *name, struct json_object **out, struct errinfo *ei)
{
    const char *path =
        arena_printf(ctl->arena, "/v1/gates/%s/%s", url_encode(ctl->arena, namespace_),
                     url_encode(ctl->arena, name));
    enum err err = gate_call(ctl, gate, path, NULL, out, ei);

    if (err == ERR_OK && !json_at(*out, "gates", NULL))
        return err_set(ei, ERR_INVALID,
                       "what answers at %s is no flagger-gate; --gate says where one is",
                       gate->url);
    return err;
}

struct json_object *gate_of_kind(struct json_object *answer, const char *kind)
{
    struct json_object *gates = json_at(answer, "gates", NULL);

    for (size_t i = 0; i < json_len(gates); i++) {
        const char *found = json_str_at(json_elem(gates, i), "kind", NULL);
        if (found && strcmp(found, kind) == 0)
            return json_elem(gates, i);
    }
    return NULL;
}
