/*
 * Keptn: the value of a KeptnMetric, read by the API server with the controller's rights. The query
 * is "keptnmetric/NAMESPACE/NAME", in any case of letters; a time and arguments behind that, as those
 * of an analysis, say nothing here.
 */
#include <ctype.h>
#include <string.h>

#include "metric/ask.h"

static const char *lowered(struct arena *arena, const char *text)
{
    char *out = arena_strndup(arena, text, strcspn(text, "\r\n"));

    for (char *at = out; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return out;
}

static enum err keptn_request(struct arena *arena, const struct metric_question *question,
                              int64_t now_ms, struct http_request *out, struct errinfo *ei)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    const char *query = question->query ? question->query : "";
    const char *kind = lowered(arena, query + strspn(query, " \t\r\n"));
    const char *namespace_ = strchr(kind, '/');
    size_t kind_len = namespace_ ? (size_t)(namespace_ - kind) : 0;
    size_t len = namespace_ ? strspn(++namespace_, letters) : 0;
    const char *name = namespace_ && namespace_[len] == '/' ? namespace_ + len + 1 : "";
    size_t name_len = strspn(name, letters);

    (void)now_ms;
    *out = (struct http_request){.method = "GET", .timeout_ms = ASK_TIMEOUT_MS, .url = "/version"};
    if (!question->query)
        return ERR_OK;
    if ((strncmp(kind, "keptnmetrics", kind_len) != 0 || kind_len < strlen("keptnmetric")) ||
        len == 0 || name_len == 0 || !strchr(" \t/", name[name_len]) || namespace_[0] == '.' ||
        name[0] == '.')
        return err_set(ei, ERR_INVALID,
                       "keptn: the query must be keptnmetric/NAMESPACE/NAME; an analysis is not "
                       "served by this version");
    out->url =
        arena_printf(arena, "/apis/metrics.keptn.sh/v1beta1/namespaces/%.*s/keptnmetrics/%.*s",
                     (int)len, namespace_, (int)name_len, name);
    return ERR_OK;
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    const char *value = json_str_at(reply, "status", "value", NULL);

    if (!value || !*value)
        return ask_no_values("no status.value");
    return ask_number_text(arena, question, value);
}

static struct metric_answer keptn_answer(struct arena *arena,
                                         const struct metric_question *question,
                                         const struct http_result *result)
{
    return ask_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_keptn = {
    .type = "keptn",
    .request = keptn_request,
    .answer = keptn_answer,
};
