/*
 * Any service that responds with JSON: the query is the JSONPath of the value (metric/jsonpath.h);
 * spec.provider has method, path, body and timeout. The Secret's keys are request headers, if it is
 * meant for that (kube/secret.h).
 */
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "kube/secret.h"
#include "metric/backend.h"
#include "metric/jsonpath.h"

enum { MIN_TIMEOUT_MS = 1000, MAX_TIMEOUT_MS = 60 * 1000 };

static const char *field_of(const struct metric_question *question, const char *field)
{
    const char *text = json_str_at(question->spec, field, NULL);

    return text && *text ? text : NULL;
}

/* GET, or POST if there is a body. */
static const char *method_of(struct backend_call *call)
{
    static const char *const methods[] = {"GET", "POST", "PUT", NULL};
    const char *method = field_of(call->question, "method");

    if (!method)
        return field_of(call->question, "body") ? "POST" : "GET";
    for (int i = 0; methods[i]; i++) {
        if (strcmp(methods[i], method) == 0)
            return methods[i];
    }
    backend_fail(call, "web: spec.provider.method: expected GET, POST or PUT, found \"%.20s\"",
                 method);
    return "GET";
}

static void fill_timeout(struct backend_call *call)
{
    const char *text = field_of(call->question, "timeout");
    struct errinfo ei;
    int64_t ms;

    if (!text)
        return;
    if (duration_parse_ms(text, &ms, &ei) != ERR_OK || ms < MIN_TIMEOUT_MS || ms > MAX_TIMEOUT_MS)
        backend_fail(call, "web: spec.provider.timeout: expected 1s to 60s, found \"%.20s\"", text);
    else
        call->out->http.timeout_ms = ms;
}

/* The rendered path always leads to the address' own host, whatever it contains. */
static void fill_url(struct backend_call *call)
{
    const char *path = call->question->path;

    if (!path || !*path) {
        if (call->err == ERR_OK)
            call->out->http.url = call->question->address;
        return;
    }
    if (*path != '/' && *path != '?')
        backend_fail(call,
                     "web: spec.provider.path: expected / or ? at its beginning, found "
                     "\"%.20s\"",
                     path);
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == '#' || *at == 0x7f)
            backend_fail(call,
                         "web: spec.provider.path: at character %d: expected no blank, control "
                         "character or #; write them as %%20, %%23",
                         (int)(at - path) + 1);
    }
    backend_url(call, "%s", path);
}

static bool has_header(const struct backend_call *call, const char *name)
{
    for (int i = 0; i < call->headers; i++) {
        if (strcasecmp(call->out->http.headers[i].name, name) == 0)
            return true;
    }
    return false;
}

/* A body is JSON unless spec.provider.headers sets another Content-Type. */
static void fill_body(struct backend_call *call)
{
    const char *method = method_of(call), *body = call->question->body;
    bool sends = strcmp(method, "GET") != 0;

    call->out->http.method = method;
    if (!sends && field_of(call->question, "body"))
        backend_fail(call, "web: spec.provider.body: expected method POST or PUT, found GET");
    if (!sends)
        return;
    call->out->http.body = body ? body : "";
    call->out->http.body_len = strlen(call->out->http.body);
    if (body && *body && !has_header(call, "Content-Type"))
        backend_header(call, "Content-Type", "application/json");
}

static const char *secret_name(struct arena *arena, const struct metric_question *question)
{
    const char *name = json_str_at(question->secret, "metadata", "name", NULL);
    const char *namespace_ = json_str_at(question->secret, "metadata", "namespace", NULL);

    return arena_printf(arena, "%s%s%s", name ? name : "", namespace_ ? "." : "",
                        namespace_ ? namespace_ : "");
}

/* Replaces the header with the same name in spec.provider.headers. */
static void put_header(struct backend_call *call, const struct http_header *header)
{
    struct http_header *headers = (struct http_header *)call->out->http.headers;
    int kept = 0;

    for (int i = 0; i < call->headers; i++) {
        if (strcasecmp(headers[i].name, header->name) != 0)
            headers[kept++] = headers[i];
    }
    headers[kept] = (struct http_header){0};
    call->headers = kept;
    backend_header(call, header->name, header->value);
}

static void fill_secret(struct backend_call *call)
{
    struct secret_headers headers = {0};
    struct errinfo ei;

    if (!call->question->secret)
        return;
    if (secret_headers_add(&headers, call->arena, secret_name(call->arena, call->question),
                           call->question->secret, &ei) != ERR_OK)
        backend_fail(call, "web credentials: %s", ei.text);
    for (int i = 0; i < headers.count; i++)
        put_header(call, &headers.list[i]);
}

/* The probe is a GET of just the address: a POST might change something. */
static enum err web_request(struct arena *arena, const struct metric_question *question,
                            int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct backend_call call = backend_begin(arena, question, NULL, out, ei);
    struct jsonpath path;
    struct errinfo why;

    (void)now_ms;
    fill_secret(&call);
    fill_timeout(&call);
    if (!question->query) {
        backend_url(&call, "%s", "");
        return backend_end(&call);
    }
    if (jsonpath_parse(arena, question->query, &path, &why) != ERR_OK)
        backend_fail(&call, "web: the query is no JSONPath: %s", why.text);
    fill_url(&call);
    fill_body(&call);
    return backend_end(&call);
}

static const char *kind_of(struct json_object *value)
{
    return json_object_is_type(value, json_type_array) ? "a list" : "an object";
}

static struct metric_answer value_at(struct arena *arena, const struct metric_question *question,
                                     const struct jsonpath *path,
                                     const struct jsonpath_found *found)
{
    if (found->missing)
        return backend_no_values(arena_printf(arena, "no %s in the answer", found->missing));
    if (!found->value)
        return backend_no_values(arena_printf(arena, "null at %s", path->text));
    if (json_object_is_type(found->value, json_type_boolean))
        return (struct metric_answer){.outcome = METRIC_VALUE,
                                      .value = json_object_get_boolean(found->value) ? 1 : 0};
    if (json_object_is_type(found->value, json_type_array) ||
        json_object_is_type(found->value, json_type_object))
        return backend_failure(arena_printf(arena, "web sent %s at %s, expected a number",
                                            kind_of(found->value), path->text));
    return backend_number(arena, question, found->value);
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct jsonpath path;
    struct errinfo ei;

    if (jsonpath_parse(arena, question->query, &path, &ei) != ERR_OK)
        return backend_failure(arena_printf(arena, "web: the query is no JSONPath: %s", ei.text));
    const struct jsonpath_found found = jsonpath_find(arena, &path, reply);
    return backend_chosen(arena, value_at(arena, question, &path, &found), "first", found.matches,
                          "matches");
}

/* Any reply to the probe that is neither a denial of access nor a server error shows that the
 * service is there. */
static struct metric_answer probe_answer(struct arena *arena, const struct http_result *result)
{
    if (result->status >= 500 || result->status == 401 || result->status == 403 ||
        result->status == 407)
        return backend_refused(arena, result);
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = 1};
}

/* A service may repeat its request in its reply. */
static struct metric_answer without_secrets(struct arena *arena,
                                            const struct metric_question *question,
                                            struct metric_answer answer)
{
    struct secret_headers headers = {0};
    struct errinfo ignored;

    if (!question->secret || answer.outcome == METRIC_VALUE ||
        secret_headers_add(&headers, arena, "", question->secret, &ignored) != ERR_OK)
        return answer;
    answer.text = secret_headers_redact(&headers, arena, answer.text);
    if (answer.note)
        answer.note = secret_headers_redact(&headers, arena, answer.note);
    return answer;
}

static struct metric_answer web_answer(struct arena *arena, const struct metric_question *question,
                                       const struct http_result *result)
{
    struct metric_answer answer = question->query
                                      ? backend_read_json(arena, question, result, read_reply)
                                      : probe_answer(arena, result);

    return without_secrets(arena, question, answer);
}

const struct metric_backend metric_backend_web = {
    .type = "web",
    .own_request = true,
    .request = web_request,
    .answer = web_answer,
};
