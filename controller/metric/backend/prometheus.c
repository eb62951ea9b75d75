/* Prometheus and what speaks its HTTP API (metric/METRICS.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "metric/backend.h"

/* One number is wanted; of several series the last one counts, and a thousand of them are shorter
 * than this. */
enum { TIMEOUT_MS = 5000, MAX_HEADERS = 64, SAID_MAX = 300, MAX_ANSWER = 256 * 1024 };

/* A key of the Secret as text; NULL when it has none. */
static const char *secret_text(struct arena *arena, struct json_object *secret, const char *key)
{
    const char *encoded = json_str_at(secret, "data", key, NULL);
    char *text;
    struct errinfo ei;

    if (!encoded || base64_decode(arena, encoded, &text, NULL, &ei) != ERR_OK)
        return NULL;
    return text;
}

static enum err authorization(struct arena *arena, struct json_object *secret, const char **out,
                              struct errinfo *ei)
{
    const char *token = secret_text(arena, secret, "token");
    const char *user = secret_text(arena, secret, "username");
    const char *password = secret_text(arena, secret, "password");

    if (token) {
        *out = arena_printf(arena, "Bearer %s", token);
        return ERR_OK;
    }
    if (!user || !password)
        return err_set(ei, ERR_INVALID,
                       "prometheus credentials: the secret needs token, or username and password");
    const char *pair = arena_printf(arena, "%s:%s", user, password);
    *out = arena_printf(arena, "Basic %s", base64_encode(arena, pair, strlen(pair)));
    return ERR_OK;
}

static enum err fill_headers(struct arena *arena, const struct metric_question *question,
                             const struct http_header **out, struct errinfo *ei)
{
    struct http_header *headers = arena_array(arena, MAX_HEADERS + 2, sizeof *headers);
    struct json_object *given = json_at(question->spec, "headers", NULL);
    int count = 0;

    *out = headers;
    if (json_object_is_type(given, json_type_object)) {
        json_object_object_foreach(given, name, values)
        {
            for (size_t i = 0; i < json_len(values); i++) {
                if (count == MAX_HEADERS)
                    return err_set(ei, ERR_INVALID, "spec.provider.headers: more than %d headers",
                                   MAX_HEADERS);
                headers[count++] = (struct http_header){
                    .name = name, .value = json_object_get_string(json_elem(values, i))};
            }
        }
    }
    if (!question->secret)
        return ERR_OK;
    headers[count].name = "Authorization";
    return authorization(arena, question->secret, &headers[count].value, ei);
}

/* Every run of white space becomes one space, so that a query written over several lines is one
 * line. */
static const char *one_line(struct arena *arena, const char *query)
{
    char *out = arena_strdup(arena, query);
    char *to = out;

    for (const char *from = query; *from; from++) {
        bool space = strchr(" \t\r\n\f\v", *from) != NULL;
        if (space && to > out && to[-1] == ' ')
            continue;
        *to++ = space ? ' ' : *from;
    }
    *to = '\0';
    return out;
}

/* A CA that would never be looked at is a mistake of somebody who feels safe. */
static enum err fill_tls(struct arena *arena, const struct metric_question *question,
                         const struct http_tls **out, struct errinfo *ei)
{
    bool insecure = json_bool_at(question->spec, false, "insecureSkipVerify", NULL);
    bool https = strncmp(question->address, "https://", 8) == 0;

    if (!insecure && !question->ca_pem)
        return ERR_OK;
    if (question->ca_pem && (insecure || !https))
        return err_set(ei, ERR_INVALID, "prometheus: caSecretRef needs %s",
                       insecure ? "a provider without insecureSkipVerify, which believes everybody"
                                : "an address that begins with https://");
    struct http_tls *tls = ARENA_NEW(arena, struct http_tls);
    *tls = (struct http_tls){.insecure = insecure, .ca_pem = question->ca_pem};
    *out = tls;
    return ERR_OK;
}

static enum err query_request(struct arena *arena, const struct metric_question *question,
                              const char *query, struct http_request *out, struct errinfo *ei)
{
    const char *address = question->address;

    if (!address || (strncmp(address, "http://", 7) != 0 && strncmp(address, "https://", 8) != 0))
        return err_set(ei, ERR_INVALID, "prometheus address \"%s\" is not a valid URL",
                       address ? address : "");
    size_t len = strlen(address);
    while (len > 0 && address[len - 1] == '/')
        len--;
    *out = (struct http_request){
        .method = "GET",
        .url = arena_printf(arena, "%.*s/api/v1/query?query=%s", (int)len, address,
                            url_encode_form(arena, one_line(arena, query))),
        .timeout_ms = TIMEOUT_MS,
        .max_body = MAX_ANSWER,
    };
    enum err err = fill_tls(arena, question, &out->tls, ei);
    if (err != ERR_OK)
        return err;
    return fill_headers(arena, question, &out->headers, ei);
}

static enum err prometheus_request(struct arena *arena, const struct metric_question *question,
                                   int64_t now_ms, struct http_request *out, struct errinfo *ei)
{
    (void)now_ms;
    return query_request(arena, question, question->query, out, ei);
}

static enum err prometheus_probe(struct arena *arena, const struct metric_question *question,
                                 int64_t now_ms, struct http_request *out, struct errinfo *ei)
{
    (void)now_ms;
    return query_request(arena, question, "vector(1)", out, ei);
}

static struct metric_answer failure(const char *text)
{
    return (struct metric_answer){.outcome = METRIC_ERROR, .text = text};
}

/* A sample is [time, "value"]. */
static struct metric_answer read_sample(struct arena *arena, struct json_object *sample)
{
    struct json_object *text = json_elem(sample, 1);
    char *end;

    if (!json_object_is_type(text, json_type_string))
        return failure("prometheus sent a sample without a value");
    double value = strtod(json_object_get_string(text), &end);
    if (end == json_object_get_string(text) || *end)
        return failure(arena_printf(arena, "prometheus sent \"%.50s\", expected a number",
                                    json_object_get_string(text)));
    if (isnan(value))
        return (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = value};
}

static struct metric_answer read_reply(struct arena *arena, struct json_object *reply)
{
    const char *type = json_str_at(reply, "data", "resultType", NULL);
    struct json_object *list = json_at(reply, "data", "result", NULL);

    if (type && strcmp(type, "scalar") == 0)
        return read_sample(arena, list);
    /* As Flagger: of several series the last one counts. */
    struct json_object *series = json_elem(list, json_len(list) - 1);
    if (!series)
        return (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
    if (json_at(series, "values", NULL))
        return failure("query returned multiple values");
    return read_sample(arena, json_at(series, "value", NULL));
}

static struct metric_answer prometheus_answer(struct arena *arena,
                                              const struct metric_question *question,
                                              const struct http_result *result)
{
    struct arena *own = arena_new(); /* the tree goes at once, the arena given lives for the tick */
    struct metric_answer answer;
    struct json_object *reply;
    struct errinfo ei;

    (void)question;
    if (result->status >= 400)
        answer = failure(arena_printf(arena, "error response: %.*s", SAID_MAX, result->body));
    else if (json_parse(own, result->body, result->body_len, MAX_ANSWER, &reply, &ei) != ERR_OK)
        answer = failure(arena_printf(arena, "prometheus sent no JSON: %s", ei.text));
    else
        answer = read_reply(arena, reply);
    arena_free(own);
    return answer;
}

const struct metric_backend metric_backend_prometheus = {
    .type = "prometheus",
    .request = prometheus_request,
    .probe = prometheus_probe,
    .answer = prometheus_answer,
};
