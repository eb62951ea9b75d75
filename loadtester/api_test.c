/* The load tester's routes over real connections: waiting, disconnecting and rejected clients. */

#include <malloc.h>
#include <string.h>

#include "loadtester/fixture_test.h"

enum { MAX_RUNNING = 16 };

static int set_up(void **state)
{
    return fixture_set_up(state, MAX_RUNNING);
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = fixture_tear_down);

static void on_answer(void *arg, const struct http_result *result)
{
    struct fixture *f = arg;
    const char *retry = result->err == ERR_OK ? http_result_header(result, "retry-after") : NULL;
    f->answers++;
    f->status = result->err == ERR_OK ? result->status : 0;
    snprintf(f->body, sizeof(f->body), "%s", result->body ? result->body : "");
    snprintf(f->retry_after, sizeof(f->retry_after), "%s", retry ? retry : "");
}

static struct http_call *post_with(struct fixture *f, const char *body,
                                   const struct http_header *headers)
{
    struct http_request request = {
        .method = "POST",
        .headers = headers,
        .url = arena_printf(f->arena, "http://127.0.0.1:%d/", http_server_port(f->server)),
        .body = body,
        .body_len = strlen(body),
        .proxy = "",
        .timeout_ms = 20000};
    return http_send(f->client, &request, on_answer, f);
}

static struct http_call *post_text(struct fixture *f, const char *body)
{
    return post_with(f, body, NULL);
}

static struct http_call *post(struct fixture *f, const char *type, const char *command)
{
    return post_text(f, arena_printf(f->arena,
                                     "{\"name\":\"a\",\"namespace\":\"b\",\"metadata\":{\"type\":"
                                     "\"%s\",\"cmd\":\"%s\",\"returnCmdOutput\":\"true\"}}",
                                     type, command));
}

static bool has(struct fixture *f, const char *what)
{
    return strstr(runner_list(f->api.runner, f->arena), what) != NULL;
}

FIXTURE_CASE(a_client_that_goes_leaves_the_task_and_the_next_one_is_served)
{
    struct http_call *call = post(f, "bash", "sleep 0.5; echo one");
    RUN_UNTIL(f, has(f, "running"));
    http_cancel(call);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->status, 0);
    /* The second waits for the same end. */
    post(f, "bash", "sleep 0.5; echo one");
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->status, 200);
    assert_string_equal(f->body, "one\n");
    assert_true(has(f, "succeeded"));
}

FIXTURE_CASE(a_client_that_waits_is_told_of_the_shutdown)
{
    post(f, "bash", "sleep 60");
    RUN_UNTIL(f, has(f, "running"));
    runner_stop(f->api.runner);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->status, 500);
    assert_non_null(strstr(f->body, "shuts down"));
    post(f, "cmd", "true");
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->status, 503);
}

FIXTURE_CASE(too_many_tasks_are_refused_with_a_time)
{
    post(f, "cmd", "sleep 60");
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->status, 202);
    /* the last tasks are for other namespaces */
    for (int i = 1; i < MAX_RUNNING; i++)
        post(f, "cmd", arena_printf(f->arena, "sleep 6%d", i));
    RUN_UNTIL(f, f->answers == MAX_RUNNING);
    static const char *const types[] = {"cmd", "bash"};
    for (int i = 0; i < 2; i++) {
        post(f, types[i], "sleep 700");
        RUN_UNTIL(f, f->answers == MAX_RUNNING + 1 + i);
        assert_int_equal(f->status, 429);
        assert_string_equal(f->retry_after, "10");
    }
}

/* A parsed message may be 250 times its size: it must not stay with the task. */
CASE(a_message_leaves_only_its_plan)
{
    enum { MESSAGES = 4, PAD = 96 * 1024, MUCH = 8 << 20 }; /* a longer one is rejected */
    struct fixture *f = *state;
    char *pad = arena_alloc(f->arena, PAD);

    for (int i = 0; i + 4 < PAD; i += 3)
        memcpy(pad + i, "{},", 3);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < MESSAGES; i++) {
        post_text(f, arena_printf(f->arena,
                                  "{\"name\":\"a%d\",\"namespace\":\"b\",\"metadata\":{\"cmd\":"
                                  "\"sleep 60\"},\"pad\":[%s{}]}",
                                  i, pad));
        RUN_UNTIL(f, f->answers == i + 1);
    }
    assert_int_equal(f->status, 202);
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + MUCH);
}

/* A page in a browser can reach the load tester under any host name. */
CASE(nothing_is_done_for_a_page)
{
    static const struct http_header pages[][2] = {
        {{"Origin", "https://evil.example"}, {NULL, NULL}},
        {{"Origin", "null"}, {NULL, NULL}},
        {{"Sec-Fetch-Site", "cross-site"}, {NULL, NULL}},
        {{"Sec-Fetch-Site", "same-origin"}, {NULL, NULL}},
    };
    static const char message[] =
        "{\"name\":\"a\",\"namespace\":\"b\",\"metadata\":{\"cmd\":\"true\"}}";
    struct fixture *f = *state;

    for (int i = 0; i < 4; i++) {
        post_with(f, message, pages[i]);
        RUN_UNTIL(f, f->answers == i + 1);
        assert_int_equal(f->status, 403);
    }
    assert_string_equal(runner_list(f->api.runner, f->arena), "[]");
    post_with(f, message, (const struct http_header[]){{"Sec-Fetch-Site", "none"}, {NULL, NULL}});
    RUN_UNTIL(f, f->answers == 5);
    assert_int_equal(f->status, 202);
}

/* Readers of the list of tasks are not shown credentials in commands. */
FIXTURE_CASE(a_password_is_not_listed)
{
    post(f, "bash", "echo -H 'Authorization: Bearer gehe1m'; echo http://a:gehe1m@x");
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->status, 200);
    assert_null(strstr(runner_list(f->api.runner, f->arena), "gehe1m"));
    assert_null(strstr(task_json(runner_find(f->api.runner, 1), f->arena), "gehe1m"));
    assert_non_null(strstr(task_json(runner_find(f->api.runner, 1), f->arena), "***"));
}

UNIT_FIRST(child_main)

/* --- metadata.returnValue */

static void post_value(struct fixture *f, const char *type, const char *command)
{
    post_text(f, arena_printf(f->arena,
                              "{\"name\":\"a\",\"namespace\":\"b\",\"metadata\":{\"type\":\"%s\","
                              "\"cmd\":\"%s\",\"returnValue\":\"true\"}}",
                              type, command));
}

/* The last lines of hey's output are not JSON, but its figures are returned. */
#define HEY                                                                                        \
    "echo Summary:; echo '  Total: 1.0 secs'; echo '  Requests/sec: 20.0'; echo 'Latency "         \
    "distribution:'; echo '  99% in 0.2500 secs'; echo 'Status code distribution:'; echo '  "      \
    "[200] 19 responses'; echo '  [500] 1 responses'"

FIXTURE_CASE(a_task_answers_with_its_number)
{
    static const struct {
        const char *type, *command;
        int status;
        const char *answer;
    } rows[] = {
        {"bash", "echo some text; echo 12.5", 200, "{\"value\":12.5}"},
        {"cmd", "echo 7; echo", 200, "{\"value\":7}"},
        {"bash", "echo -n 1e3", 200, "{\"value\":1e3}"},
        {"bash", "echo null", 200, "{\"value\":null}"},
        {"bash", "echo '{\\\"rate\\\": [0.5]}'", 200, "{\"value\":{\"rate\":[0.5]}}"},
        {"bash", "echo 12.5; echo 98.5%", 500,
         "command echo 12.5; echo 98.5%: returnValue: expected a number or other JSON in the last "
         "line of its output, found \"98.5%\""},
        {"cmd", "true", 500,
         "command true: returnValue: expected a number or other JSON in the last line of its "
         "output, found \"\""},
        {"cmd", "echo 12.5; exit 3", 500,
         "command echo 12.5; exit 3 failed: 12.5\n: exit status 3"},
        {"bash", "yes | head -c 5000 | tr -d '\\\\n'", 500, NULL},
        {"cmd", HEY, 200, NULL},
    };
    int answers = 0;

    EACH_ROW (row, rows) {
        post_value(f, row->type, row->command);
        RUN_UNTIL(f, f->answers > answers);
        answers = f->answers;
        assert_int_equal(f->status, row->status);
        if (row->answer)
            assert_string_equal(f->body, row->answer);
    }
    assert_non_null(strstr(f->body, "{\"value\":null,\"summary\":{\"tool\":\"hey\""));
    assert_non_null(strstr(f->body, "\"requests\":20"));
    assert_non_null(strstr(f->body, "\"p99\":250"));
}

/* The metric and the load test request the same task: it runs once. */
FIXTURE_CASE(a_number_is_that_of_the_task_that_runs_already)
{
    post_text(f,
              "{\"name\":\"a\",\"namespace\":\"b\",\"metadata\":{\"cmd\":\"sleep 0.5; echo 3\"}}");
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->status, 202);
    post_value(f, "cmd", "sleep 0.5; echo 3");
    RUN_UNTIL(f, f->answers == 2);
    assert_string_equal(f->body, "{\"value\":3}");
    assert_int_equal(
        json_len(json_own(f->arena, json_tokener_parse(runner_list(f->api.runner, f->arena)))), 1);
}

/* A run for a number neither creates nor removes the failure that the next check gets. */
FIXTURE_CASE(a_number_leaves_the_verdict_of_the_load_test)
{
    static const char load[] = "{\"name\":\"a\",\"namespace\":\"b\",\"metadata\":{\"cmd\":\"exit "
                               "3\",\"failOnError\":\"true\"}}";

    post_text(f, load);
    RUN_UNTIL(f, f->answers == 1 && has(f, "failed"));
    post_value(f, "cmd", "exit 3");
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->status, 500);
    post_text(f, load);
    RUN_UNTIL(f, f->answers == 3);
    assert_int_equal(f->status, 500);
    assert_non_null(strstr(f->body, "exit status 3"));
}
