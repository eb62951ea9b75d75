/*
 * Splunk Observability: a SignalFlow computation over HTTP. The reply is a stream of server-sent
 * events that ends with the window. Expects one time series; its last value is used.
 */
#include <string.h>

#include "metric/backend.h"

static enum err splunk_request(struct arena *arena, const struct metric_question *question,
                               int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct metric_question asked = *question;

    /* The address may be the stream's or the API's, as a WebSocket or an HTTP URL. */
    if (asked.address && strncmp(asked.address, "ws", 2) == 0)
        asked.address = backend_replace_first(arena, asked.address, "ws", "http");
    if (asked.address)
        asked.address = question->query
                            ? backend_replace_first(arena, asked.address, "api", "stream")
                            : backend_replace_first(arena, asked.address, "stream", "api");
    struct backend_call call = backend_begin(arena, &asked, NULL, out, ei);
    int64_t from_ms = backend_from_ms(&call, now_ms);
    backend_header(&call, "X-SF-Token", backend_secret(&call, "sf_token_key"));
    if (!question->query) {
        backend_url(&call, "/v2/metric?limit=1");
        return backend_end(&call);
    }
    backend_url(&call, "/v2/signalflow/execute?immediate=true&start=%lld&stop=%lld",
                (long long)from_ms, (long long)now_ms);
    backend_header(&call, "Accept", "text/event-stream");
    backend_body(&call, "text/plain", question->query);
    return backend_end(&call);
}

struct series {
    const char *id; /* id of the only series; NULL if there is none yet */
    bool several;
    struct metric_answer last;
};

static void read_data(struct arena *own, struct arena *arena,
                      const struct metric_question *question, const char *text,
                      struct series *series)
{
    struct json_object *event = NULL;
    struct errinfo ei;

    if (json_parse(own, text, strlen(text), BACKEND_MAX_ANSWER, &event, &ei) != ERR_OK) {
        series->last = backend_failure(arena_printf(arena, "splunk sent no JSON: %s", ei.text));
        return;
    }
    struct json_object *data = json_at(event, "data", NULL);
    for (size_t i = 0; i < json_len(data); i++) {
        struct json_object *value = json_at(json_elem(data, i), "value", NULL);
        const char *id = json_str_at(json_elem(data, i), "tsId", NULL);
        if (!value || !id)
            continue;
        series->several = series->several || (series->id && strcmp(series->id, id) != 0);
        series->id = arena_strdup(own, id);
        series->last = backend_number(arena, question, value);
    }
}

/* One event: lines "event: KIND" and "data: ..." up to the next empty line; *at moves past it. */
static const char *read_event(struct arena *own, const char **at, const char **kind)
{
    char *data = arena_alloc(own, strlen(*at) + 1), *to = data;

    *kind = "";
    while (**at) {
        size_t len = strcspn(*at, "\r\n");
        const char *line = *at;
        *at += len;
        *at += **at == '\r';
        *at += **at == '\n';
        if (len == 0)
            break;
        if (strncmp(line, "event: ", 7) == 0) {
            *kind = arena_strndup(own, line + 7, len - 7);
        } else if (strncmp(line, "data: ", 6) == 0) {
            memcpy(to, line + 6, len - 6);
            to += len - 6;
        }
    }
    return data;
}

static struct metric_answer read_stream(struct arena *own, struct arena *arena,
                                        const struct metric_question *question, const char *text)
{
    struct series series = {.last = backend_no_values("no data")};
    bool events = text[strspn(text, " \r\n")] == '\0'; /* or there are no events at all */

    while (*text) {
        struct arena *of_event = arena_new();
        const char *kind;
        const char *data = read_event(of_event, &text, &kind);
        bool error = strcmp(kind, "error") == 0;
        events = events || *kind;
        if (error)
            series.last = backend_failure(
                arena_printf(arena, "error response: %.*s", BACKEND_SAID_MAX, data));
        else if (strcmp(kind, "data") == 0)
            read_data(own, arena, question, data, &series);
        arena_free(of_event);
        if (error)
            return series.last;
    }
    if (!events)
        return backend_failure("splunk sent no events");
    return series.several ? backend_failure("query returned multiple values") : series.last;
}

static struct metric_answer splunk_answer(struct arena *arena,
                                          const struct metric_question *question,
                                          const struct http_result *result)
{
    if (result->status != 200)
        return backend_refused(arena, result);
    if (!question->query)
        return (struct metric_answer){.outcome = METRIC_VALUE, .value = 1};
    struct arena *own = arena_new();
    struct metric_answer answer = read_stream(own, arena, question, result->body);
    arena_free(own);
    return answer;
}

const struct metric_backend metric_backend_splunk = {
    .type = "splunk",
    .intervals = BACKEND_WINDOW,
    .request = splunk_request,
    .answer = splunk_answer,
};
