/* How watches end; what they tell, a real API server has said (test/real/answers.yaml). */
#include "api/tryapi.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

/* A watch that writes down what it is told: "ADDED:name ". */
struct stream {
    struct tryapi *a;
    struct buf line, seen;
    struct http_call *call;
    bool over;
    uint64_t bookmark;
    size_t wanted; /* length of seen that somebody waits for */
    bool reached;
};

static void read_line(struct stream *s, const char *text)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *event = try_json(arena, text);
    struct json_object *object = json_at(event, "object", NULL);
    const char *type = json_str_at(event, "type", NULL);
    const char *name = json_str_at(object, "metadata", "name", NULL);
    if (strcmp(type, "BOOKMARK") == 0) {
        s->bookmark = strtoull(json_str_at(object, "metadata", "resourceVersion", NULL), NULL, 10);
    } else if (strcmp(type, "ERROR") == 0) {
        buf_printf(&s->seen, "ERROR:%d ", (int)json_int_at(object, 0, "code", NULL));
    } else if (json_at(object, "rows", NULL)) {
        buf_printf(&s->seen, "%s:%s ", type,
                   json_at(object, "columnDefinitions", NULL) ? "columns" : "row");
    } else {
        buf_printf(&s->seen, "%s:%s ", type, name);
    }
    s->reached = s->seen.len >= s->wanted;
}

static bool on_data(void *arg, const char *data, size_t len)
{
    struct stream *s = arg;
    buf_add(&s->line, data, len);
    char *end;
    while ((end = memchr(s->line.data, '\n', s->line.len))) {
        *end = '\0';
        read_line(s, s->line.data);
        buf_consume(&s->line, (size_t)(end - s->line.data) + 1);
    }
    return true;
}

static void on_done(void *arg, const struct http_result *result)
{
    struct stream *s = arg;
    (void)result;
    s->over = true;
    s->call = NULL;
}

static void start(struct stream *s, struct tryapi *a, const char *query)
{
    *s = (struct stream){.a = a};
    buf_init(&s->line, 1024 * 1024);
    buf_init(&s->seen, 64 * 1024);
    struct http_header headers[] = {{"authorization", "Bearer secret"},
                                    {a->accept ? "accept" : "x-none", a->accept ? a->accept : "1"},
                                    {NULL, NULL}};
    struct http_request request = {
        .url = arena_printf(a->t.arena, "http://127.0.0.1:%d" MAPS "?watch=1&%s",
                            api_http_port(a->api), query),
        .headers = headers,
        .timeout_ms = -1,
        .proxy = "",
        .on_data = on_data,
    };
    s->call = http_send(a->client, &request, on_done, s);
}

/* Waits until exactly this was seen since the start. */
static void expect(struct stream *s, const char *text)
{
    s->wanted = strlen(text);
    s->reached = s->seen.len >= s->wanted;
    tryapi_turn(s->a, &s->reached);
    assert_string_equal(s->seen.data, text);
}

static void stop(struct stream *s)
{
    if (s->call)
        http_cancel(s->call);
    tryapi_turn(s->a, &s->over);
    buf_fini(&s->line);
    buf_fini(&s->seen);
}

static void make(struct tryapi *a, const char *name)
{
    ask_for(a, 201, "POST", MAPS,
            arena_printf(a->t.arena, "{\"metadata\":{\"name\":\"%s\"}}", name));
}

CASE(test_expired)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct stream s, open;
    start(&open, &a, "");
    make(&a, "a");
    expect(&open, "ADDED:a ");
    ask_for(&a, 200, "POST", "/sandbox/compact", "{}");
    start(&s, &a, "resourceVersion=1");
    expect(&s, "ERROR:410 ");
    tryapi_turn(&a, &s.over);
    assert_false(open.over);
    ask_for(&a, 200, "POST", "/sandbox/compact", "{\"expire\":true}");
    expect(&open, "ADDED:a ERROR:410 ");
    tryapi_turn(&a, &open.over);
    stop(&s);
    stop(&open);
}

CASE(test_cut_and_timeout)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct stream s, timed;
    make(&a, "a");
    start(&s, &a, "");
    expect(&s, "ADDED:a ");
    struct json_object *out = ask_for(&a, 200, "POST", "/sandbox/cut", NULL);
    assert_int_equal(json_int_at(out, 0, "cut", NULL), 1);
    tryapi_turn(&a, &s.over);
    start(&timed, &a, "timeoutSeconds=1");
    expect(&timed, "ADDED:a ");
    tryapi_turn(&a, &timed.over);
    out = ask_for(&a, 200, "GET", "/sandbox/stats", NULL);
    assert_int_equal(json_int_at(out, -1, "watches", NULL), 0);
    stop(&s);
    stop(&timed);
}

static bool no_watches(struct tryapi *a)
{
    return json_int_at(ask_for(a, 200, "GET", "/sandbox/stats", NULL), -1, "watches", NULL) == 0;
}

CASE(test_client_goes)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct stream s;
    make(&a, "a");
    start(&s, &a, "");
    expect(&s, "ADDED:a ");
    stop(&s);
    int64_t end = clock_monotonic_ms() + 10000;
    while (!no_watches(&a))
        assert_true(clock_monotonic_ms() < end);
    make(&a, "b");
}

CASE(test_table)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct stream s;
    make(&a, "a");
    a.accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    start(&s, &a, "");
    expect(&s, "ADDED:columns ");
    a.accept = NULL;
    make(&a, "b");
    expect(&s, "ADDED:columns ADDED:row ");
    stop(&s);
}

/* The server ends with watches open: everything is given back. */
CASE(test_open_at_the_end)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct stream s;
    make(&a, "a");
    start(&s, &a, "");
    expect(&s, "ADDED:a ");
    loop_drain(a.t.loop);
    tryapi_turn(&a, &s.over);
    buf_fini(&s.line);
    buf_fini(&s.seen);
}
