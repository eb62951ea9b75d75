/* Answers of metric servers: any reply is a number or a sentence, the same each time; and any reply
 * before it, such as a token, leads to another request or to a sentence. The first bytes choose the
 * backend, the query and the status. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "fuzz.h"
#include "metric/backend.h"

static void check_next(struct arena *arena, const struct metric_backend *backend,
                       const struct metric_question *question, const struct http_result *result,
                       bool makes)
{
    struct metric_request request = {.http = {.method = makes ? "POST" : "GET",
                                              .url = "http://169.254.169.254/latest/meta-data/iam/"
                                                     "security-credentials/node"}};
    struct metric_step step = {.more = false};
    struct errinfo ei = {0};

    if (backend->lasts)
        assert(backend->lasts(arena, 1700000000000, result) >= 0);
    if (!backend->next)
        return;
    enum err err = backend->next(arena, question, 1700000000000, result, &request, &step, &ei);
    assert(err == ERR_OK ? !step.more || *request.http.url : *ei.text);
}

FUZZ_TARGET(arena, data, size)
{
    static const char *const queries[] = {NULL, "q", "SELECT 1", "$.a[0].b"};
    static const int statuses[] = {200, 200, 302, 400, 503};
    size_t backends = 0;

    while (metric_backend_table[backends])
        backends++;
    if (size < 3 || backends == 0)
        return;
    const struct metric_backend *backend = metric_backend_table[data[0] % backends];
    struct json_object *spec = json_own(arena, json_object_new_object());
    const struct metric_question question = {.backend = backend->type,
                                             .address = "https://metrics.example",
                                             .query = data[1] & 128 ? "analysis/a/b/1m/c=d"
                                                                    : queries[data[1] % 4],
                                             .interval_ms = 60000,
                                             .spec = spec,
                                             .at_s = 1700000000,
                                             .every_s = 10,
                                             .times = data[1] & 8 ? 3 : 0,
                                             .histogram = data[1] & 4,
                                             .ambient = data[2] & 32 ? spec : NULL};
    json_set_str(spec, "region", "eu-west-1");
    const char *body = arena_strndup(arena, (const char *)data + 3, size - 3);
    const struct http_result result = {.status = statuses[data[2] % 5],
                                       .body = body,
                                       .body_len = strlen(body),
                                       .content_type = data[2] & 64 ? "text/html" : ""};
    struct metric_answer answer = backend->answer(arena, &question, &result);
    struct metric_answer again = backend->answer(arena, &question, &result);

    assert(answer.outcome == again.outcome);
    if (answer.outcome == METRIC_VALUE)
        assert(!isnan(answer.value) && answer.value == again.value);
    else
        assert(answer.text && *answer.text && strcmp(answer.text, again.text) == 0);
    check_next(arena, backend, &question, &result, data[1] & 64);
}
