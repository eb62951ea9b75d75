/*
 * InfluxDB. A query that begins with SELECT or SHOW is InfluxQL and goes to /query, as in version
 * 1; any other query is Flux and goes to /api/v2/query, which answers with annotated CSV. The first
 * value is used. If there are no rows there is no value (in Flagger it is 0, which would pass many
 * checks). A probe uses the language that the Secret implies, or Flux without a Secret; a server
 * that rejects Flux or the bucket counts as available.
 */
#include <string.h>
#include <strings.h>

#include "metric/backend.h"

enum { TIMEOUT_MS = 15000, MAX_COLUMNS = 256 };

static bool is_influxql(const char *query)
{
    query += strspn(query, " \t\r\n");
    return strncasecmp(query, "select ", 7) == 0 || strncasecmp(query, "show ", 5) == 0;
}

static void write_influxql(struct backend_call *call, const char *query)
{
    struct arena *arena = call->arena;
    const char *db = backend_secret_or(arena, call->question->secret, "database");

    if (call->question->secret)
        (void)backend_basic(call); /* a Secret may contain just the name of the database */
    backend_url(call, "/query?%s%s%sq=%s", db ? "db=" : "", db ? url_encode_form(arena, db) : "",
                db ? "&" : "", url_encode_form(arena, backend_one_line(arena, query, NULL)));
}

static void write_flux(struct backend_call *call, const char *query)
{
    struct arena *arena = call->arena;
    struct json_object *body = json_own(arena, json_object_new_object());
    struct json_object *annotations = json_own(arena, json_object_new_array());
    const char *org = "";

    if (call->question->secret) {
        backend_header(call, "Authorization",
                       arena_printf(arena, "Token %s", backend_secret(call, "token")));
        org = backend_secret(call, "org");
    }
    json_object_array_add(annotations, json_object_new_string("datatype"));
    json_set(json_sub(body, "dialect"), "annotations", annotations);
    json_set_str(body, "query", query);
    json_set_str(body, "type", "flux");
    backend_url(call, "/api/v2/query?org=%s", url_encode_form(arena, org));
    backend_header(call, "Accept", "application/csv");
    backend_body(call, "application/json", json_text(arena, body));
}

static const char *probe(struct arena *arena, struct json_object *secret)
{
    if (backend_secret_or(arena, secret, "username") && !backend_secret_or(arena, secret, "token"))
        return "SHOW DATABASES";
    return "from(bucket: \"default\") |> range(start: -2h)";
}

static enum err influxdb_request(struct arena *arena, const struct metric_question *question,
                                 int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct backend_call call = backend_begin(arena, question, NULL, out, ei);
    const char *query = question->query ? question->query : probe(arena, question->secret);

    (void)now_ms;
    out->http.timeout_ms = TIMEOUT_MS;
    if (is_influxql(query))
        write_influxql(&call, query);
    else
        write_flux(&call, query);
    return backend_end(&call);
}

static enum err influxdb_next(struct arena *arena, const struct metric_question *question,
                              int64_t now_ms, const struct http_result *result,
                              struct metric_request *request, struct metric_step *step,
                              struct errinfo *ei)
{
    (void)now_ms;
    step->more = !question->query && result->status == 404 && request->http.body;
    if (!step->more)
        return ERR_OK;
    struct backend_call call = backend_begin(arena, question, NULL, request, ei);
    backend_url(&call, "/ping");
    return backend_end(&call);
}

static struct metric_answer read_influxql(struct arena *arena,
                                          const struct metric_question *question,
                                          struct json_object *reply)
{
    struct json_object *results = json_at(reply, "results", NULL);
    struct json_object *result = json_elem(results, 0);
    struct json_object *series = json_elem(json_at(result, "series", NULL), 0);
    const char *error = json_str_at(result, "error", NULL);

    if (error)
        return backend_failure(
            arena_printf(arena, "error response: %.*s", BACKEND_SAID_MAX, error));
    if (!json_object_is_type(results, json_type_array))
        return backend_unlike(arena, question, "results");
    return backend_chosen(
        arena,
        backend_number(arena, question,
                       json_elem(json_elem(json_at(series, "values", NULL), 0), 1)),
        "first", json_len(json_at(result, "series", NULL)), "series");
}

/* Splits one line of CSV; *at moves to the next line. */
static size_t read_line(struct arena *arena, const char **at, const char *fields[MAX_COLUMNS])
{
    char *to = arena_alloc(arena, strcspn(*at, "\n") + 1);
    const char *from = *at;
    size_t count = 0;
    bool more = *from != '\0';

    while (more) {
        bool quoted = false;
        if (count < MAX_COLUMNS)
            fields[count++] = to;
        for (; *from && *from != '\n' && (quoted || *from != ','); from++) {
            if (*from == '"' && quoted && from[1] == '"')
                *to++ = *from++;
            else if (*from == '"')
                quoted = !quoted;
            else if (*from != '\r')
                *to++ = *from;
        }
        more = *from == ',';
        *to++ = '\0'; /* overwrites the comma or line end */
        from += *from != '\0';
    }
    *at = from;
    return count;
}

static const char *field_of(const char *const *names, size_t n_names, const char *const *fields,
                            size_t n_fields, const char *name)
{
    for (size_t i = 0; i < n_names && i < n_fields; i++) {
        if (strcmp(names[i], name) == 0)
            return fields[i];
    }
    return NULL;
}

/* CSV tables, each with a line of names after its annotations and an empty line at its end. */
static struct metric_answer read_csv(struct arena *own, struct arena *arena,
                                     const struct metric_question *question, const char *text)
{
    const char *names[MAX_COLUMNS], *fields[MAX_COLUMNS];
    size_t n_names = 0;
    bool csv = text[strspn(text, " \r\n")] == '\0'; /* no table at all */

    while (*text) {
        size_t count = read_line(own, &text, fields);
        csv = csv || (count > 1 && (fields[0][0] == '#' || fields[0][0] == '\0'));
        if (count < 2) { /* the next line has names */
            n_names = 0;
        } else if (fields[0][0] == '#') {
            continue;
        } else if (n_names == 0) {
            memcpy(names, fields, count * sizeof(fields[0]));
            n_names = count;
        } else {
            const char *error = field_of(names, n_names, fields, count, "error");
            const char *value = field_of(names, n_names, fields, count, "_value");
            if (error)
                return backend_failure(
                    arena_printf(arena, "error response: %.*s", BACKEND_SAID_MAX, error));
            if (value && *value)
                return backend_number_text(arena, question, value);
            return backend_no_values("the first row has no _value");
        }
    }
    return csv ? backend_no_values("no row") : backend_failure("influxdb sent no annotated CSV");
}

static struct metric_answer influxdb_answer(struct arena *arena,
                                            const struct metric_question *question,
                                            const struct http_result *result)
{
    if (question->query && is_influxql(question->query))
        return backend_read_json(arena, question, result, read_influxql);
    if (result->status < 200 || result->status > 299)
        return backend_refused(arena, result);
    if (!question->query)
        return (struct metric_answer){.outcome = METRIC_VALUE, .value = 1};
    struct arena *own = arena_new();
    struct metric_answer answer = read_csv(own, arena, question, result->body);
    arena_free(own);
    return answer;
}

const struct metric_backend metric_backend_influxdb = {
    .type = "influxdb",
    .request = influxdb_request,
    .next = influxdb_next,
    .answer = influxdb_answer,
};
