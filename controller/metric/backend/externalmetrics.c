/*
 * The External Metrics API of Kubernetes. The query is "[NAMESPACE/]METRIC[?labelSelector=...]";
 * the value is the first item's. Without an address the controller's own API server is queried,
 * with the controller's rights; another server gets only the Secret's token.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "metric/backend.h"

static void write_path(struct backend_call *call, const char *query)
{
    struct arena *arena = call->arena;
    size_t len = strcspn(query, "?"), blanks = strspn(query, " \t\r\n");
    const char *path = arena_strndup(arena, query + blanks, len - (blanks < len ? blanks : len));
    path += *path == '/';
    const char *slash = strchr(path, '/');
    const char *namespace_ =
        slash && slash > path ? arena_strndup(arena, path, (size_t)(slash - path)) : "default";
    const char *metric = slash ? slash + 1 : path;
    const char *selector = query[len] ? strstr(query + len, "labelSelector=") : NULL;
    size_t metric_len = strcspn(metric, " \t\r\n");

    if (metric_len == 0 || strchr(metric, '/') || strcmp(metric, "..") == 0 ||
        strcmp(namespace_, "..") == 0) {
        backend_fail(call,
                     "externalmetrics: the query must be [NAMESPACE/]METRIC[?labelSelector=...]");
        return;
    }
    struct errinfo why;
    if (!backend_may_read(call->question, namespace_, &why)) {
        backend_fail(call, "%s", why.text);
        return;
    }
    backend_url(call, "/apis/external.metrics.k8s.io/v1beta1/namespaces/%s/%s%s%.*s",
                url_encode(arena, namespace_),
                url_encode(arena, arena_strndup(arena, metric, metric_len)), selector ? "?" : "",
                selector ? (int)strcspn(selector, "& \t\r\n") : 0, selector ? selector : "");
}

static enum err externalmetrics_request(struct arena *arena, const struct metric_question *question,
                                        int64_t now_ms, struct metric_request *out,
                                        struct errinfo *ei)
{
    bool outside = question->address && *question->address;
    struct metric_question asked = *question;
    const char *token = backend_secret_or(arena, question->secret, "token");

    (void)now_ms;
    if (!outside) /* our own API server, whose CA is configured already */
        asked = (struct metric_question){.backend = question->backend,
                                         .query = question->query,
                                         .only_namespace = question->only_namespace};
    if (outside || !question->query) /* has its own rights, or is not about an object */
        asked.only_namespace = NULL;
    struct backend_call call = backend_begin(arena, &asked, "http://api", out, ei);
    if (!outside) {
        call.base = "";
        out->to = METRIC_TO_API;
    }
    write_path(&call, question->query ? question->query : "kube-system/dummy-metric");
    if (outside && token)
        backend_header(&call, "Authorization", arena_printf(arena, "Bearer %s", token));
    return backend_end(&call);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *items = json_at(reply, "items", NULL);
    const char *value = json_str_at(json_elem(items, 0), "value", NULL);
    struct quantity quantity;
    struct errinfo ei;

    if (!json_object_is_type(items, json_type_array))
        return backend_unlike(arena, question, "items");
    if (!value)
        return backend_no_values("no item");
    if (quantity_parse(value, &quantity, &ei) != ERR_OK)
        return backend_failure(arena_printf(arena, "%s sent \"%.50s\", expected a quantity",
                                            question->backend, value));
    double amount = (double)quantity.wide, power = pow(10, abs(quantity.scale));
    if (quantity.wide != 0) /* zero times a power that is too large is not a number */
        amount = quantity.scale < 0 ? amount / power : amount * power;
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = amount};
}

static struct metric_answer externalmetrics_answer(struct arena *arena,
                                                   const struct metric_question *question,
                                                   const struct http_result *result)
{
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_externalmetrics = {
    .type = "externalmetrics",
    .request = externalmetrics_request,
    .answer = externalmetrics_answer,
};
