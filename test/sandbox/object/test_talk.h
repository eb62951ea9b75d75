/*
 * Conversations with a server on the test's own loop, as rows of data: {what, steps}. A step is one
 * of these:
 *
 *   ask: "GET /path"   with a body, and token, accept, type (of the body) and agent as headers. The
 *                      answer must have the status (200 where none is given; 0: the connection is
 *                      closed), the members of `has` (null: not there), the words of `says` and
 *                      not those of `lacks`, and the headers warning, retry_after and content.
 *                      takes: so many milliseconds at least. until: asked again until it is so.
 *   watch: "/path"     opens the stream `name`, with accept as above; sees: waits until it was told
 *                      exactly this, "ADDED:a MODIFIED:a "; over: waits until it has ended
 *   do: WORD           what only the test itself can do
 */
#ifndef OBJECT_TEST_TALK_H
#define OBJECT_TEST_TALK_H

#include "base/clock.h"
#include "net/client.h"
#include "net/loop_test.h"
#include "object/cases.h"

struct talk_stream {
    struct talk *talk;
    struct talk_stream *next;
    const char *name;
    struct buf line, seen;
    struct http_call *call; /* NULL: it is over */
};

struct talk {
    struct loop *loop;
    struct arena *arena;
    int port;
    const char *token; /* of the server; NULL if none */
    void (*act)(void *arg, const char *word);
    void (*turned)(void *arg); /* called after each turn of the loop; may be NULL */
    void *arg;
    struct http_client *client;
    struct talk_stream *streams;
};

struct talk_answer {
    struct talk *talk;
    bool done;
    enum err err;
    int status;
    int64_t elapsed_ms;
    const char *text;         /* the body */
    struct json_object *body; /* NULL when it is no JSON */
    const char *warning, *retry_after, *content;
};

/* Turns the loop until the condition holds, at most so many milliseconds. */
#define TALK_TURN(talk, condition, ms)                                                             \
    for (int64_t end_ = clock_monotonic_ms() + (ms);                                               \
         !(condition) && clock_monotonic_ms() < end_;) {                                           \
        uv_run(loop_uv((talk)->loop), UV_RUN_NOWAIT);                                              \
        if ((talk)->turned)                                                                        \
            (talk)->turned((talk)->arg);                                                           \
    }

UNIT_HELPER void talk_answered(void *arg, const struct http_result *result)
{
    struct talk_answer *answer = arg;
    struct arena *arena = answer->talk->arena;
    answer->done = true;
    answer->err = result->err;
    answer->status = result->err == ERR_OK ? result->status : 0;
    answer->elapsed_ms = result->elapsed_ms;
    if (result->err != ERR_OK)
        return;
    answer->text = arena_strndup(arena, result->body, result->body_len);
    answer->warning = arena_strdup(arena, http_result_header(result, "warning"));
    answer->retry_after = arena_strdup(arena, http_result_header(result, "retry-after"));
    answer->content = arena_strdup(arena, result->content_type);
    (void)!json_parse(arena, result->body, result->body_len, JSON_MAX_BYTES, &answer->body, NULL);
}

/* The request of a step; body may be NULL. */
UNIT_HELPER struct http_request talk_request(struct talk *talk, struct json_object *step,
                                             const char *path, const char *body)
{
    static const char *const names[][2] = {
        {"accept", "accept"}, {"type", "content-type"}, {"agent", "user-agent"}};
    struct http_header *headers = arena_array(talk->arena, 6, sizeof(*headers));
    const char *token = json_str_at(step, "token", NULL);
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *value = json_str_at(step, names[i][0], NULL);
        value = !value && i == 1 ? "application/json" : value;
        if (value)
            headers[count++] = (struct http_header){names[i][1], value};
    }
    token = arena_printf(talk->arena, "Bearer %s", token ? token : talk->token);
    headers[count] = (struct http_header){talk->token ? "authorization" : "x-none", token};
    return (struct http_request){
        .url = arena_printf(talk->arena, "http://127.0.0.1:%d%s", talk->port, path),
        .headers = headers,
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .proxy = "",
    };
}

/* line: "GET /path" */
UNIT_HELPER struct talk_answer talk_ask(struct talk *talk, struct json_object *step,
                                        const char *line, const char *body)
{
    const char *space = strchr(line, ' ');
    struct talk_answer answer = {.talk = talk};
    struct http_request request =
        talk_request(talk, step, space + 1, try_quoted(talk->arena, body));
    request.method = arena_strndup(talk->arena, line, (size_t)(space - line));
    http_send(talk->client, &request, talk_answered, &answer);
    TALK_TURN(talk, answer.done, 10000);
    assert_true(answer.done);
    return answer;
}

UNIT_HELPER bool talk_is(struct json_object *step, const char *key, const char *found)
{
    const char *wanted = json_str_at(step, key, NULL);
    return !wanted || strcmp(found ? found : "", wanted) == 0;
}

/* What of the answer is not as the step has it; NULL: all is. */
UNIT_HELPER const char *talk_wrong(struct json_object *step, const struct talk_answer *answer)
{
    struct json_object *has = json_at(step, "has", NULL);
    const char *says = json_str_at(step, "says", NULL);
    if (answer->status != json_int_at(step, 200, "status", NULL))
        return arena_printf(answer->talk->arena, "status %d", answer->status);
    if (has && !json_same(json_merge(answer->talk->arena, answer->body, has), answer->body))
        return "another body";
    const char *lacks = json_str_at(step, "lacks", NULL);
    if ((says && (!answer->text || !strstr(answer->text, says))) ||
        (lacks && strstr(answer->text, lacks)))
        return "other words";
    return talk_is(step, "retry_after", answer->retry_after) &&
                   talk_is(step, "warning", answer->warning) &&
                   talk_is(step, "content", answer->content) &&
                   answer->elapsed_ms >= json_int_at(step, 0, "takes", NULL)
               ? NULL
               : "another header, or too soon";
}

UNIT_HELPER const char *talk_asks(struct talk *talk, struct json_object *step)
{
    struct json_object *body = json_at(step, "body", NULL);
    const char *line = json_str_at(step, "ask", NULL);
    const char *text = json_object_is_type(body, json_type_string) ? json_object_get_string(body)
                       : body                                      ? json_text(talk->arena, body)
                                                                   : NULL;
    struct talk_answer answer = talk_ask(talk, step, line, text);
    int64_t end = clock_monotonic_ms() + 15000;
    while (json_bool_at(step, false, "until", NULL) && talk_wrong(step, &answer) &&
           clock_monotonic_ms() < end)
        answer = talk_ask(talk, step, line, text);
    const char *why = talk_wrong(step, &answer);
    return why ? arena_printf(talk->arena, "%s: %s", why, answer.text ? answer.text : "") : NULL;
}

/* --- streams */

UNIT_HELPER void talk_read_event(struct talk_stream *s, const char *text)
{
    struct json_object *event = try_json(s->talk->arena, text);
    struct json_object *object = json_at(event, "object", NULL);
    const char *type = json_str_at(event, "type", NULL);
    if (strcmp(type, "ERROR") == 0)
        buf_printf(&s->seen, "ERROR:%d ", (int)json_int_at(object, 0, "code", NULL));
    else if (json_at(object, "rows", NULL))
        buf_printf(&s->seen, "%s:%s ", type,
                   json_at(object, "columnDefinitions", NULL) ? "columns" : "row");
    else
        buf_printf(&s->seen, "%s:%s ", type, json_str_at(object, "metadata", "name", NULL));
}

UNIT_HELPER bool talk_on_data(void *arg, const char *data, size_t len)
{
    struct talk_stream *s = arg;
    char *end;
    buf_add(&s->line, data, len);
    while ((end = memchr(s->line.data, '\n', s->line.len))) {
        *end = '\0';
        talk_read_event(s, s->line.data);
        buf_consume(&s->line, (size_t)(end - s->line.data) + 1);
    }
    return true;
}

UNIT_HELPER void talk_on_over(void *arg, const struct http_result *result)
{
    ((struct talk_stream *)arg)->call = NULL;
}

UNIT_HELPER void talk_watch(struct talk *talk, struct json_object *step)
{
    struct talk_stream *s = heap_alloc(sizeof(*s));
    *s = (struct talk_stream){
        .talk = talk, .next = talk->streams, .name = json_str_at(step, "name", NULL)};
    buf_init(&s->line, 1024 * 1024);
    buf_init(&s->seen, 64 * 1024);
    talk->streams = s;
    struct http_request request = talk_request(talk, step, json_str_at(step, "watch", NULL), NULL);
    request.timeout_ms = -1;
    request.on_data = talk_on_data;
    s->call = http_send(talk->client, &request, talk_on_over, s);
}

UNIT_HELPER const char *talk_looks(struct talk *talk, struct json_object *step)
{
    const char *sees = json_str_at(step, "sees", NULL), *name = json_str_at(step, "name", NULL);
    bool over = json_bool_at(step, false, "over", NULL);
    struct talk_stream *s = talk->streams;
    while (strcmp(s->name ? s->name : "", name ? name : "") != 0)
        s = s->next;
    TALK_TURN(talk, (!sees || s->seen.len >= strlen(sees)) && (!over || !s->call), 10000);
    return (!sees || strcmp(sees, s->seen.data) == 0) && over == !s->call
               ? NULL
               : arena_printf(talk->arena, "%s: %s", s->call ? "open" : "over", s->seen.data);
}

/* --- the whole */

UNIT_HELPER void talk_open(struct talk *talk)
{
    talk->client =
        http_client_new(talk->loop, &(struct http_client_options){.user_agent = "try/1"});
}

/* Before the loop ends. */
UNIT_HELPER void talk_close(struct talk *talk)
{
    while (talk->streams) {
        struct talk_stream *s = talk->streams;
        if (s->call)
            http_cancel(s->call);
        TALK_TURN(talk, !s->call, 10000);
        buf_fini(&s->line);
        buf_fini(&s->seen);
        talk->streams = s->next;
        free(s);
    }
    http_client_free(talk->client);
}

/* The steps of a row, in order: true, or a text about the first that went wrong. */
UNIT_HELPER struct json_object *talk_steps(struct talk *talk, struct json_object *row)
{
    struct json_object *steps = json_at(row, "steps", NULL);
    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *step = json_elem(steps, i);
        const char *why = NULL, *word = json_str_at(step, "do", NULL);
        if (json_at(step, "ask", NULL))
            why = talk_asks(talk, step);
        else if (json_at(step, "watch", NULL))
            talk_watch(talk, step);
        else if (word)
            talk->act(talk->arg, word);
        else
            why = talk_looks(talk, step);
        if (why)
            return cases_text(talk->arena, arena_printf(talk->arena, "step %zu: %s", i + 1, why));
    }
    return cases_bool(talk->arena, true);
}

#endif
