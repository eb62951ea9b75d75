/* Dynatrace: the metrics API v2. Of the first result the last data, and of it the first value. */
#include "metric/ask.h"

static enum err dynatrace_request(struct arena *arena, const struct metric_question *question,
                                  int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct ask ask = ask_begin(arena, question, NULL, out, ei);
    int64_t to_ms = now_ms / 1000 * 1000;
    int64_t from_ms = ask_from_ms(&ask, to_ms);
    const char *token = ask_secret(&ask, "dynatrace_token");

    ask_header(&ask, "Authorization", arena_printf(arena, "Api-Token %s", token));
    if (question->query)
        ask_url(&ask, "/api/v2/metrics/query?from=%lld&metricSelector=%s&resolution=Inf&to=%lld",
                (long long)from_ms, url_encode_form(arena, question->query), (long long)to_ms);
    else
        ask_url(&ask, "/api/v2/metrics?pageSize=1");
    return ask_end(&ask);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *results = json_at(reply, "result", NULL);
    struct json_object *data = json_at(json_elem(results, 0), "data", NULL);
    struct json_object *last = json_elem(data, json_len(data) - 1);

    if (!json_object_is_type(results, json_type_array))
        return ask_unlike(arena, question, "result");
    return ask_chosen(arena,
                      ask_number(arena, question, json_elem(json_at(last, "values", NULL), 0)),
                      "last", json_len(data), "series");
}

static struct metric_answer dynatrace_answer(struct arena *arena,
                                             const struct metric_question *question,
                                             const struct http_result *result)
{
    return ask_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_dynatrace = {
    .type = "dynatrace",
    .intervals = ASK_WINDOW,
    .request = dynatrace_request,
    .answer = dynatrace_answer,
};
