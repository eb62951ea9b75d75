/*
 * Every notifier against a service with every kind of trouble, over real connections; prints the
 * outcome of each alert. All calls run at the same time, so the test takes as long as the slowest
 * one.
 */
#include "engine/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "net/certs_test.h"
#include "net/loop_test.h"
#include "net/server/server.h"

enum { MAX_SENT = 16 * 1024, DEEP = 30000, HUGE_ANSWER = 100 * 1000 };

enum outcome { TAKEN, AGAIN, GIVEN_UP, NEVER_SENT };
static const char *const outcomes[] = {[TAKEN] = "taken",
                                       [AGAIN] = "taken when repeated",
                                       [GIVEN_UP] = "given up",
                                       [NEVER_SENT] = "tried again"};

/* The service's answer to the first request; it accepts all later ones. */
static const struct trouble {
    const char *name, *severity;
    const char *answer; /* "ECHO": the answer contains the request; "HUGE", "DEEP" */
    bool reset, silent;
    enum outcome outcome;
    int64_t wait_ms;  /* minimum delay before the repeat */
    const char *told; /* for an alert given up: the sentence ends with this, or contains it */
} troubles[] = {
    {.name = "info", .answer = "200 OK\r\n\r\nok", .severity = "info"},
    {.name = "warn", .answer = "202 Accepted\r\n\r\n{}", .severity = "warn"},
    {.name = "error", .answer = "204 None\r\n\r\n"},
    {.name = "refuses",
     .answer = "403 Forbidden\r\n\r\nno: ECHO",
     .outcome = GIVEN_UP,
     .told = "403"},
    {.name = "resets", .reset = true, .outcome = AGAIN, .wait_ms = 990},
    {.name = "is silent", .silent = true, .outcome = AGAIN, .wait_ms = 5500},
    {.name = "half an answer",
     .answer = "200 OK\r\nContent-Length: 10\r\n\r\nhalf",
     .outcome = AGAIN,
     .wait_ms = 990},
    {.name = "no HTTP", .answer = "", .outcome = GIVEN_UP, .told = "HTTP/0.9"},
    {.name = "wrong JSON", .answer = "200 OK\r\n\r\n{\"ok\":"},
    {.name = "deep", .answer = "200 OK\r\n\r\nDEEP"},
    {.name = "huge",
     .answer = "200 OK\r\n\r\nHUGE",
     .outcome = GIVEN_UP,
     .told = "longer than 65536 bytes"},
    {.name = "429", .answer = "429 Slow\r\n\r\n", .outcome = AGAIN, .wait_ms = 990},
    {.name = "429, in 3 s",
     .answer = "429 Slow\r\nRetry-After: 3\r\n\r\n",
     .outcome = AGAIN,
     .wait_ms = 2900},
    {.name = "500", .answer = "500 Oh\r\n\r\nECHO", .outcome = AGAIN, .wait_ms = 990},
    {.name = "501", .answer = "501 What\r\n\r\n", .outcome = GIVEN_UP, .told = "501"},
    {.name = "503, in 2 s",
     .answer = "503 Busy\r\nRetry-After: 2\r\n\r\n",
     .outcome = AGAIN,
     .wait_ms = 1900},
    {.name = "redirects",
     .answer = "302 Found\r\nLocation: https://elsewhere.example/s3cretpath\r\n\r\n",
     .outcome = GIVEN_UP,
     .told = "it leads to https://elsewhere.example, expected the final address"},
    {.name = "another's certificate", .outcome = NEVER_SENT},
};
enum { TROUBLES = sizeof(troubles) / sizeof(troubles[0]), MAX_NOTIFIERS = 16 };

struct stage;

/* One alert by one notifier. */
struct cell {
    struct stage *stage;
    const struct trouble *trouble;
    const struct notifier *notifier;
    struct alert_call *call;
    int asked;
    int64_t first, last; /* times when the service got a request */
    char *sent[2];       /* the first two requests */
    bool ended;
    char *told; /* last trouble reported */
};

struct stage {
    struct loop *loop;
    struct http_client *http;
    struct engine_context context;
    struct arena *arena;
    uv_tcp_t web;
    int open; /* connections */
    struct cell cells[MAX_NOTIFIERS][TROUBLES];
};

static struct cert ca, server;

/* --- the services */

struct connection {
    uv_tcp_t tcp;
    uv_write_t write;
    struct stage *stage;
    char in[MAX_SENT];
    size_t len;
    char *out;
    bool ends;
};

static void on_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;

    c->stage->open--;
    free(c->out);
    free(c);
}

static void hang_up(struct connection *c)
{
    if (!uv_is_closing((uv_handle_t *)&c->tcp))
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_written(uv_write_t *write, int status)
{
    struct connection *c = write->data;

    if (status != 0 || c->ends)
        hang_up(c);
}

static void say(struct connection *c, char *text, bool ends)
{
    uv_buf_t buf = uv_buf_init(text, (unsigned)strlen(text));

    free(c->out);
    c->out = text;
    c->ends = ends;
    c->write.data = c;
    uv_write(&c->write, (uv_stream_t *)&c->tcp, &buf, 1, on_written);
}

/* {"ok":[[[[... */
static const char *deep_text(struct arena *arena)
{
    char *deep = arena_alloc(arena, DEEP + 1);

    return arena_printf(arena, "{\"ok\":%s", (const char *)memset(deep, '[', DEEP));
}

static void note(struct cell *cell, const char *sent)
{
    cell->last = clock_monotonic_ms();
    if (cell->asked == 0)
        cell->first = cell->last;
    if (cell->asked < 2)
        cell->sent[cell->asked] = arena_strdup(cell->stage->arena, sent);
    cell->asked++;
}

/* "/17/s3cretpath" is the cell's number. */
static struct cell *cell_at(struct stage *stage, const char *number)
{
    long n = strtol(number, NULL, 10);

    assert_true(n >= 0 && n < MAX_NOTIFIERS * TROUBLES);
    return &stage->cells[n / TROUBLES][n % TROUBLES];
}

static const char *body_of(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n");

    return end ? end + 4 : NULL;
}

static char *answer_of(const struct cell *cell, const char *request)
{
    static const char taken[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const char *answer = cell->trouble->answer;

    if (cell->asked > 1)
        return heap_strdup(taken);
    const char *body = body_of(answer);
    if (!body)
        return heap_strdup("what?\n");
    int head = (int)(body - answer);
    if (strcmp(body, "HUGE") == 0)
        return heap_printf("HTTP/1.1 %.*s%*s", head, answer, HUGE_ANSWER, "");
    if (strcmp(body, "DEEP") == 0)
        return heap_printf("HTTP/1.1 %.*s%s", head, answer, deep_text(cell->stage->arena));
    const char *echo = strstr(body, "ECHO");
    return heap_printf("HTTP/1.1 %.*s%s", echo ? (int)(echo - answer) : (int)strlen(answer), answer,
                       echo ? request : "");
}

static void answer_web(struct connection *c)
{
    struct cell *cell = cell_at(c->stage, strchr(c->in, '/') + 1);

    note(cell, c->in);
    if (cell->asked == 1 && cell->trouble->silent)
        return;
    if (cell->asked == 1 && cell->trouble->reset) {
        uv_tcp_close_reset(&c->tcp, on_closed);
        return;
    }
    say(c, answer_of(cell, c->in), true);
}

static void take_web(struct connection *c)
{
    const char *body = body_of(c->in);
    const char *length = strstr(c->in, "Content-Length: ");

    if (body && length && strlen(body) >= strtoul(length + 16, NULL, 10))
        answer_web(c);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct connection *c = handle->data;

    *buf = uv_buf_init(c->in + c->len, (unsigned)(sizeof(c->in) - 1 - c->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct connection *c = stream->data;

    if (n < 0) {
        hang_up(c);
        return;
    }
    c->len += (size_t)n;
    c->in[c->len] = '\0';
    take_web(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct stage *stage = listener->data;
    struct connection *c = heap_alloc(sizeof(*c));

    *c = (struct connection){.stage = stage};
    uv_tcp_init(loop_uv(stage->loop), &c->tcp);
    c->tcp.data = c;
    stage->open++;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&c->tcp), 0);
    uv_read_start((uv_stream_t *)&c->tcp, on_room, on_read);
}

static int listen_at(struct stage *stage, uv_tcp_t *tcp)
{
    struct sockaddr_in addr;
    int len = sizeof(addr);

    uv_ip4_addr("127.0.0.1", 0, &addr);
    uv_tcp_init(loop_uv(stage->loop), tcp);
    tcp->data = stage;
    uv_tcp_bind(tcp, (struct sockaddr *)&addr, 0);
    assert_int_equal(uv_listen((uv_stream_t *)tcp, 512, on_connection), 0);
    uv_tcp_getsockname(tcp, (struct sockaddr *)&addr, &len);
    return ntohs(addr.sin_port);
}

/* --- the calls */

static void on_told(void *arg, const char *trouble, bool ended)
{
    struct cell *cell = arg;

    assert_false(cell->ended);
    cell->ended = ended;
    cell->told = arena_strdup(cell->stage->arena, trouble);
    if (ended)
        cell->call = NULL;
}

static void begin(struct cell *cell, int number, int web, int tls)
{
    struct arena *arena = cell->stage->arena;
    bool never = cell->trouble->outcome == NEVER_SENT;
    struct channel channel = {
        .name = "on call",
        .notifier = cell->notifier,
        .address = {.url =
                        arena_printf(arena, "http%s://%s:%d/%d/s3cretpath", never ? "s" : "",
                                     never ? "localhost" : "127.0.0.1", never ? tls : web, number),
                    .token = "t0ken",
                    .username = "flagger@example.org",
                    .channel = arena_printf(arena, "%d@example.org", number)}};
    struct alert alert = {.canary = "podinfo",
                          .namespace_ = "test",
                          .severity = cell->trouble->severity ? cell->trouble->severity : "error",
                          .text = "A text with \"quotes\" and a\nline break",
                          .key = arena_printf(arena, "uid-%d", number)};

    cell->call = alert_call_start(&cell->stage->context, &channel, &alert, on_told, cell);
}

static bool are_done(const struct stage *stage)
{
    for (size_t i = 0; notifier_table[i]; i++)
        for (size_t j = 0; j < TROUBLES; j++) {
            const struct cell *cell = &stage->cells[i][j];
            if (!(cell->trouble->outcome == NEVER_SENT ? cell->told != NULL : cell->ended))
                return false;
        }
    return true;
}

/* --- assertions about each cell */

static enum outcome outcome_of(const struct cell *cell)
{
    if (!cell->ended)
        return NEVER_SENT;
    if (cell->told)
        return GIVEN_UP;
    return cell->asked > 1 ? AGAIN : TAKEN;
}

static void check_request(const struct cell *cell, int number, struct arena *arena)
{
    const char *sent = cell->sent[0], *body = body_of(sent);
    struct json_object *json;
    struct errinfo ei;

    assert_non_null(strstr(sent, arena_printf(arena, "\r\nIdempotency-Key: uid-%d\r\n", number)));
    const char *type = cell->notifier->content_type;
    assert_non_null(strstr(
        sent, arena_printf(arena, "\r\nContent-Type: %s\r\n", type ? type : "application/json")));
    assert_int_equal(strstr(sent, "\r\nAuthorization: Bearer t0ken\r\n") != NULL,
                     cell->notifier->takes_token);
    assert_int_equal(json_parse(arena, body, strlen(body), MAX_SENT, &json, &ei), ERR_OK);
    assert_non_null(strstr(body, "A text with \\\"quotes\\\" and a\\nline break"));
}

/* Reports contain no secrets of the sender; they name the alert and the reason. */
static void check_told(const struct cell *cell)
{
    const char *want = cell->trouble->told;

    assert_null(strstr(cell->told, "s3cretpath"));
    assert_null(strstr(cell->told, "t0ken"));
    assert_non_null(strstr(cell->told, "alert on call by "));
    if (want && !strstr(cell->told, want))
        fail_msg("%s, %s: \"%s\"", cell->notifier->type, cell->trouble->name, cell->told);
}

static void check(const struct cell *cell, int number, struct arena *arena)
{
    const struct trouble *trouble = cell->trouble;

    if (outcome_of(cell) != trouble->outcome)
        fail_msg("%s, %s: %s after %d requests and not %s: %s", cell->notifier->type, trouble->name,
                 outcomes[outcome_of(cell)], cell->asked, outcomes[trouble->outcome],
                 cell->told ? cell->told : "");
    assert_int_equal(cell->asked, trouble->outcome == NEVER_SENT ? 0
                                  : trouble->outcome == AGAIN    ? 2
                                                                 : 1);
    if (cell->told)
        check_told(cell);
    if (trouble->outcome == AGAIN) {
        assert_string_equal(cell->sent[0], cell->sent[1]);
        /* Both times are taken by this process, which on a busy machine notices the first one
         * late. */
        assert_true(cell->last - cell->first >= trouble->wait_ms / 2);
    }
    if (cell->asked > 0)
        check_request(cell, number, arena);
}

static void close_stage(struct stage *stage)
{
    for (size_t i = 0; notifier_table[i]; i++)
        for (size_t j = 0; j < TROUBLES; j++)
            alert_call_free(stage->cells[i][j].call);
    http_client_free(stage->http);
    uv_close((uv_handle_t *)&stage->web, NULL);
    LOOP_UNTIL(stage->loop, stage->open == 0);
}

CASE(what_becomes_of_an_alert)
{
    static struct stage stage;
    struct http_client_options options = {.ca_file = ca.cert_file, .max_per_host = -1};

    stage = (struct stage){.loop = loop_new(5000), .arena = arena};
    stage.http = http_client_new(stage.loop, &options);
    stage.context = (struct engine_context){.loop = stage.loop, .http = stage.http};
    int web = listen_at(&stage, &stage.web);
    struct http_server_options tls = {.address = "127.0.0.1",
                                      .routes = (const struct http_route[]){{0}},
                                      .tls_cert_file = server.cert_file,
                                      .tls_key_file = server.key_file};
    struct http_server *https;
    struct errinfo ei;
    assert_int_equal(http_server_new(stage.loop, &tls, &https, &ei), ERR_OK);
    for (size_t i = 0; notifier_table[i]; i++)
        for (size_t j = 0; j < TROUBLES; j++) {
            struct cell *cell = &stage.cells[i][j];
            *cell = (struct cell){
                .stage = &stage, .trouble = &troubles[j], .notifier = notifier_table[i]};
            begin(cell, (int)(i * TROUBLES + j), web, http_server_port(https));
        }
    LOOP_UNTIL(stage.loop, are_done(&stage));
    for (size_t j = 0; j < TROUBLES; j++)
        for (size_t i = 0; notifier_table[i]; i++) {
            const struct cell *cell = &stage.cells[i][j];
            print_message("%-22s %-13s %s%s%s\n", troubles[j].name, notifier_table[i]->type,
                          outcomes[outcome_of(cell)], cell->told ? ": " : "",
                          cell->told ? cell->told : "");
            check(cell, (int)(i * TROUBLES + j), arena);
        }
    close_stage(&stage);
    http_server_free(https);
    loop_free(stage.loop);
}

static int make_certs(void **state)
{
    cert_make(&ca, NULL, "ca");
    cert_make(&server, &ca, "server");
    return 0;
}

UNIT_FIXTURE(.set_up_all = make_certs, .tear_down_all = certs_free);
