#include "kube/event.h"

#include <stdio.h>

#include "kube/fake_api.h"

static const struct event_object canary = {.api_version = "flagger.app/v1beta1",
                                           .kind = "Canary",
                                           .namespace_ = "test",
                                           .name = "podinfo",
                                           .uid = "u1",
                                           .resource_version = "7"};

/* The server's answers, one row per request; the last one is repeated. */
struct script {
    int status[8];
    struct http_conn_request *held;
};

static void answer(struct fake_api *api, struct http_conn_request *req,
                   const struct fake_seen *seen)
{
    struct script *script = api->arg;
    int at = 0;

    while (at < api->count - 1 && at < 7 && script->status[at + 1])
        at++;
    if (script->status[at] < 0)
        script->held = req;
    else if (script->status[at] < 300)
        http_reply_json(req, script->status[at], "{}");
    else
        fake_status(req, script->status[at], "made to fail");
}

struct fixture {
    struct script script;
    struct fake_api *api;
    struct event_recorder *recorder;
};

static void start(struct fixture *f)
{
    f->api = fake_start(answer, &f->script);
    fake_connect(f->api, &(struct kube_client_options){.qps = 100000, .burst = 100000});
    f->recorder = event_recorder_new(f->api->loop, f->api->client, "flagger");
}

static void stop(struct fixture *f)
{
    event_recorder_free(f->recorder);
    fake_stop(f->api);
}

static void record(struct fixture *f, const char *message)
{
    event_record(f->recorder, &canary, "Normal", "Synced", message);
}

static struct json_object *body(struct fixture *f, int at)
{
    struct json_object *out = NULL;
    const char *text = f->api->seen[at].body;

    assert_true(at < f->api->count);
    assert_int_equal(json_parse(f->api->arena, text, strlen(text), JSON_MAX_BYTES, &out, NULL),
                     ERR_OK);
    return out;
}

static void on_flushed(void *arg)
{
    ++*(int *)arg;
}

CASE(a_flush_waits_for_what_is_left)
{
    struct fixture f = {.script = {.status = {201, 200}}};
    int flushed = 0;
    start(&f);
    event_flush(f.recorder, 60000, on_flushed, &flushed); /* nothing is pending */
    FAKE_WAIT(f.api, flushed == 1);
    record(&f, "one");
    event_flush(f.recorder, 60000, on_flushed, &flushed);
    assert_int_equal(flushed, 1);
    FAKE_WAIT(f.api, flushed == 2);
    assert_int_equal(event_pending(f.recorder), 0);
    record(&f, "two");
    event_flush(f.recorder, 60000, on_flushed, &flushed); /* the recorder is freed before that */
    stop(&f);
    assert_int_equal(flushed, 2);
}

CASE(is_made_then_counted)
{
    struct fixture f = {.script = {.status = {201, 200}}};
    start(&f);
    record(&f, "one");
    assert_int_equal(event_pending(f.recorder), 1);
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_int_equal(f.api->count, 1);
    assert_string_equal(f.api->seen[0].method, "POST");
    assert_string_equal(f.api->seen[0].path, "/api/v1/namespaces/test/events");
    struct json_object *event = body(&f, 0);
    const char *name = json_str_at(event, "metadata", "name", NULL);
    assert_memory_equal(name, "podinfo.", 8);
    assert_string_equal(json_str_at(event, "metadata", "namespace", NULL), "test");
    struct json_object *involved = json_at(event, "involvedObject", NULL);
    assert_string_equal(json_text(f.api->arena, involved),
                        "{\"apiVersion\":\"flagger.app/v1beta1\",\"kind\":\"Canary\",\"namespace\":"
                        "\"test\",\"name\":\"podinfo\",\"uid\":\"u1\",\"resourceVersion\":\"7\"}");
    assert_string_equal(json_str_at(event, "type", NULL), "Normal");
    assert_string_equal(json_str_at(event, "reason", NULL), "Synced");
    assert_string_equal(json_str_at(event, "message", NULL), "one");
    assert_string_equal(json_str_at(event, "source", "component", NULL), "flagger");
    assert_int_equal(json_int_at(event, 0, "count", NULL), 1);
    assert_string_equal(json_str_at(event, "firstTimestamp", NULL),
                        json_str_at(event, "lastTimestamp", NULL));

    record(&f, "one");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_string_equal(f.api->seen[1].method, "PATCH");
    assert_string_equal(f.api->seen[1].content_type, "application/merge-patch+json");
    assert_string_equal(f.api->seen[1].path,
                        arena_printf(f.api->arena, "/api/v1/namespaces/test/events/%s", name));
    assert_int_equal(json_int_at(body(&f, 1), 0, "count", NULL), 2);
    assert_non_null(json_str_at(body(&f, 1), "lastTimestamp", NULL));

    record(&f, "two"); /* another message is another event */
    event_record(f.recorder, &canary, "Warning", "Synced", "one");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_string_equal(f.api->seen[2].method, "POST");
    assert_string_equal(json_str_at(body(&f, 2), "message", NULL), "two");
    assert_string_equal(f.api->seen[3].method, "POST");
    assert_string_equal(json_str_at(body(&f, 3), "type", NULL), "Warning");
    assert_string_not_equal(json_str_at(body(&f, 2), "metadata", "name", NULL), name);
    stop(&f);
}

CASE(what_happens_meanwhile_is_one_request_more)
{
    struct fixture f = {.script = {.status = {-1, 200}}};
    start(&f);
    record(&f, "one");
    FAKE_WAIT(f.api, f.script.held);
    for (int i = 0; i < 5; i++)
        record(&f, "one");
    record(&f, "two");
    assert_int_equal(event_pending(f.recorder), 2);
    LOOP_FOR(f.api->loop, 20);
    assert_int_equal(f.api->count, 1); /* in order */
    http_reply_json(f.script.held, 201, "{}");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_int_equal(f.api->count, 3);
    assert_string_equal(json_str_at(body(&f, 1), "message", NULL), "two");
    assert_string_equal(f.api->seen[2].method, "PATCH");
    assert_int_equal(json_int_at(body(&f, 2), 0, "count", NULL), 6);
    stop(&f);
}

/* The number of requests seen for a namespace. */
static int count_of(const struct fixture *f, const char *namespace_)
{
    char path[64];
    int count = 0;

    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events", namespace_);
    for (int i = 0; i < f->api->count; i++)
        count += strcmp(f->api->seen[i].path, path) == 0;
    return count;
}

static void record_of(struct fixture *f, const char *namespace_, int object, int text)
{
    struct event_object of = canary;
    char name[32], uid[32], message[32];

    snprintf(name, sizeof(name), "app%d", object);
    snprintf(uid, sizeof(uid), "%s-%d", namespace_, object);
    snprintf(message, sizeof(message), "text %d", text);
    of.namespace_ = namespace_;
    of.name = name;
    of.uid = uid;
    event_record(f->recorder, &of, "Normal", "Synced", message);
}

/* A namespace with many events to send delays an event of another namespace by only one of its
 * own. */
CASE(each_namespace_has_its_turn)
{
    struct fixture f = {.script = {.status = {200}}};

    start(&f);
    for (int i = 0; i < 100; i++)
        record_of(&f, "greedy", i, 0);
    for (int i = 0; i < 5; i++)
        record_of(&f, "modest", i, 0);
    FAKE_WAIT(f.api, count_of(&f, "modest") == 5);
    assert_in_range(count_of(&f, "greedy"), 1, 40);
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_int_equal(f.api->count, 105);
    stop(&f);
}

/* A namespace that has filled the whole table loses its own events, not those of others. */
CASE(who_has_most_loses_its_latest)
{
    enum { OBJECTS = 201, TEXTS = 50, TABLE = 10000 };
    struct fixture f = {.script = {.status = {200}}};

    start(&f);
    for (int i = 0; i < OBJECTS; i++)
        for (int text = 0; text < TEXTS; text++)
            record_of(&f, "greedy", i, text);
    assert_int_equal(event_pending(f.recorder), TABLE);
    for (int i = 0; i < 3; i++)
        record_of(&f, "modest", 0, i);
    record_of(&f, "greedy", OBJECTS, 0); /* it is the namespace with the most events */
    assert_int_equal(event_pending(f.recorder), TABLE);
    FAKE_WAIT(f.api, count_of(&f, "modest") == 3);
    assert_in_range(count_of(&f, "greedy"), 1, 40);
    stop(&f);
}

CASE(after_the_window_another_one_is_made)
{
    struct fixture f = {.script = {.status = {201}}};
    start(&f);
    event_recorder_set_window(f.recorder, 0);
    record(&f, "one");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    record(&f, "one");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_string_equal(f.api->seen[1].method, "POST");
    assert_int_equal(json_int_at(body(&f, 1), 0, "count", NULL), 1);
    assert_string_not_equal(json_str_at(body(&f, 0), "metadata", "name", NULL),
                            json_str_at(body(&f, 1), "metadata", "name", NULL));
    stop(&f);
}

CASE(what_comes_of_each_answer)
{
    static const struct {
        int status[8];
        const char *methods; /* methods of the requests caused by "one", "one" */
        int counts[4];
    } cases[] = {
        {{201, 200}, "PP", {1, 2}},
        {{500, 201, 200}, "PPP", {1, 1, 2}}, /* retried under the same name */
        {{500, 409, 200}, "PPP", {1, 1, 2}}, /* the first request had been received */
        {{201, 404, 201}, "PPP", {1, 2, 2}}, /* expired: created again */
        {{403, 201}, "PP", {1, 2}},          /* dropped at once */
        {{201, 422, 200}, "PP", {1, 2}},
    };
    EACH_ROW (row, cases) {
        struct fixture f = {0};
        memcpy(f.script.status, row->status, sizeof(f.script.status));
        start(&f);
        record(&f, "one");
        FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
        record(&f, "one");
        FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
        assert_int_equal(f.api->count, strlen(row->methods));
        for (int at = 0; at < f.api->count; at++)
            assert_int_equal(json_int_at(body(&f, at), 0, "count", NULL), row->counts[at]);
        if (row->status[0] == 500)
            assert_string_equal(json_str_at(body(&f, 0), "metadata", "name", NULL),
                                json_str_at(body(&f, 1), "metadata", "name", NULL));
        if (row->status[1] == 404) {
            assert_string_equal(f.api->seen[2].method, "POST");
            assert_string_not_equal(json_str_at(body(&f, 0), "metadata", "name", NULL),
                                    json_str_at(body(&f, 2), "metadata", "name", NULL));
        }
        stop(&f);
    }
}

CASE(is_given_up_after_four_tries)
{
    struct fixture f = {.script = {.status = {503, 503, 503, 503, 201}}};
    start(&f);
    record(&f, "one");
    record(&f, "two");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_int_equal(f.api->count, 5);
    for (int at = 0; at < 5; at++)
        assert_string_equal(json_str_at(body(&f, at), "message", NULL), at < 4 ? "one" : "two");
    stop(&f);
}

CASE(what_is_repeated_is_sent_now_and_then)
{
    struct fixture f = {.script = {.status = {201}}};

    start(&f);
    for (int i = 0; i < 300; i++) {
        record(&f, "it waits");
        FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    }
    assert_in_range(f.api->count, 10, 20); /* some seconds may pass on a slow machine */
    assert_true(json_int_at(body(&f, 9), 0, "count", NULL) == 10);
    record(&f, "it waits no longer");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_string_equal(json_str_at(body(&f, f.api->count - 1), "message", NULL),
                        "it waits no longer");
    stop(&f);
}

CASE(an_object_has_a_burst)
{
    struct fixture f = {.script = {.status = {201}}};
    struct event_object other = canary;
    char message[32];

    start(&f);
    for (int i = 0; i < 70; i++) {
        snprintf(message, sizeof(message), "message %d", i);
        record(&f, message);
    }
    assert_int_equal(event_pending(f.recorder), 50);
    other.name = "other"; /* has its own limit */
    event_record(f.recorder, &other, "Normal", "Synced", "hello");
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_int_equal(f.api->count, 51);
    stop(&f);
}

CASE(what_is_remembered_is_bounded)
{
    struct fixture f = {.script = {.status = {-1, -1}}};
    struct event_object object = canary;
    char name[32];

    start(&f);
    object.name = name;
    for (int i = 0; i < 10100; i++) {
        snprintf(name, sizeof(name), "canary-%d", i);
        event_record(f.recorder, &object, "Normal", "Synced", "hello");
    }
    assert_int_equal(event_pending(f.recorder), 10000);
    stop(&f);
}

CASE(texts_are_cut_and_copied)
{
    struct fixture f = {.script = {.status = {201}}};
    struct event_object object = {.api_version = "v1", .kind = "Node", .name = "n"};
    char message[2001];

    for (size_t i = 0; i < 2000; i += 2)
        memcpy(message + i, "\xc3\xa9", 2);
    message[0] = '"';
    message[1] = '\n';
    message[2000] = '\0';
    memmove(message + 1, message + 2, 1999); /* odd offset: byte 1,024 is within a character */
    start(&f);
    event_record(f.recorder, &object, "Warning", "Synced", message);
    memset(message, 'x', 2000);
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_string_equal(f.api->seen[0].path, "/api/v1/namespaces/default/events");
    const char *sent = json_str_at(body(&f, 0), "message", NULL);
    assert_int_equal(strlen(sent), 1023);
    assert_int_equal(sent[0], '"');
    assert_int_equal((unsigned char)sent[1022], 0xa9);
    assert_null(json_at(body(&f, 0), "involvedObject", "namespace", NULL));
    stop(&f);
}

CASE(is_freed_at_any_time)
{
    for (int turns = 0; turns < 24; turns++) {
        struct fixture f = {.script = {.status = {503, -1}}};
        start(&f);
        record(&f, "one");
        record(&f, "two");
        for (int turn = 0; turn < turns * 4; turn++)
            uv_run(loop_uv(f.api->loop), UV_RUN_ONCE);
        stop(&f);
    }
}

/* A burst of events: few requests are in progress, and none is dropped. */
CASE(many_subjects_take_turns)
{
    enum { SUBJECTS = 200, AT_ONCE = 8 };
    struct fixture f = {.script = {.status = {-1, -1, -1, -1, -1, -1, -1, -1}}};
    start(&f);
    for (int i = 0; i < SUBJECTS; i++) {
        struct event_object object = canary;
        object.uid = arena_printf(f.api->arena, "u%d", i);
        event_record(f.recorder, &object, "Warning", "Synced", "one");
        event_record(f.recorder, &object, "Warning", "Synced", "two");
    }
    assert_int_equal(event_pending(f.recorder), 2 * SUBJECTS);
    LOOP_FOR(f.api->loop, 100);
    assert_in_range(f.api->count, 1, AT_ONCE);
    stop(&f);
}

CASE(every_subject_gets_its_turn)
{
    enum { SUBJECTS = 200 };
    struct fixture f = {.script = {.status = {201}}};
    start(&f);
    for (int i = 0; i < SUBJECTS; i++) {
        struct event_object object = canary;
        object.uid = arena_printf(f.api->arena, "u%d", i);
        event_record(f.recorder, &object, "Warning", "Synced", "one");
        event_record(f.recorder, &object, "Warning", "Synced", "two");
    }
    FAKE_WAIT(f.api, event_pending(f.recorder) == 0);
    assert_int_equal(f.api->count, 2 * SUBJECTS);
    stop(&f);
}
