/* Datadog: GET /api/v1/query. The value is the first (oldest) point of the first series, as in
 * Flagger. */
#include "metric/backend.h"

static enum err datadog_request(struct arena *arena, const struct metric_question *question,
                                int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct backend_call call = backend_begin(arena, question, "https://api.datadoghq.com", out, ei);
    int64_t from_ms = backend_from_ms(&call, now_ms);

    backend_header(&call, "DD-API-KEY", backend_secret(&call, "datadog_api_key"));
    backend_header(&call, "DD-APPLICATION-KEY", backend_secret(&call, "datadog_application_key"));
    if (question->query)
        backend_url(&call, "/api/v1/query?from=%lld&query=%s&to=%lld", (long long)(from_ms / 1000),
                    url_encode_form(arena, question->query), (long long)(now_ms / 1000));
    else
        backend_url(&call, "/api/v1/validate");
    return backend_end(&call);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *all = json_at(reply, "series", NULL);
    struct json_object *point = json_elem(json_at(json_elem(all, 0), "pointlist", NULL), 0);
    const char *error = json_str_at(reply, "error", NULL);

    if (error && *error)
        return backend_failure(
            arena_printf(arena, "error response: %.*s", BACKEND_SAID_MAX, error));
    if (!json_object_is_type(all, json_type_array))
        return backend_unlike(arena, question, "series");
    return backend_chosen(arena, backend_number(arena, question, json_elem(point, 1)), "first",
                          json_len(all), "series");
}

static struct metric_answer datadog_answer(struct arena *arena,
                                           const struct metric_question *question,
                                           const struct http_result *result)
{
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_datadog = {
    .type = "datadog",
    .intervals = BACKEND_WINDOW,
    .request = datadog_request,
    .answer = datadog_answer,
};
