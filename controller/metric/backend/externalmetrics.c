/*
 * The External Metrics API of Kubernetes. The query is "[NAMESPACE/]METRIC[?labelSelector=...]";
 * the first item counts. Without an address it is the controller's own API server, with its
 * rights; another server gets the Secret's token and no other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "metric/ask.h"

static void write_path(struct ask *ask, const char *query)
{
    struct arena *arena = ask->arena;
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
        ask_fail(ask, "externalmetrics: the query must be [NAMESPACE/]METRIC[?labelSelector=...]");
        return;
    }
    struct errinfo why;
    if (!ask_may_read(ask->question, namespace_, &why)) {
        ask_fail(ask, "%s", why.text);
        return;
    }
    ask_url(ask, "/apis/external.metrics.k8s.io/v1beta1/namespaces/%s/%s%s%.*s",
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
    const char *token = ask_secret_or(arena, question->secret, "token");

    (void)now_ms;
    if (!outside) /* of its own API server it is known whom to believe */
        asked = (struct metric_question){.backend = question->backend,
                                         .query = question->query,
                                         .only_namespace = question->only_namespace};
    if (outside || !question->query) /* with rights of its own; or of no object */
        asked.only_namespace = NULL;
    struct ask ask = ask_begin(arena, &asked, "http://api", out, ei);
    if (!outside) {
        ask.base = "";
        out->to = METRIC_TO_API;
    }
    write_path(&ask, question->query ? question->query : "kube-system/dummy-metric");
    if (outside && token)
        ask_header(&ask, "Authorization", arena_printf(arena, "Bearer %s", token));
    return ask_end(&ask);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *items = json_at(reply, "items", NULL);
    const char *value = json_str_at(json_elem(items, 0), "value", NULL);
    struct quantity quantity;
    struct errinfo ei;

    if (!json_object_is_type(items, json_type_array))
        return ask_unlike(arena, question, "items");
    if (!value)
        return ask_no_values("no item");
    if (quantity_parse(value, &quantity, &ei) != ERR_OK)
        return ask_failure(arena_printf(arena, "%s sent \"%.50s\", expected a quantity",
                                        question->backend, value));
    double amount = (double)quantity.wide, power = pow(10, abs(quantity.scale));
    if (quantity.wide != 0) /* 0 times a power that is too large is no number */
        amount = quantity.scale < 0 ? amount / power : amount * power;
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = amount};
}

static struct metric_answer externalmetrics_answer(struct arena *arena,
                                                   const struct metric_question *question,
                                                   const struct http_result *result)
{
    return ask_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_externalmetrics = {
    .type = "externalmetrics",
    .request = externalmetrics_request,
    .answer = externalmetrics_answer,
};
