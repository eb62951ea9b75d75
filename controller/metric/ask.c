#include "metric/ask.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

enum { MAX_HEADERS = 64, OWN_HEADERS = 8 };

static bool is_https(const char *address)
{
    return strncmp(address, "https://", 8) == 0;
}

void ask_fail(struct ask *ask, const char *fmt, ...)
{
    va_list args;

    if (ask->err != ERR_OK)
        return;
    va_start(args, fmt);
    ask->err = err_set(ask->ei, ERR_INVALID, "%s", arena_vprintf(ask->arena, fmt, args));
    va_end(args);
}

/* A CA that would never be looked at is a mistake of somebody who feels safe. */
static void fill_tls(struct ask *ask)
{
    const struct metric_question *question = ask->question;
    bool insecure = json_bool_at(question->spec, false, "insecureSkipVerify", NULL);

    /* An object says neither where the credentials of the process go nor to which certificate. */
    if (question->ambient || (!insecure && !question->ca_pem))
        return;
    if (question->ca_pem && (insecure || !is_https(ask->base))) {
        ask_fail(ask, "%s: caSecretRef needs %s", question->backend,
                 insecure ? "a provider without insecureSkipVerify, which believes everybody"
                          : "an address that begins with https://");
        return;
    }
    struct http_tls *tls = ARENA_NEW(ask->arena, struct http_tls);
    *tls = (struct http_tls){.insecure = insecure, .ca_pem = question->ca_pem};
    ask->out->http.tls = tls;
}

const char *ask_headers_refusal(struct arena *arena, struct json_object *spec)
{
    struct json_object *given = json_at(spec, "headers", NULL);

    if (!json_object_is_type(given, json_type_object))
        return NULL;
    json_object_object_foreach(given, name, values)
    {
        (void)values;
        if (http_header_is_reserved(name))
            return arena_printf(arena,
                                "spec.provider.headers: %.80s is a header that cannot be set: it "
                                "belongs to the request itself",
                                name);
    }
    return NULL;
}

static void fill_headers(struct ask *ask)
{
    struct json_object *given = json_at(ask->question->spec, "headers", NULL);
    const char *refusal = ask_headers_refusal(ask->arena, ask->question->spec);

    if (refusal)
        ask_fail(ask, "%s", refusal);

    ask->out->http.headers =
        arena_array(ask->arena, MAX_HEADERS + OWN_HEADERS + 1, sizeof *ask->out->http.headers);
    if (!json_object_is_type(given, json_type_object))
        return;
    json_object_object_foreach(given, name, values)
    {
        for (size_t i = 0; i < json_len(values); i++) {
            if (ask->headers == MAX_HEADERS) {
                ask_fail(ask, "spec.provider.headers: more than %d headers", MAX_HEADERS);
                return;
            }
            ask_header(ask, name, json_object_get_string(json_elem(values, i)));
        }
    }
}

bool ask_may_read(const struct metric_question *question, const char *namespace_,
                  struct errinfo *ei)
{
    if (!question->only_namespace || strcmp(question->only_namespace, namespace_) == 0)
        return true;
    err_set(
        ei, ERR_INVALID,
        "%s: the query reads namespace %s, and cross-namespace references are blocked: expected "
        "%s",
        question->backend, namespace_, question->only_namespace);
    return false;
}

struct ask ask_begin(struct arena *arena, const struct metric_question *question,
                     const char *if_none, struct metric_request *out, struct errinfo *ei)
{
    bool named = question->address && *question->address && !question->ambient;
    const char *address = named ? question->address : if_none;
    struct ask ask = {.arena = arena, .question = question, .out = out, .ei = ei, .base = ""};

    *out = (struct metric_request){
        .http = {.method = "GET", .timeout_ms = ASK_TIMEOUT_MS, .max_body = ASK_MAX_ANSWER},
        .to = named ? METRIC_TO_ADDRESS : METRIC_TO_PROVIDER};
    if (!address || (strncmp(address, "http://", 7) != 0 && !is_https(address))) {
        ask_fail(&ask, "%s address \"%s\" is not a valid URL", question->backend,
                 address ? address : "");
    } else {
        size_t len = strlen(address);
        while (len > 0 && address[len - 1] == '/')
            len--;
        ask.base = arena_strndup(arena, address, len);
    }
    fill_tls(&ask);
    fill_headers(&ask);
    return ask;
}

enum err ask_end(struct ask *ask)
{
    return ask->err;
}

void ask_url(struct ask *ask, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    ask->out->http.url =
        arena_printf(ask->arena, "%s%s", ask->base, arena_vprintf(ask->arena, fmt, args));
    va_end(args);
}

void ask_header(struct ask *ask, const char *name, const char *value)
{
    struct http_header *headers = (struct http_header *)ask->out->http.headers;

    if (ask->headers == MAX_HEADERS + OWN_HEADERS)
        ask_fail(ask, "more headers than the %d that can be sent", MAX_HEADERS + OWN_HEADERS);
    else
        headers[ask->headers++] = (struct http_header){.name = name, .value = value};
}

void ask_body(struct ask *ask, const char *type, const char *body)
{
    ask->out->http.method = "POST";
    ask->out->http.body = body;
    ask->out->http.body_len = strlen(body);
    ask_header(ask, "Content-Type", type);
}

const char *ask_secret_or(struct arena *arena, struct json_object *secret, const char *key)
{
    const char *encoded = json_str_at(secret, "data", key, NULL);
    char *text;
    struct errinfo ei;

    if (!encoded || base64_decode(arena, encoded, &text, NULL, &ei) != ERR_OK)
        return NULL;
    return text;
}

const char *ask_ambient(const struct metric_question *question, const char *variable)
{
    return json_str_at(question->ambient, variable, NULL);
}

const char *ask_secret(struct ask *ask, const char *key)
{
    const char *text = ask_secret_or(ask->arena, ask->question->secret, key);

    if (!text)
        ask_fail(ask, "%s credentials: the secret of secretRef needs the key %s",
                 ask->question->backend, key);
    return text ? text : "";
}

bool ask_basic(struct ask *ask)
{
    const char *user = ask_secret_or(ask->arena, ask->question->secret, "username");
    const char *password = ask_secret_or(ask->arena, ask->question->secret, "password");

    if (!user || !password)
        return false;
    const char *pair = arena_printf(ask->arena, "%s:%s", user, password);
    ask_header(ask, "Authorization",
               arena_printf(ask->arena, "Basic %s", base64_encode(ask->arena, pair, strlen(pair))));
    return true;
}

int64_t ask_from_ms(struct ask *ask, int64_t now_ms)
{
    if (ask->question->interval_ms <= 0) {
        ask_fail(ask, "%s needs the interval of the metric, such as 1m", ask->question->backend);
        return now_ms;
    }
    return now_ms - ASK_WINDOW * ask->question->interval_ms;
}

const char *ask_one_line(struct arena *arena, const char *query)
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

const char *ask_replace_first(struct arena *arena, const char *text, const char *from,
                              const char *to)
{
    const char *at = strstr(text, from);

    if (!at)
        return text;
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

struct metric_answer ask_failure(const char *text)
{
    return (struct metric_answer){.outcome = METRIC_ERROR, .text = text};
}

struct metric_answer ask_no_values(const char *note)
{
    return (struct metric_answer){
        .outcome = METRIC_NO_VALUES, .text = "no values found", .note = note};
}

struct metric_answer ask_unlike(struct arena *arena, const struct metric_question *question,
                                const char *list)
{
    return ask_failure(
        arena_printf(arena, "%s sent JSON without the list %s", question->backend, list));
}

struct metric_answer ask_chosen(struct arena *arena, struct metric_answer answer, const char *which,
                                size_t n, const char *of)
{
    if (n > 1)
        answer.note = arena_printf(arena, "%s%sthe %s of %zu %s", answer.note ? answer.note : "",
                                   answer.note ? ", " : "", which, n, of);
    return answer;
}

static struct metric_answer value_of(double value)
{
    if (isnan(value))
        return ask_no_values("NaN");
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = value};
}

struct metric_answer ask_number_text(struct arena *arena, const struct metric_question *question,
                                     const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || isspace((unsigned char)*text))
        return ask_failure(
            arena_printf(arena, "%s sent \"%.50s\", expected a number", question->backend, text));
    return value_of(value);
}

struct metric_answer ask_number(struct arena *arena, const struct metric_question *question,
                                struct json_object *number)
{
    if (!number)
        return ask_no_values("nothing where the value should be");
    if (json_object_is_type(number, json_type_double) || json_object_is_type(number, json_type_int))
        return value_of(json_object_get_double(number));
    return ask_number_text(arena, question, json_object_get_string(number));
}

int64_t ask_time_ms(struct json_object *time, int unit_ms)
{
    double ms = time ? json_object_get_double(time) * unit_ms : 0;

    return ms > 0 && ms < 9e15 ? (int64_t)ms : 0;
}

/* The beginning of a text that somebody sent, in one line. */
static const char *said(struct arena *arena, const char *text)
{
    size_t len = utf8_cut(text, strnlen(text, ASK_SAID_MAX));

    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    return ask_one_line(arena, arena_strndup(arena, text, len));
}

static const char *status_note(struct arena *arena, const struct http_result *result)
{
    if (result->retry_after_ms > 0)
        return arena_printf(arena, "status %d, not to be asked again for %lld s", result->status,
                            (long long)(result->retry_after_ms + 999) / 1000);
    if (result->redirect_url)
        return arena_printf(arena, "status %d to %s", result->status,
                            url_origin(arena, result->redirect_url));
    return arena_printf(arena, "status %d", result->status);
}

struct metric_answer ask_refused(struct arena *arena, const struct http_result *result)
{
    struct metric_answer answer;

    if (result->body_len == 0) {
        answer = ask_failure(
            arena_printf(arena, "error response: status %d without a text", result->status));
    } else {
        answer = ask_failure(arena_printf(arena, "error response: %s", said(arena, result->body)));
        answer.note = status_note(arena, result);
    }
    answer.retry_ms = result->retry_after_ms;
    return answer;
}

/* A page for people, or something that only begins as JSON. */
static struct metric_answer no_json(struct arena *arena, const struct metric_question *question,
                                    const struct http_result *result, const char *why)
{
    bool page = strncmp(result->content_type, "text/html", 9) == 0;

    if (!page)
        return ask_failure(arena_printf(arena, "%s sent no JSON: %s", question->backend, why));
    return ask_failure(arena_printf(arena, "%s sent a page, expected JSON: %s", question->backend,
                                    said(arena, result->body)));
}

struct metric_answer ask_read_json(struct arena *arena, const struct metric_question *question,
                                   const struct http_result *result, ask_read_fn read)
{
    struct json_object *reply;
    struct metric_answer answer;
    struct errinfo ei;

    if (result->status < 200 || result->status > 299)
        return ask_refused(arena, result);
    struct arena *own = arena_new();
    if (json_parse(own, result->body, result->body_len, ASK_MAX_ANSWER, &reply, &ei) != ERR_OK)
        answer = no_json(arena, question, result, ei.text);
    else if (!question->query)
        answer = value_of(1);
    else
        answer = read(arena, question, reply);
    arena_free(own);
    return answer;
}
