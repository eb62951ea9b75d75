/*
 * Keptn, through the API server with the controller's rights. The query is one of these,
 * case-insensitive:
 *
 *     keptnmetric/NAMESPACE/NAME: the value of a KeptnMetric. A time and arguments after it are
 *         ignored.
 *     analysis/NAMESPACE/DEFINITION[/RECENT[/KEY=VALUE;...]]: creates an Analysis of that
 *         definition, and polls it until Keptn has completed it: 1 if it has passed, else 0. Then
 *         it is deleted.
 */
#include <ctype.h>
#include <string.h>

#include "base/encoding.h"
#include "metric/backend.h"

enum { ANALYSIS_MS = 10000, LOOK_MS = 1000, MAX_NAME = 200, ID_BYTES = 4 };

static const char api[] = "/apis/metrics.keptn.sh/v1beta1/namespaces";
static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";

struct wanted {
    bool analysis;
    const char *namespace_, *name;
    const char *recent, *arguments; /* "" if missing */
};

static const char *lowered(struct arena *arena, const char *text)
{
    char *out = arena_strndup(arena, text, strcspn(text, "\r\n"));

    for (char *at = out; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return out;
}

/* The text up to the next '/' or space; *at moves past it. */
static const char *part(struct arena *arena, const char **at)
{
    size_t len = strcspn(*at, " \t/");
    const char *text = arena_strndup(arena, *at, len);

    *at += len + ((*at)[len] == '/');
    return text;
}

static bool is_name(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len <= MAX_NAME && strspn(text, letters) == len && text[0] != '.';
}

static bool read_query(struct arena *arena, const char *query, struct wanted *out)
{
    const char *at = lowered(arena, query + strspn(query, " \t\r\n"));
    const char *kind = part(arena, &at);

    *out = (struct wanted){.analysis = strncmp(kind, "analys", 6) == 0,
                           .namespace_ = part(arena, &at),
                           .name = part(arena, &at),
                           .recent = part(arena, &at)};
    out->arguments = arena_strndup(arena, at, strcspn(at, " \t"));
    bool known = strcmp(kind, "keptnmetric") == 0 || strcmp(kind, "keptnmetrics") == 0 ||
                 strcmp(kind, "analysis") == 0 || strcmp(kind, "analyses") == 0;
    return known && is_name(out->namespace_) && is_name(out->name);
}

/* --- analyses */

/* Unique for this question and time: other Canaries may use the same definition. */
static const char *analysis_name(struct arena *arena, const struct metric_question *question,
                                 int64_t now_ms, const struct wanted *wanted)
{
    const char *text = arena_printf(arena, "%s %lld", question->query, (long long)now_ms);
    char sum[SHA256_TEXT];

    return arena_printf(arena, "%s-%.*s", wanted->name, 2 * ID_BYTES,
                        sha256_hex(text, strlen(text), sum));
}

/* "key=value;key=value" */
static void write_arguments(struct arena *arena, struct json_object *spec, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, ";"), key = strcspn(text, "=;");
        if (key > 0 && key < len)
            json_set_str(json_sub(spec, "args"), arena_strndup(arena, text, key),
                         arena_strndup(arena, text + key + 1, len - key - 1));
        text += len + (text[len] == ';');
    }
}

static void write_analysis(struct arena *arena, const struct metric_question *question,
                           int64_t now_ms, const struct wanted *wanted, struct metric_request *out)
{
    struct json_object *analysis = json_own(arena, json_object_new_object());
    struct json_object *spec = json_sub(analysis, "spec");
    struct json_object *metadata = json_sub(analysis, "metadata");

    json_set_str(analysis, "apiVersion", "metrics.keptn.sh/v1beta1");
    json_set_str(analysis, "kind", "Analysis");
    json_set_str(metadata, "name", analysis_name(arena, question, now_ms, wanted));
    json_set_str(metadata, "namespace", wanted->namespace_);
    json_set_str(json_sub(spec, "analysisDefinition"), "name", wanted->name);
    if (*wanted->recent)
        json_set_str(json_sub(spec, "timeframe"), "recent", wanted->recent);
    write_arguments(arena, spec, wanted->arguments);
    struct http_request *http = &out->http;
    http->method = "POST";
    http->url = arena_printf(arena, "%s/%s/analyses", api, wanted->namespace_);
    http->body = json_text_sorted(arena, analysis);
    http->body_len = strlen(http->body);
    http->timeout_ms = ANALYSIS_MS;
}

static const char *analysis_url(struct arena *arena, const struct metric_question *question,
                                int64_t now_ms, const struct wanted *wanted)
{
    return arena_printf(arena, "%s/%s/analyses/%s", api, wanted->namespace_,
                        analysis_name(arena, question, now_ms, wanted));
}

/* True for an error reply as well; its text is reported. */
static bool is_completed(struct arena *arena, const struct http_result *result)
{
    struct json_object *reply = NULL;
    struct errinfo ignored;

    if (json_parse(arena, result->body, result->body_len, BACKEND_MAX_ANSWER, &reply, &ignored) !=
        ERR_OK)
        return true;
    const char *state = json_str_at(reply, "status", "state", NULL);
    return state && strcmp(state, "Completed") == 0;
}

static enum err keptn_next(struct arena *arena, const struct metric_question *question,
                           int64_t now_ms, const struct http_result *result,
                           struct metric_request *request, struct metric_step *step,
                           struct errinfo *ei)
{
    struct wanted wanted;

    (void)ei;
    if (!question->query || !read_query(arena, question->query, &wanted) || !wanted.analysis ||
        result->status < 200 || result->status > 299)
        return ERR_OK;
    if (strcmp(request->http.method, "GET") == 0 && is_completed(arena, result))
        return ERR_OK;
    *request = (struct metric_request){
        .http = {.method = "GET", .url = analysis_url(arena, question, now_ms, &wanted)},
        .to = METRIC_TO_API};
    *step = (struct metric_step){
        .more = true,
        .pause_ms = LOOK_MS,
        .late = arena_printf(arena, "Keptn has not completed the Analysis %s/%s within %d s",
                             wanted.namespace_, analysis_name(arena, question, now_ms, &wanted),
                             ANALYSIS_MS / 1000)};
    return ERR_OK;
}

static bool keptn_end(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                      struct metric_request *out)
{
    struct wanted wanted;

    if (!question->query || !read_query(arena, question->query, &wanted) || !wanted.analysis)
        return false;
    *out = (struct metric_request){.http = {.method = "DELETE",
                                            .url = analysis_url(arena, question, now_ms, &wanted),
                                            .timeout_ms = BACKEND_TIMEOUT_MS},
                                   .to = METRIC_TO_API};
    return true;
}

/* --- both */

static enum err keptn_request(struct arena *arena, const struct metric_question *question,
                              int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct wanted wanted;

    *out = (struct metric_request){
        .http = {.method = "GET", .timeout_ms = BACKEND_TIMEOUT_MS, .url = "/version"},
        .to = METRIC_TO_API};
    if (!question->query)
        return ERR_OK;
    if (!read_query(arena, question->query, &wanted))
        return err_set(ei, ERR_INVALID,
                       "keptn: the query must be keptnmetric/NAMESPACE/NAME or "
                       "analysis/NAMESPACE/DEFINITION[/RECENT[/KEY=VALUE;...]]");
    if (!backend_may_read(question, wanted.namespace_, ei))
        return ERR_INVALID;
    if (wanted.analysis)
        write_analysis(arena, question, now_ms, &wanted, out);
    else
        out->http.url =
            arena_printf(arena, "%s/%s/keptnmetrics/%s", api, wanted.namespace_, wanted.name);
    return ERR_OK;
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct wanted wanted;
    const char *value = json_str_at(reply, "status", "value", NULL);

    if (read_query(arena, question->query, &wanted) && wanted.analysis)
        return (struct metric_answer){
            .outcome = METRIC_VALUE,
            .value = json_bool_at(reply, false, "status", "pass", NULL) ? 1 : 0};
    if (!value || !*value)
        return backend_no_values("no status.value");
    return backend_number_text(arena, question, value);
}

static struct metric_answer keptn_answer(struct arena *arena,
                                         const struct metric_question *question,
                                         const struct http_result *result)
{
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_keptn = {
    .type = "keptn",
    .request = keptn_request,
    .next = keptn_next,
    .end = keptn_end,
    .answer = keptn_answer,
};
