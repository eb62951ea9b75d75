#include "metric/backend.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"

const struct kube_resource metric_templates = {.group = "flagger.app",
                                               .version = "v1beta1",
                                               .plural = "metrictemplates",
                                               .kind = "MetricTemplate"};

const struct metric_backend *metric_backend_find(const char *type)
{
    for (size_t i = 0; type && metric_backend_table[i]; i++) {
        if (strcmp(metric_backend_table[i]->type, type) == 0)
            return metric_backend_table[i];
    }
    return NULL;
}

bool metric_backend_is_ambient(const struct metric_backend *backend, struct json_object *secret)
{
    if (!backend->ambient)
        return false;
    for (const char *const *key = backend->own; *key; key++) {
        if (json_at(secret, "data", *key, NULL))
            return false;
    }
    return true;
}

const char *metric_backend_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; metric_backend_table[i]; i++)
        all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", metric_backend_table[i]->type);
    return all;
}

enum { MAX_HEADERS = 64, OWN_HEADERS = 8 };

static bool is_https(const char *address)
{
    return strncmp(address, "https://", 8) == 0;
}

void backend_fail(struct backend_call *call, const char *fmt, ...)
{
    va_list args;

    if (call->err != ERR_OK)
        return;
    va_start(args, fmt);
    call->err = err_set(call->ei, ERR_INVALID, "%s", arena_vprintf(call->arena, fmt, args));
    va_end(args);
}

/* A CA that would never be used is a mistake that gives a false sense of security. */
static void fill_tls(struct backend_call *call)
{
    const struct metric_question *question = call->question;
    bool insecure = json_bool_at(question->spec, false, "insecureSkipVerify", NULL);

    /* An object can set neither the host for the process' credentials nor its certificate. */
    if (question->ambient || (!insecure && !question->ca_pem))
        return;
    if (question->ca_pem && (insecure || !is_https(call->base))) {
        backend_fail(call, "%s: caSecretRef needs %s", question->backend,
                     insecure ? "a provider without insecureSkipVerify, which believes everybody"
                              : "an address that begins with https://");
        return;
    }
    struct http_tls *tls = ARENA_NEW(call->arena, struct http_tls);
    *tls = (struct http_tls){.insecure = insecure, .ca_pem = question->ca_pem};
    call->out->http.tls = tls;
}

const char *backend_headers_refusal(struct arena *arena, struct json_object *spec)
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

static void fill_headers(struct backend_call *call)
{
    struct json_object *given = json_at(call->question->spec, "headers", NULL);
    const char *refusal = backend_headers_refusal(call->arena, call->question->spec);

    if (refusal)
        backend_fail(call, "%s", refusal);

    call->out->http.headers =
        arena_array(call->arena, MAX_HEADERS + OWN_HEADERS + 1, sizeof *call->out->http.headers);
    if (!json_object_is_type(given, json_type_object))
        return;
    json_object_object_foreach(given, name, values)
    {
        for (size_t i = 0; i < json_len(values); i++) {
            if (call->headers == MAX_HEADERS) {
                backend_fail(call, "spec.provider.headers: more than %d headers", MAX_HEADERS);
                return;
            }
            backend_header(call, name, json_object_get_string(json_elem(values, i)));
        }
    }
}

bool backend_may_read(const struct metric_question *question, const char *namespace_,
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

struct backend_call backend_begin(struct arena *arena, const struct metric_question *question,
                                  const char *if_none, struct metric_request *out,
                                  struct errinfo *ei)
{
    bool named = question->address && *question->address && !question->ambient;
    const char *address = named ? question->address : if_none;
    struct backend_call call = {
        .arena = arena, .question = question, .out = out, .ei = ei, .base = ""};

    *out = (struct metric_request){
        .http = {.method = "GET", .timeout_ms = BACKEND_TIMEOUT_MS, .max_body = BACKEND_MAX_ANSWER},
        .to = named ? METRIC_TO_ADDRESS : METRIC_TO_PROVIDER};
    if (!address || (strncmp(address, "http://", 7) != 0 && !is_https(address))) {
        backend_fail(&call, "%s address \"%s\" is not a valid URL", question->backend,
                     address ? address : "");
    } else {
        size_t len = strlen(address);
        while (len > 0 && address[len - 1] == '/')
            len--;
        call.base = arena_strndup(arena, address, len);
    }
    fill_tls(&call);
    fill_headers(&call);
    return call;
}

enum err backend_end(struct backend_call *call)
{
    return call->err;
}

void backend_url(struct backend_call *call, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    call->out->http.url =
        arena_printf(call->arena, "%s%s", call->base, arena_vprintf(call->arena, fmt, args));
    va_end(args);
}

void backend_header(struct backend_call *call, const char *name, const char *value)
{
    struct http_header *headers = (struct http_header *)call->out->http.headers;

    if (call->headers == MAX_HEADERS + OWN_HEADERS)
        backend_fail(call, "more headers than the %d that can be sent", MAX_HEADERS + OWN_HEADERS);
    else
        headers[call->headers++] = (struct http_header){.name = name, .value = value};
}

void backend_body(struct backend_call *call, const char *type, const char *body)
{
    call->out->http.method = "POST";
    call->out->http.body = body;
    call->out->http.body_len = strlen(body);
    backend_header(call, "Content-Type", type);
}

const char *backend_secret_or(struct arena *arena, struct json_object *secret, const char *key)
{
    const char *encoded = json_str_at(secret, "data", key, NULL);
    char *text;
    struct errinfo ei;

    if (!encoded || base64_decode(arena, encoded, &text, NULL, &ei) != ERR_OK)
        return NULL;
    return text;
}

const char *backend_ambient(const struct metric_question *question, const char *variable)
{
    return json_str_at(question->ambient, variable, NULL);
}

const char *backend_secret(struct backend_call *call, const char *key)
{
    const char *text = backend_secret_or(call->arena, call->question->secret, key);

    if (!text)
        backend_fail(call, "%s credentials: the secret of secretRef needs the key %s",
                     call->question->backend, key);
    return text ? text : "";
}

bool backend_basic(struct backend_call *call)
{
    const char *user = backend_secret_or(call->arena, call->question->secret, "username");
    const char *password = backend_secret_or(call->arena, call->question->secret, "password");

    if (!user || !password)
        return false;
    const char *pair = arena_printf(call->arena, "%s:%s", user, password);
    backend_header(
        call, "Authorization",
        arena_printf(call->arena, "Basic %s", base64_encode(call->arena, pair, strlen(pair))));
    return true;
}

int64_t backend_from_ms(struct backend_call *call, int64_t now_ms)
{
    if (call->question->interval_ms <= 0) {
        backend_fail(call, "%s needs the interval of the metric, such as 1m",
                     call->question->backend);
        return now_ms;
    }
    return now_ms - BACKEND_WINDOW * call->question->interval_ms;
}

/* The end of the quoted text that begins here; if the quotes are not closed, the end of the
 * query. */
static const char *behind_quotes(const char *from)
{
    const char quote = *from++;

    for (; *from && *from != quote; from++)
        from += *from == '\\' && quote != '`' && from[1];
    return *from ? from + 1 : from;
}

/* The query with each comment replaced by a space. */
static const char *without_comments(struct arena *arena, const char *query, const char *comment)
{
    char *out = arena_strdup(arena, query), *to = out;

    for (const char *from = query; *from;) {
        if (strncmp(from, comment, strlen(comment)) == 0) {
            from += strcspn(from, "\n");
            *to++ = ' ';
            continue;
        }
        const char *end = strchr("\"'`", *from) ? behind_quotes(from) : from + 1;
        memcpy(to, from, (size_t)(end - from));
        to += end - from;
        from = end;
    }
    *to = '\0';
    return out;
}

const char *backend_one_line(struct arena *arena, const char *query, const char *comment)
{
    if (comment)
        query = without_comments(arena, query, comment);
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

const char *backend_replace_first(struct arena *arena, const char *text, const char *from,
                                  const char *to)
{
    const char *at = strstr(text, from);

    if (!at)
        return text;
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

struct metric_answer backend_failure(const char *text)
{
    return (struct metric_answer){.outcome = METRIC_ERROR, .text = text};
}

struct metric_answer backend_no_values(const char *note)
{
    return (struct metric_answer){
        .outcome = METRIC_NO_VALUES, .text = "no values found", .note = note};
}

struct metric_answer backend_unlike(struct arena *arena, const struct metric_question *question,
                                    const char *list)
{
    return backend_failure(
        arena_printf(arena, "%s sent JSON without the list %s", question->backend, list));
}

struct metric_answer backend_chosen(struct arena *arena, struct metric_answer answer,
                                    const char *which, size_t n, const char *of)
{
    if (n > 1)
        answer.note = arena_printf(arena, "%s%sthe %s of %zu %s", answer.note ? answer.note : "",
                                   answer.note ? ", " : "", which, n, of);
    return answer;
}

static struct metric_answer value_of(double value)
{
    if (isnan(value))
        return backend_no_values("NaN");
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = value};
}

struct metric_answer backend_number_text(struct arena *arena,
                                         const struct metric_question *question, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || isspace((unsigned char)*text))
        return backend_failure(
            arena_printf(arena, "%s sent \"%.50s\", expected a number", question->backend, text));
    return value_of(value);
}

struct metric_answer backend_number(struct arena *arena, const struct metric_question *question,
                                    struct json_object *number)
{
    if (!number)
        return backend_no_values("nothing where the value should be");
    if (json_object_is_type(number, json_type_double) || json_object_is_type(number, json_type_int))
        return value_of(json_object_get_double(number));
    return backend_number_text(arena, question, json_object_get_string(number));
}

int64_t backend_time_ms(struct json_object *time, int unit_ms)
{
    double ms = time ? json_object_get_double(time) * unit_ms : 0;

    return ms > 0 && ms < 9e15 ? (int64_t)ms : 0;
}

/* The beginning of a text that was received, as one line. */
static const char *said(struct arena *arena, const char *text)
{
    size_t len = utf8_cut(text, strnlen(text, BACKEND_SAID_MAX));

    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    return backend_one_line(arena, arena_strndup(arena, text, len), NULL);
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

struct metric_answer backend_refused(struct arena *arena, const struct http_result *result)
{
    struct metric_answer answer;

    if (result->body_len == 0) {
        answer = backend_failure(
            arena_printf(arena, "error response: status %d without a text", result->status));
    } else {
        answer =
            backend_failure(arena_printf(arena, "error response: %s", said(arena, result->body)));
        answer.note = status_note(arena, result);
    }
    answer.retry_ms = result->retry_after_ms;
    return answer;
}

/* An HTML page, or text that merely begins like JSON. */
static struct metric_answer no_json(struct arena *arena, const struct metric_question *question,
                                    const struct http_result *result, const char *why)
{
    bool page = strncmp(result->content_type, "text/html", 9) == 0;

    if (!page)
        return backend_failure(arena_printf(arena, "%s sent no JSON: %s", question->backend, why));
    return backend_failure(arena_printf(arena, "%s sent a page, expected JSON: %s",
                                        question->backend, said(arena, result->body)));
}

struct metric_answer backend_read_json(struct arena *arena, const struct metric_question *question,
                                       const struct http_result *result, backend_read_fn read)
{
    struct json_object *reply;
    struct metric_answer answer;
    struct errinfo ei;

    if (result->status < 200 || result->status > 299)
        return backend_refused(arena, result);
    struct arena *own = arena_new();
    if (json_parse(own, result->body, result->body_len, BACKEND_MAX_ANSWER, &reply, &ei) != ERR_OK)
        answer = no_json(arena, question, result, ei.text);
    else if (!question->query)
        answer = value_of(1);
    else
        answer = read(arena, question, reply);
    arena_free(own);
    return answer;
}
