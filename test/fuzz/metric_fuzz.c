/* Answers of metric servers: any reply is a number or a sentence, the same each time. The first
 * bytes choose the backend, the query and the status. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "metric/backend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const queries[] = {NULL, "q", "SELECT 1", "[]"};
    static const int statuses[] = {200, 200, 302, 400, 503};
    size_t backends = 0;

    while (metric_backend_table[backends])
        backends++;
    if (size < 3 || backends == 0)
        return 0;
    struct arena *arena = arena_new();
    const struct metric_backend *backend = metric_backend_table[data[0] % backends];
    const struct metric_question question = {.backend = backend->type,
                                             .query = queries[data[1] % 4]};
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
    arena_free(arena);
    return 0;
}
