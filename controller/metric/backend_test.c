/*
 * The metric backends, as rows of backend/cases.yaml: the requests that a question makes, to the
 * byte, and the meaning of replies. A row:
 *
 *     backend, address, query (none: the probe), path, body, interval_ms, spec,
 *         secret (plain text), labels (of the Secret),
 *         environment (of the process; none: the Secret has the credentials)
 *     mistake: why no request is made; or
 *     asked: a list of {send, reply}: the requests in turn, each "METHOD URL" (preceded by its
 *         destination if that is not an address), one line for each header, and the body after an
 *         empty line; reply (STATUS TEXT) leads to the next request
 *     end: the request that is sent at the end, if there is one
 *     says: a list of {reply, is}, for the last request; is "value N", "none: ..." or
 *         "error: ...", with the note in parentheses
 *
 * With -v in TEST_SHOW the table of backends and kinds of replies is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "metric/backend.h"
#include "test/rows.h"
#include "test/unit.h"

static const int64_t now_ms = 1700000000123;

static struct json_object *secret_of(struct arena *arena, struct json_object *plain,
                                     struct json_object *labels)
{
    struct json_object *secret = json_own(arena, json_object_new_object());

    if (!plain)
        return NULL;
    json_set_str(json_sub(secret, "metadata"), "name", "s");
    json_set_str(json_sub(secret, "metadata"), "namespace", "test");
    json_set(json_sub(secret, "metadata"), "labels", labels);
    json_object_object_foreach(plain, key, value)
    {
        const char *text = json_object_get_string(value);
        json_set_str(json_sub(secret, "data"), key, base64_encode(arena, text, strlen(text)));
    }
    return secret;
}

static struct metric_question question_of(struct arena *arena, struct json_object *row)
{
    return (struct metric_question){
        .id = "metrics[0]",
        .backend = json_str_at(row, "backend", NULL),
        .address = json_str_at(row, "address", NULL),
        .query = json_str_at(row, "query", NULL),
        .path = json_str_at(row, "path", NULL),
        .body = json_str_at(row, "body", NULL),
        .interval_ms = json_int_at(row, -1, "interval_ms", NULL),
        .spec = json_at(row, "spec", NULL),
        .secret = secret_of(arena, json_at(row, "secret", NULL), json_at(row, "labels", NULL)),
        .ambient = json_at(row, "environment", NULL),
        .only_namespace = json_str_at(row, "only_namespace", NULL),
        .at_s = json_int_at(row, 0, "at_s", NULL),
        .times = (int)json_int_at(row, 0, "times", NULL),
        .every_s = json_int_at(row, 0, "every_s", NULL),
        .bucket = (double)json_int_at(row, 0, "bucket", NULL),
        .histogram = json_object_get_boolean(json_at(row, "histogram", NULL)),
    };
}

static const char *request_text(struct arena *arena, const struct metric_request *asked)
{
    static const char *const to[] = {[METRIC_TO_ADDRESS] = "",
                                     [METRIC_TO_PROVIDER] = "provider: ",
                                     [METRIC_TO_MACHINE] = "machine: ",
                                     [METRIC_TO_API] = "API: "};
    const struct http_request *request = &asked->http;
    const char *text =
        arena_printf(arena, "%s%s %s\n", to[asked->to], request->method, request->url);

    for (const struct http_header *header = request->headers; header && header->name; header++)
        text = arena_printf(arena, "%s%s: %s\n", text, header->name, header->value);
    if (request->body)
        text = arena_printf(arena, "%s\n%.*s\n", text, (int)request->body_len,
                            (const char *)request->body);
    return text;
}

/* "200 {...}" */
static struct http_result reply_of(const char *text)
{
    char *body;
    long status = strtol(text, &body, 10);

    body += *body == ' ';
    return (struct http_result){
        .status = (int)status, .body = body, .body_len = strlen(body), .content_type = ""};
}

static const char *answer_text(struct arena *arena, const struct metric_answer *answer)
{
    static const char *const kinds[] = {[METRIC_NO_VALUES] = "none", [METRIC_ERROR] = "error"};

    const char *note = answer->note ? arena_printf(arena, " (%s)", answer->note) : "";

    if (answer->outcome == METRIC_VALUE && answer->values) {
        const char *text = "values";
        for (int i = 0; i < answer->n_bounds; i++)
            text = arena_printf(arena, "%s%s%g", text, i > 0 ? "/" : " up to ", answer->bounds[i]);
        for (int i = 0; i < answer->n_values; i++)
            text = arena_printf(arena, "%s %g", text, answer->values[i]);
        return arena_printf(arena, "%s%s", text, note);
    }
    if (answer->outcome == METRIC_VALUE)
        return arena_printf(arena, "value %g%s", answer->value, note);
    return arena_printf(arena, "%s: %s%s", kinds[answer->outcome], answer->text, note);
}

/* Sends the requests in turn; NULL if all is well, else what is wrong. */
static const char *ask_in_turn(struct arena *arena, const struct metric_backend *backend,
                               const struct metric_question *question, struct json_object *asked)
{
    struct metric_request request = {0};
    static struct errinfo ei;
    struct metric_step next = {.more = true};

    if (backend->request(arena, question, now_ms, &request, &ei) != ERR_OK)
        return ei.text;
    for (size_t i = 0; i < json_len(asked); i++) {
        struct json_object *step = json_elem(asked, i);
        const char *reply = json_str_at(step, "reply", NULL);
        assert_true(next.more);
        assert_string_equal(request_text(arena, &request), json_str_at(step, "send", NULL));
        if (!reply)
            continue;
        struct http_result result = reply_of(reply);
        next = (struct metric_step){.more = false};
        if (backend->next(arena, question, now_ms, &result, &request, &next, &ei) != ERR_OK)
            return ei.text;
    }
    return NULL;
}

static void try_row(struct arena *arena, struct json_object *row)
{
    struct metric_question question = question_of(arena, row);
    const struct metric_backend *backend = metric_backend_find(question.backend);
    const char *expected = json_str_at(row, "mistake", NULL);

    assert_non_null(backend);
    const char *mistake = ask_in_turn(arena, backend, &question, json_at(row, "asked", NULL));
    if (expected || mistake) {
        assert_string_equal(mistake ? mistake : "(asked)", expected ? expected : "(asked)");
        return;
    }
    struct metric_request end;
    const char *ended = json_str_at(row, "end", NULL);
    bool ends = backend->end && backend->end(arena, &question, now_ms, &end);
    assert_string_equal(ends ? request_text(arena, &end) : "", ended ? ended : "");
    struct json_object *says = json_at(row, "says", NULL);
    for (size_t i = 0; i < json_len(says); i++) {
        struct json_object *said = json_elem(says, i);
        struct http_result result = reply_of(json_str_at(said, "reply", NULL));
        struct metric_answer answer = backend->answer(arena, &question, &result);
        const char *is = answer_text(arena, &answer);
        if (getenv("TEST_SHOW"))
            fprintf(stderr, "%-16s%-70.68s%s\n", question.backend, json_str_at(said, "reply", NULL),
                    is);
        assert_string_equal(is, json_str_at(said, "is", NULL));
    }
}

CASE(each_row_asks_and_reads_as_it_says)
{
    struct json_object *rows =
        json_elem(rows_read(arena, "controller/metric/backend/cases.yaml"), 0);

    for (size_t i = 0; unit_row("backend/cases.yaml", i, json_len(rows)); i++)
        try_row(arena, json_elem(rows, i));
}

/* Arbitrary replies of a server: each gives an answer, within its bounds. */
CASE(odd_replies_are_answers)
{
    static const char *const bodies[] = {
        "",
        "null",
        "[]",
        "{}",
        "\"x\"",
        "7",
        "[[[[]]]]",
        "<html>",
        "\n,\n",
        "{\"data\":7}",
        "[{\"datapoints\":[[]]}]",
        "{\"series\":[[]]}",
    };
    const char *const queries[] = {NULL, "SELECT 1", "keptnmetric/a/b", "[]"};

    for (const struct metric_backend *const *at = metric_backend_table; *at; at++) {
        for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]) * 4 * 2; i++) {
            const struct metric_question question = {.backend = (*at)->type,
                                                     .query = queries[i % 4]};
            const char *body = bodies[i / 8];
            const struct http_result result = {.status = i / 4 % 2 ? 500 : 200,
                                               .body = body,
                                               .body_len = strlen(body),
                                               .content_type = ""};
            struct metric_answer answer = (*at)->answer(arena, &question, &result);
            if (answer.outcome == METRIC_VALUE)
                assert_true(!question.query);
            else
                assert_true(answer.text && *answer.text);
        }
    }
}
