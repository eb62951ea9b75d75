/* Dynatrace: the metrics API v2. The value is the first one in the last data entry of the first
 * result. */
#include "metric/backend.h"

static enum err dynatrace_request(struct arena *arena, const struct metric_question *question,
                                  int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct backend_call call = backend_begin(arena, question, NULL, out, ei);
    int64_t to_ms = now_ms / 1000 * 1000;
    int64_t from_ms = backend_from_ms(&call, to_ms);
    const char *token = backend_secret(&call, "dynatrace_token");

    backend_header(&call, "Authorization", arena_printf(arena, "Api-Token %s", token));
    if (question->query)
        backend_url(&call,
                    "/api/v2/metrics/query?from=%lld&metricSelector=%s&resolution=Inf&to=%lld",
                    (long long)from_ms, url_encode_form(arena, question->query), (long long)to_ms);
    else
        backend_url(&call, "/api/v2/metrics?pageSize=1");
    return backend_end(&call);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *results = json_at(reply, "result", NULL);
    struct json_object *data = json_at(json_elem(results, 0), "data", NULL);
    struct json_object *last = json_elem(data, json_len(data) - 1);

    if (!json_object_is_type(results, json_type_array))
        return backend_unlike(arena, question, "result");
    return backend_chosen(
        arena, backend_number(arena, question, json_elem(json_at(last, "values", NULL), 0)), "last",
        json_len(data), "series");
}

static struct metric_answer dynatrace_answer(struct arena *arena,
                                             const struct metric_question *question,
                                             const struct http_result *result)
{
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_dynatrace = {
    .type = "dynatrace",
    .intervals = BACKEND_WINDOW,
    .request = dynatrace_request,
    .answer = dynatrace_answer,
};
