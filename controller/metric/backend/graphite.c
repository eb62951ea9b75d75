/* Graphite: the render API. The query is the query string of the URL (target=...&from=...), which
 * is decoded and encoded again; the value is the last value of all series. */
#include <stdlib.h>
#include <string.h>

#include "metric/backend.h"

enum { MAX_PARAMETERS = 64 };

static const char *decoded(struct arena *arena, const char *text, size_t len)
{
    char *out = arena_strndup(arena, text, len);
    char *to = out;

    for (const char *at = out; *at; at++) {
        char hex[3] = {at[1], at[1] ? at[2] : '\0', '\0'};
        char *end;
        long byte = strtol(hex, &end, 16);
        if (*at == '%' && end == hex + 2 && byte > 0) {
            *to++ = (char)byte;
            at += 2;
        } else {
            *to++ = *at == '+' ? ' ' : *at;
        }
    }
    *to = '\0';
    return out;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "target=a&from=-5min" with each name and value encoded, and with format=json; sorted by name, as
 * in Go. */
static const char *parameters(struct backend_call *call, const char *query)
{
    struct arena *arena = call->arena;
    const char *list[MAX_PARAMETERS + 1] = {"format=json"};
    size_t count = 1;
    const char *all = "";

    for (const char *at = query; *at; at += strspn(at, "&")) {
        size_t len = strcspn(at, "&"), name = strcspn(at, "=&");
        size_t value = name < len ? name + 1 : len;
        const char *key = decoded(arena, at, name);
        if (count > MAX_PARAMETERS)
            backend_fail(call, "graphite: a query of more than %d parameters", MAX_PARAMETERS);
        else if (len > 0 && strcmp(key, "format") != 0)
            list[count++] =
                arena_printf(arena, "%s=%s", url_encode_form(arena, key),
                             url_encode_form(arena, decoded(arena, at + value, len - value)));
        at += len;
    }
    qsort(list, count, sizeof(list[0]), by_text);
    for (size_t i = 0; i < count; i++)
        all = arena_printf(arena, "%s%s%s", all, *all ? "&" : "", list[i]);
    return all;
}

static enum err graphite_request(struct arena *arena, const struct metric_question *question,
                                 int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct backend_call call = backend_begin(arena, question, NULL, out, ei);
    const char *query =
        backend_one_line(arena, question->query ? question->query : "target=test", NULL);

    (void)now_ms;
    backend_url(&call, "/render?%s", parameters(&call, query + strspn(query, " ")));
    if (question->secret && !backend_basic(&call))
        backend_fail(&call, "graphite credentials: the secret needs username and password");
    return backend_end(&call);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *last = NULL, *at = NULL;
    struct metric_answer answer;

    if (!json_object_is_type(reply, json_type_array))
        return backend_unlike(arena, question, "of series");
    for (size_t i = 0; i < json_len(reply); i++) {
        struct json_object *points = json_at(json_elem(reply, i), "datapoints", NULL);
        for (size_t k = 0; k < json_len(points); k++) {
            struct json_object *value = json_elem(json_elem(points, k), 0);
            if (!value)
                continue;
            last = value;
            at = json_elem(json_elem(points, k), 1);
        }
    }
    answer = backend_number(arena, question, last);
    answer.at_ms = backend_time_ms(at, 1000);
    return backend_chosen(arena, answer, "last", json_len(reply), "series");
}

static struct metric_answer graphite_answer(struct arena *arena,
                                            const struct metric_question *question,
                                            const struct http_result *result)
{
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_graphite = {
    .type = "graphite",
    .request = graphite_request,
    .answer = graphite_answer,
};
