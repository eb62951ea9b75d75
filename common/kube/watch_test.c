#include <stdlib.h>
#include <string.h>

#include "kube/fake_world.h"
#include "kube/kube_internal.h"
#include "kube/watch.h"
#include "test/unit.h"

/* The reports of a watch, as text: "+a +b * -c". */
struct log {
    char text[8192];
    int events;
    int synced;
    char gone[512]; /* the last GONE object */
    struct watch *watch;
    int free_at;
};

static void on_event(void *arg, enum watch_event event, struct json_object *object)
{
    static const char *const signs[] = {
        [WATCH_PUT] = "+", [WATCH_GONE] = "-", [WATCH_SYNCED] = "*"};
    struct log *log = arg;
    const char *name = json_str_at(object, "metadata", "name", NULL);

    snprintf(log->text + strlen(log->text), sizeof(log->text) - strlen(log->text), "%s%s%s",
             log->text[0] ? " " : "", signs[event], name ? name : "");
    log->events++;
    log->synced += event == WATCH_SYNCED;
    if (event == WATCH_GONE)
        snprintf(log->gone, sizeof(log->gone), "%s", json_object_to_json_string(object));
    if (event == WATCH_SYNCED)
        assert_null(object);
    if (log->events == log->free_at) {
        watch_free(log->watch);
        log->watch = NULL;
    }
}

/* Like start(), with longer time-outs for slow machines. */
static struct watch *start_patient(struct world *w, struct log *log)
{
    struct watch_spec spec = {
        .resource = &kube_configmaps, .namespace_ = "test", .timing = world_quick};

    spec.timing.list_ms = 20000;
    spec.timing.timeout_s = 20;
    return log->watch = watch_new(w->api->loop, w->api->client, &spec, on_event, log);
}

static struct watch *start(struct world *w, struct log *log)
{
    log->watch =
        watch_new(w->api->loop, w->api->client,
                  &(struct watch_spec){
                      .resource = &kube_configmaps, .namespace_ = "test", .timing = world_quick},
                  on_event, log);
    return log->watch;
}

CASE(what_is_asked)
{
    struct world *w = world_start();
    struct log log = {0};
    char label[] = "app in (a,b)";
    struct kube_resource resource = kube_deployments;
    struct watch_spec spec = {.resource = &resource,
                              .label_selector = label,
                              .field_selector = "metadata.name=x",
                              .metadata_only = true};

    for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
        world_put(w, name);
    spec.timing.page = 3;
    log.watch = watch_new(w->api->loop, w->api->client, &spec, on_event, &log);
    memset(label, 'x', sizeof(label) - 1); /* was copied */
    resource.plural = "others";
    assert_int_equal(log.events, 0);
    FAKE_WAIT(w->api, w->streams);
    assert_string_equal(log.text, "+a +b +c +d *");
    assert_true(watch_synced(log.watch));
    assert_null(watch_trouble(log.watch));
    const struct fake_seen *seen = w->api->seen;
#define SELECTORS "labelSelector=app%20in%20%28a%2Cb%29&fieldSelector=metadata.name%3Dx"
    assert_int_equal(w->api->count, 3);
    assert_string_equal(seen[0].path, "/apis/apps/v1/deployments");
    assert_string_equal(seen[0].query, "limit=3&" SELECTORS);
    assert_string_equal(seen[1].query, "limit=3&" SELECTORS "&continue=104-3");
    assert_non_null(strstr(seen[0].accept, "as=PartialObjectMetadataList;"));
    assert_string_equal(seen[2].path, "/apis/apps/v1/deployments");
    assert_non_null(strstr(seen[2].accept, "as=PartialObjectMetadata;"));
    const char *head = "watch=1&allowWatchBookmarks=true&resourceVersion=104&timeoutSeconds=";
    assert_memory_equal(seen[2].query, head, strlen(head));
    assert_in_range(strtol(seen[2].query + strlen(head), NULL, 10), 290, 290 + 145);
    assert_non_null(strstr(seen[2].query, "&" SELECTORS));
    watch_free(log.watch);
    world_stop(w);
}

CASE(resumes_where_it_was)
{
    struct world *w = world_start();
    struct log log = {0};

    world_put(w, "a");
    start(w, &log);
    FAKE_WAIT(w->api, w->streams);
    world_put(w, "b");
    world_bookmark(w);
    world_bookmark(w); /* 104 */
    LOOP_FOR(w->api->loop, 20);
    world_end_streams(w);
    FAKE_WAIT(w->api, w->streams);
    assert_non_null(strstr(w->api->seen[2].query, "resourceVersion=104&"));
    world_delete(w, "a");
    FAKE_WAIT(w->api, log.events == 4);
    assert_string_equal(log.text, "+a * +b -a");
    assert_non_null(strstr(log.gone, "\"data\"")); /* the complete last state */
    assert_int_equal(w->lists, 1);
    assert_null(watch_trouble(log.watch));
    watch_free(log.watch);
    world_stop(w);
}

CASE(a_gap_shows_in_what_vanished)
{
    struct world *w = world_start();
    struct log log = {0};

    for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
        world_put(w, name);
    start(w, &log);
    FAKE_WAIT(w->api, w->streams);
    w->mute = true;
    world_delete(w, "b");
    world_delete(w, "c");
    world_put(w, "c");
    world_compact(w);
    world_end_streams(w);
    FAKE_WAIT(w->api, log.synced == 2);
    assert_string_equal(log.text, "+a +b +c +d * +a -c +c +d -b *");
    assert_string_equal(
        log.gone,
        "{ \"metadata\": { \"namespace\": \"test\", \"name\": \"b\", \"uid\": \"u2\" } }");
    watch_free(log.watch);
    world_stop(w);
}

CASE(troubles_are_told_while_they_last)
{
    static const struct {
        enum fault fault;
        int at;
        const char *want;
    } cases[] = {
        {FAULT_403, 1, "LIST configmaps in test: denied: made to fail"},
        {FAULT_404, 1, "LIST configmaps in test: not found: made to fail"},
        {FAULT_NO_LIST, 1, "the API server answered with something that is no list"},
        {FAULT_500, 2, "LIST configmaps in test: temporary failure: made to fail"},
        {FAULT_ERROR_500, 2, "LIST configmaps: the watch was ended: etcd (500)"},
        {FAULT_GARBAGE, 2, "LIST configmaps: the watch brought rubbish: "},
        {FAULT_CUT, 2, "LIST configmaps in test: "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_start();
        struct log log = {0};
        world_put(w, "a");
        w->fault = cases[i].fault;
        w->fault_at = cases[i].at;
        start(w, &log);
        FAKE_WAIT(w->api, watch_trouble(log.watch));
        if (!strstr(watch_trouble(log.watch), cases[i].want))
            fail_msg("case %zu: %s", i, watch_trouble(log.watch));
        assert_int_equal(watch_synced(log.watch), cases[i].at == 2);
        FAKE_WAIT(w->api, log.synced);
        FAKE_WAIT(w->api, w->streams);
        world_put(w, "b");
        FAKE_WAIT(w->api, strstr(log.text, "+b"));
        assert_null(watch_trouble(log.watch));
        watch_free(log.watch);
        world_stop(w);
    }
}

/* After a 410 it lists again at once; after a repeated 410, only after a pause. */
CASE(the_first_410_is_not_waited_for)
{
    static const enum fault faults[] = {FAULT_410, FAULT_ERROR_410};
    EACH_ROW (row, faults) {
        struct world *w = world_start();
        struct log log = {0};
        struct watch_spec spec = {
            .resource = &kube_configmaps,
            .timing = {.backoff_min_ms = 60000, .backoff_max_ms = 60000, .list_ms = 60000}};
        w->fault = *row;
        w->fault_at = 2;
        world_put(w, "a");
        log.watch = watch_new(w->api->loop, w->api->client, &spec, on_event, &log);
        FAKE_WAIT(w->api, w->streams);
        assert_string_equal(log.text, "+a * +a *");
        assert_int_equal(w->lists, 2);
        watch_free(log.watch);
        world_stop(w);
    }
}

/* If a server rejects watches, lists are repeated with pauses. */
static void answer_bad_watch(struct fake_api *api, struct http_conn_request *req,
                             const struct fake_seen *seen)
{
    struct world *w = api->arg;

    if (strstr(seen->query, "watch=1")) {
        w->watches++;
        world_do_fault(w, req, true);
    } else {
        w->lists++;
        world_list(w, req, seen->query);
    }
}

CASE(lists_do_not_follow_each_other_without_a_pause)
{
    static const enum fault faults[] = {FAULT_410, FAULT_ERROR_410, FAULT_GARBAGE, FAULT_END,
                                        FAULT_403, FAULT_404,       FAULT_CUT,     FAULT_HALF_LINE};
    EACH_ROW (row, faults) {
        struct world *w = world_start();
        struct log log = {0};
        struct watch_spec spec = {
            .resource = &kube_configmaps,
            .timing = {.backoff_min_ms = 50, .backoff_max_ms = 100000, .missing_ms = 100000}};
        w->api->answer = answer_bad_watch;
        w->fault = *row;
        log.watch = watch_new(w->api->loop, w->api->client, &spec, on_event, &log);
        LOOP_FOR(w->api->loop, 400);
        /* doubling from 25..50 ms on: at most five waits in 400 ms, one more list for the first 410
         */
        assert_in_range(w->watches, 1, 6);
        assert_in_range(w->lists, 1, 6);
        watch_free(log.watch);
        world_stop(w);
    }
}

CASE(a_missing_resource_is_asked_for_now_and_then)
{
    struct world *w = world_start();
    struct log log = {0};
    struct watch_spec spec = {.resource = &kube_configmaps, .timing = {.missing_ms = 100}};

    w->fault = FAULT_404;
    w->fault_at = 1;
    int64_t start_ms = clock_monotonic_ms();
    log.watch = watch_new(w->api->loop, w->api->client, &spec, on_event, &log);
    FAKE_WAIT(w->api, log.synced);
    assert_true(clock_monotonic_ms() - start_ms >= 45);
    assert_int_equal(w->lists, 2);
    watch_free(log.watch);
    world_stop(w);
}

CASE(a_silent_watch_is_cut_and_resumed)
{
    struct world *w = world_start();
    struct log log = {0};

    w->mute = true;
    start(w, &log);
    FAKE_WAIT(w->api, w->watches == 1);
    int64_t start_ms = clock_monotonic_ms();
    FAKE_WAIT(w->api, w->watches == 2); /* timeoutSeconds 1 and the margin of 100 ms */
    assert_in_range(clock_monotonic_ms() - start_ms, 1050, 5000);
    assert_int_equal(w->lists, 1);
    watch_free(log.watch);
    world_stop(w);
}

static void answer_long_line(struct fake_api *api, struct http_conn_request *req,
                             const struct fake_seen *seen)
{
    struct world *w = api->arg;
    size_t len = 17 * 1024 * 1024;

    if (!strstr(seen->query, "watch=1") || w->watches++ > 0) {
        world_answer(api, req, seen);
        return;
    }
    char *text = heap_alloc(len);
    memset(text, ' ', len);
    http_stream_start(req, 200, "application/json", len + 1024);
    http_stream_send(req, text, len);
    http_stream_end(req);
    free(text);
}

CASE(a_line_has_a_maximum)
{
    struct world *w = world_start();
    struct log log = {0};

    w->api->answer = answer_long_line;
    world_put(w, "a");
    start_patient(w, &log);
    FAKE_WAIT(w->api, watch_trouble(log.watch));
    assert_string_equal(watch_trouble(log.watch), "the watch brought a line that is too long");
    FAKE_WAIT(w->api, log.synced == 2 && w->streams);
    world_put(w, "b");
    FAKE_WAIT(w->api, strstr(log.text, "+b"));
    watch_free(log.watch);
    world_stop(w);
}

/* With this server's objects, pages of more than one item are too large. */
static void answer_big_objects(struct fake_api *api, struct http_conn_request *req,
                               const struct fake_seen *seen)
{
    if (world_param(seen->query, "limit=", 1) > 1) {
        char *text = heap_alloc(JSON_MAX_BYTES + 100);
        memset(text, ' ', JSON_MAX_BYTES + 100);
        http_reply(req, 200, "application/json", text, JSON_MAX_BYTES + 100);
        free(text);
        return;
    }
    world_answer(api, req, seen);
}

CASE(pages_shrink_when_they_are_too_long)
{
    struct world *w = world_start();
    struct log log = {0};

    w->api->answer = answer_big_objects;
    world_put(w, "a");
    world_put(w, "b");
    start_patient(w, &log); /* pages of 3, then 1 */
    FAKE_WAIT(w->api, log.synced);
    assert_string_equal(log.text, "+a +b *");
    watch_free(log.watch);
    world_stop(w);
}

/* --- an object whose tree is too large */

enum { OBJECTS = 40, LARGE = 11, JUNK = 500 * 1000 };

/* An object of 1.5 MB, whose tree would take 400 MB; the others are small. */
static void add_object(struct buf *out, int i)
{
    buf_printf(out,
               "{\"metadata\":{\"namespace\":\"test\",\"name\":\"o%d\",\"uid\":\"u%d\","
               "\"resourceVersion\":\"7\"},\"spec\":[",
               i, i);
    for (int n = 0; n < (i == LARGE ? JUNK : 1); n++)
        buf_puts(out, n > 0 ? ",{}" : "{}");
    buf_puts(out, "]}");
}

static void answer_large(struct fake_api *api, struct http_conn_request *req,
                         const struct fake_seen *seen)
{
    struct buf text;
    int from = world_param(seen->query, "continue=", 0);
    int to = from + world_param(seen->query, "limit=", OBJECTS);

    buf_init(&text, 4 * 1024 * 1024);
    if (strstr(seen->query, "watch=1")) {
        http_stream_start(req, 200, "application/json", 4 * 1024 * 1024);
        buf_puts(&text, "{\"type\":\"MODIFIED\",\"object\":");
        add_object(&text, LARGE);
        buf_puts(&text, "}\n{\"type\":\"ADDED\",\"object\":");
        add_object(&text, OBJECTS);
        buf_puts(&text, "}\n");
        http_stream_send(req, text.data, text.len);
    } else {
        buf_puts(&text, "{\"items\":[");
        for (int i = from; i < to && i < OBJECTS; i++) {
            buf_puts(&text, i > from ? "," : "");
            add_object(&text, i);
        }
        buf_puts(&text, "],\"metadata\":{\"resourceVersion\":\"7\"");
        if (to < OBJECTS)
            buf_printf(&text, ",\"continue\":\"%d\"", to);
        buf_puts(&text, "}}");
        http_reply(req, 200, "application/json", text.data, text.len);
    }
    buf_fini(&text);
}

CASE(one_too_large_object_does_not_stop_the_others)
{
    struct world *w = world_start();
    struct log log = {0};
    struct watch_spec spec = {
        .resource = &kube_configmaps, .namespace_ = "test", .timing = world_quick};
    char want[512] = "";

    w->api->answer = answer_large;
    spec.timing.page = 500;
    spec.timing.list_ms = 20000;
    spec.timing.timeout_s = 20;
    log.watch = watch_new(w->api->loop, w->api->client, &spec, on_event, &log);
    FAKE_WAIT(w->api, strstr(log.text, "+o40"));
    for (int i = 0; i < OBJECTS; i++)
        snprintf(want + strlen(want), sizeof(want) - strlen(want), "+o%d ", i);
    snprintf(want + strlen(want), sizeof(want) - strlen(want), "* +o%d +o%d", LARGE, OBJECTS);
    assert_string_equal(log.text, want);
    assert_null(watch_trouble(log.watch));
    assert_int_equal(w->api->count, 2); /* one page, and the watch */
    watch_free(log.watch);
    world_stop(w);
}

CASE(goes_on_at_the_same_page)
{
    struct world *w = world_start();
    struct log log = {0};

    for (const char *name = "a\0b\0c\0d\0e\0f\0g\0"; *name; name += 2)
        world_put(w, name);
    w->fault = FAULT_403;
    w->fault_at = 2;
    start(w, &log);
    FAKE_WAIT(w->api, log.synced);
    assert_string_equal(log.text, "+a +b +c +d +e +f +g *");
    assert_string_equal(w->api->seen[2].query, w->api->seen[1].query);

    /* but an expired token restarts the list */
    watch_free(log.watch);
    memset(&log, 0, sizeof(log));
    w->fault = FAULT_410;
    w->fault_at = w->api->count + 2;
    start(w, &log);
    FAKE_WAIT(w->api, log.synced);
    assert_string_equal(log.text, "+a +b +c +a +b +c +d +e +f +g *");
    watch_free(log.watch);
    world_stop(w);
}

/* ---- many at once */

struct crowd {
    int listing, most;
    struct http_conn_request *held[32];
    int held_count;
};

static void answer_crowd(struct fake_api *api, struct http_conn_request *req,
                         const struct fake_seen *seen)
{
    struct crowd *crowd = api->arg;

    if (strstr(seen->query, "watch=1")) {
        http_stream_start(req, 200, "application/json", 0);
        return;
    }
    crowd->listing++;
    crowd->most = crowd->listing > crowd->most ? crowd->listing : crowd->most;
    crowd->held[crowd->held_count++] = req;
}

CASE(only_a_few_list_at_once)
{
    enum { MANY = 11 };
    struct crowd crowd = {0};
    struct fake_api *api = fake_start(answer_crowd, &crowd);
    struct log logs[MANY] = {0};
    int synced = 0;

    fake_connect(api, NULL);
    for (int i = 0; i < MANY; i++)
        logs[i].watch =
            watch_new(api->loop, api->client, &(struct watch_spec){.resource = &kube_configmaps},
                      on_event, &logs[i]);
    FAKE_WAIT(api, crowd.listing == 4);
    LOOP_FOR(api->loop, 30);
    assert_int_equal(crowd.listing, 4);
    /* one that is listing and two that are waiting are freed: the others still list */
    watch_free(logs[0].watch);
    watch_free(logs[5].watch);
    watch_free(logs[MANY - 1].watch);
    while (synced < MANY - 3) {
        FAKE_WAIT(api, crowd.held_count > 0);
        crowd.listing--;
        http_reply_json(crowd.held[--crowd.held_count], 200,
                        "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":null}");
        LOOP_FOR(api->loop, 5);
        synced = 0;
        for (int i = 0; i < MANY; i++)
            synced += logs[i].synced;
    }
    assert_in_range(crowd.most, 4, 5); /* the freed one's request may still be in progress */
    for (int i = 1; i < MANY - 1; i++) {
        if (i != 5) {
            assert_string_equal(logs[i].text, "*");
            watch_free(logs[i].watch);
        }
    }
    assert_int_equal(logs[0].events + logs[5].events + logs[MANY - 1].events, 0);
    fake_stop(api);
}

/* ---- freeing */

CASE(is_freed_in_any_callback)
{
    for (int at = 1; at <= 12; at++) {
        struct world *w = world_start();
        struct log log = {.free_at = at};
        for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
            world_put(w, name);
        start(w, &log);
        FAKE_WAIT(w->api, !log.watch || w->streams);
        if (log.watch) {
            w->mute = true;
            world_delete(w, "b");
            world_delete(w, "d");
            world_delete(w, "c");
            world_put(w, "c");
            world_compact(w);
            world_end_streams(w);
            w->mute = false;
        }
        /* "+a +b +c +d * +a -c +c -b -d *" in some order, and one more event */
        FAKE_WAIT(w->api, !log.watch || (log.synced == 2 && w->streams));
        if (log.watch)
            world_put(w, "z");
        FAKE_WAIT(w->api, !log.watch);
        LOOP_FOR(w->api->loop, 10);
        assert_int_equal(log.events, at);
        world_stop(w);
    }
}

/* Frees it after each number of iterations of the loop, in any state. */
CASE(is_freed_at_any_time)
{
    static const enum fault faults[] = {FAULT_500, FAULT_CUT, FAULT_HANG, FAULT_404};
    EACH_ROW (row, faults) {
        for (int turns = 0; turns < 40; turns++) {
            struct world *w = world_start();
            struct log log = {0};
            for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
                world_put(w, name);
            w->fault = *row;
            w->fault_at = 1 + turns % 3;
            start(w, &log);
            for (int turn = 0; turn < turns; turn++)
                uv_run(loop_uv(w->api->loop), UV_RUN_ONCE);
            watch_free(log.watch);
            int events = log.events;
            LOOP_FOR(w->api->loop, 5);
            assert_int_equal(log.events, events);
            world_stop(w);
        }
    }
}

CASE(what_a_list_leaves_out_is_stale)
{
    struct watch_keys keys;
    size_t count = 9;

    watch_keys_init(&keys);
    assert_null(watch_keys_take_stale(&keys, &count));
    assert_int_equal(count, 0);
    watch_keys_begin(&keys);
    assert_null(watch_keys_put(&keys, "ns", "a", "1"));
    assert_null(watch_keys_put(&keys, "ns", "b", "2"));
    assert_null(watch_keys_put(&keys, "other", "a", "3"));
    assert_null(watch_keys_put(&keys, "", "a", "4"));
    assert_null(watch_keys_take_stale(&keys, &count));

    watch_keys_begin(&keys);
    assert_null(watch_keys_put(&keys, "ns", "b", "2"));
    assert_null(watch_keys_put(&keys, "", "a", "4"));
    struct watch_key **stale = watch_keys_take_stale(&keys, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(stale[i]->name, "a");
        assert_true(strcmp(stale[i]->uid, "1") == 0 || strcmp(stale[i]->uid, "3") == 0);
        free(stale[i]);
    }
    free(stale);
    assert_int_equal(keys.table.count, 2);
    assert_null(watch_keys_take_stale(&keys, &count));
    watch_keys_fini(&keys);
}

CASE(another_uid_replaces)
{
    struct watch_keys keys;
    watch_keys_init(&keys);
    assert_null(watch_keys_put(&keys, "ns", "a", "1"));
    assert_null(watch_keys_put(&keys, "ns", "a", "1"));
    struct watch_key *before = watch_keys_put(&keys, "ns", "a", "2");
    assert_non_null(before);
    assert_string_equal(before->uid, "1");
    free(before);
    watch_keys_remove(&keys, "ns", "a");
    watch_keys_remove(&keys, "ns", "a");
    assert_null(watch_keys_put(&keys, "ns", "a", "3"));
    assert_int_equal(keys.table.count, 1);
    watch_keys_fini(&keys);
}

#define META                                                                                       \
    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}"

CASE(events)
{
    static const struct {
        const char *line;
        enum err err;
        enum line_type type;
        int code;
    } cases[] = {
        {"{\"type\":\"ADDED\",\"object\":" META "}", ERR_OK, LINE_PUT, 0},
        {"{\"type\":\"MODIFIED\",\"object\":" META "}", ERR_OK, LINE_PUT, 0},
        {"{\"type\":\"DELETED\",\"object\":" META "}", ERR_OK, LINE_GONE, 0},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}", ERR_OK,
         LINE_BOOKMARK, 0},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}", ERR_INVALID, 0, 0},
        {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"x\"}}",
         ERR_OK, LINE_ERROR, 410},
        {"{\"type\":\"ERROR\",\"object\":{}}", ERR_OK, LINE_ERROR, 0},
        {"{\"type\":\"ERROR\"}", ERR_INVALID, 0, 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}", ERR_INVALID, 0, 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}", ERR_INVALID,
         0, 0},
        {"{\"type\":\"ADDED\",\"object\":[]}", ERR_INVALID, 0, 0},
        {"{\"type\":\"CHANGED\",\"object\":" META "}", ERR_INVALID, 0, 0},
        {"{\"object\":" META "}", ERR_INVALID, 0, 0},
        {"[]", ERR_INVALID, 0, 0},
        {"{\"type\":\"ADDED\",\"obj", ERR_INVALID, 0, 0},
        {"<html>", ERR_INVALID, 0, 0},
    };
    EACH_ROW (row, cases) {
        struct line_event event;
        struct errinfo ei = {0};
        assert_int_equal(watch_line_parse(arena, row->line, strlen(row->line), &event, &ei),
                         row->err);
        if (row->err != ERR_OK) {
            assert_true(ei.text[0] != '\0');
        } else {
            assert_int_equal(event.type, row->type);
            assert_int_equal(event.code, row->code);
            if (event.type == LINE_PUT) {
                assert_string_equal(event.namespace_, "n");
                assert_string_equal(event.name, "a");
                assert_string_equal(event.uid, "u");
                assert_string_equal(event.resource_version, "7");
            }
        }
    }
}

struct seen {
    char text[256];
    int stop_after;
};

static bool collect(void *arg, const char *line, size_t len)
{
    struct seen *seen = arg;
    assert_int_equal(strlen(line), len);
    strncat(seen->text, line, sizeof(seen->text) - strlen(seen->text) - 1);
    strncat(seen->text, "|", sizeof(seen->text) - strlen(seen->text) - 1);
    return seen->stop_after == 0 || --seen->stop_after > 0;
}

/* The lines are the same however the stream is split. */
CASE(lines_are_whole_whatever_the_pieces)
{
    static const char text[] = "one\ntwo\n\nthree\r\nlast";
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        struct buf rest;
        struct seen seen = {0};
        buf_init(&rest, 64);
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t len = sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece;
            assert_true(watch_lines_feed(&rest, text + at, len, collect, &seen));
        }
        assert_string_equal(seen.text, "one|two|three\r|");
        assert_string_equal(rest.data, "last");
        buf_fini(&rest);
    }
}

CASE(a_line_has_a_maximum_and_a_reader_may_stop)
{
    struct buf rest;
    struct seen seen = {0};
    buf_init(&rest, 8);
    assert_true(watch_lines_feed(&rest, "12345678\n", 9, collect, &seen));
    assert_false(watch_lines_feed(&rest, "123456789\n", 10, collect, &seen));
    assert_true(rest.truncated);
    assert_string_equal(seen.text, "12345678|");
    buf_clear(&rest);
    assert_true(watch_lines_feed(&rest, "12345", 5, collect, &seen));
    assert_false(watch_lines_feed(&rest, "6789", 4, collect, &seen));
    buf_clear(&rest);
    seen = (struct seen){.stop_after = 2};
    assert_false(watch_lines_feed(&rest, "a\nb\nc\n", 6, collect, &seen));
    assert_string_equal(seen.text, "a|b|");
    buf_fini(&rest);
}
