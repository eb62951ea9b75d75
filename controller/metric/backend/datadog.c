/* Datadog: GET /api/v1/query. Of the first series the first, that is the oldest, point counts, as
 * in Flagger. */
#include "metric/ask.h"

static enum err datadog_request(struct arena *arena, const struct metric_question *question,
                                int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct ask ask = ask_begin(arena, question, "https://api.datadoghq.com", out, ei);
    int64_t from_ms = ask_from_ms(&ask, now_ms);

    ask_header(&ask, "DD-API-KEY", ask_secret(&ask, "datadog_api_key"));
    ask_header(&ask, "DD-APPLICATION-KEY", ask_secret(&ask, "datadog_application_key"));
    if (question->query)
        ask_url(&ask, "/api/v1/query?from=%lld&query=%s&to=%lld", (long long)(from_ms / 1000),
                url_encode_form(arena, question->query), (long long)(now_ms / 1000));
    else
        ask_url(&ask, "/api/v1/validate");
    return ask_end(&ask);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *all = json_at(reply, "series", NULL);
    struct json_object *point = json_elem(json_at(json_elem(all, 0), "pointlist", NULL), 0);
    const char *error = json_str_at(reply, "error", NULL);

    if (error && *error)
        return ask_failure(arena_printf(arena, "error response: %.*s", ASK_SAID_MAX, error));
    if (!json_object_is_type(all, json_type_array))
        return ask_unlike(arena, question, "series");
    return ask_chosen(arena, ask_number(arena, question, json_elem(point, 1)), "first",
                      json_len(all), "series");
}

static struct metric_answer datadog_answer(struct arena *arena,
                                           const struct metric_question *question,
                                           const struct http_result *result)
{
    return ask_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_datadog = {
    .type = "datadog",
    .intervals = ASK_WINDOW,
    .request = datadog_request,
    .answer = datadog_answer,
};
