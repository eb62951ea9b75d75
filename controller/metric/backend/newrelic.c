/* New Relic: NRQL through the Insights query API. Expects exactly one result. */
#include "metric/backend.h"

static enum err newrelic_request(struct arena *arena, const struct metric_question *question,
                                 int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct backend_call call =
        backend_begin(arena, question, "https://insights-api.newrelic.com", out, ei);
    const char *account = backend_secret(&call, "newrelic_account_id");
    const char *query = question->query ? question->query : "SELECT * FROM Metric";

    (void)backend_from_ms(&call, now_ms); /* reports that there is no interval */
    backend_header(&call, "X-Query-Key", backend_secret(&call, "newrelic_query_key"));
    const char *nrql = arena_printf(arena, "%s SINCE %lld seconds ago", query,
                                    (long long)(question->interval_ms / 1000));
    backend_url(&call, "/v1/accounts/%s/query?nrql=%s", url_encode(arena, account),
                url_encode_form(arena, nrql));
    return backend_end(&call);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *results = json_at(reply, "results", NULL);

    if (!json_object_is_type(results, json_type_array))
        return backend_unlike(arena, question, "results");
    if (json_len(results) != 1)
        return backend_no_values(
            arena_printf(arena, "%zu results, expected one", json_len(results)));
    return backend_number(arena, question, json_at(json_elem(results, 0), "result", NULL));
}

static struct metric_answer newrelic_answer(struct arena *arena,
                                            const struct metric_question *question,
                                            const struct http_result *result)
{
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_newrelic = {
    .type = "newrelic",
    .request = newrelic_request,
    .answer = newrelic_answer,
};
