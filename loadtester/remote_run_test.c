/*
 * Remote runs, with the types ngrinder and concord against services that follow their REST
 * documentation and check every request they get: method, path, authorization, form. The services
 * run in this process, and speak HTTP.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/remote_run.h"
#include "net/loop_test.h"
#include "net/server/server.h"
#include "test/unit.h"

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    struct arena *arena;
    struct task_plan plan;
    struct remote_run *remote_run;
    const char *asked;   /* "POST /a; GET /b; " */
    int polls_to_finish; /* number of RUNNING answers before the end */
    const char *final;   /* status at the end */
    int fail_status;     /* status of every answer; 0 if none */
    const char *garbage; /* body of every answer; NULL: the right one */
    int ended;
    char error[256];
    const char *key_file;
};

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    http_client_free(f->client);
}

/* Records the request; false: already answered, as the case demands. */
static bool hear(struct fixture *f, struct http_conn_request *req)
{
    const char *query = http_req_query(req);
    f->asked = arena_printf(f->arena, "%s%s %s%s%s; ", f->asked, http_req_method(req),
                            http_req_path(req), *query ? "?" : "", query);
    if (f->fail_status)
        http_reply_text(req, f->fail_status, "no");
    else if (f->garbage)
        http_reply_json(req, 200, f->garbage);
    return !f->fail_status && !f->garbage;
}

static void expect_header(struct http_conn_request *req, const char *name, const char *value)
{
    const char *got = http_req_header(req, name);
    if (!got || strcmp(got, value) != 0)
        fail_msg("%s %s: header %s is %s, expected %s", http_req_method(req), http_req_path(req),
                 name, got ? got : "(missing)", value);
}

/* --- nGrinder */

static void ngrinder_start(void *arg, struct http_conn_request *req)
{
    expect_header(req, "authorization", "Basic YWRtaW46c2VjcmV0OjE="); /* admin:secret:1 */
    if (hear(arg, req))
        http_reply_json(req, 200, "{\"id\":77,\"testName\":\"t\",\"status\":{\"name\":\"READY\"}}");
}

static void ngrinder_status(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    expect_header(req, "authorization", "Basic YWRtaW46c2VjcmV0OjE=");
    if (!hear(f, req))
        return;
    const char *state = f->polls_to_finish-- > 0 ? "TESTING" : f->final;
    http_reply_json(req, 200,
                    arena_printf(http_req_arena(req),
                                 "{\"perfTestInfo\":{},\"status\":[{\"id\":77,\"status_id\":\"%s\","
                                 "\"name\":\"x\"}]}",
                                 state));
}

static void ngrinder_stop(void *arg, struct http_conn_request *req)
{
    expect_header(req, "authorization", "Basic YWRtaW46c2VjcmV0OjE=");
    assert_string_equal(http_req_param(req, "action"), "stop");
    if (hear(arg, req))
        http_reply_json(req, 200, "{\"success\":true}");
}

/* --- Concord */

static void expect_part(const char *body, const char *name, const char *value)
{
    char part[256];
    snprintf(part, sizeof(part), "form-data; name=\"%s\"\r\n\r\n%s\r\n--", name, value);
    if (!strstr(body, part))
        fail_msg("no part %s=%s in %s", name, value, body);
}

static void concord_start(void *arg, struct http_conn_request *req)
{
    size_t len;
    const char *body = http_req_body(req, &len);
    const char *type = http_req_header(req, "content-type");
    expect_header(req, "authorization", "key-of-the-file");
    assert_non_null(type);
    assert_memory_equal(type, "multipart/form-data; boundary=", 30);
    assert_memory_equal(body + 2, type + 30, strlen(type + 30));
    expect_part(body, "org", "o");
    expect_part(body, "project", "p");
    expect_part(body, "repo", "r");
    expect_part(body, "entryPoint", "main");
    expect_part(body, "arguments.endpoint", "http://canary/");
    expect_part(body, "arguments.users", "10");
    assert_null(strstr(body, "apiKeyPath"));
    if (hear(arg, req))
        http_reply_json(req, 200, "{\"instanceId\":\"0a-1b\",\"ok\":true}");
}

static void concord_status(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    expect_header(req, "authorization", "key-of-the-file");
    if (!hear(f, req))
        return;
    const char *state = f->polls_to_finish-- > 0 ? "RUNNING" : f->final;
    http_reply_json(
        req, 200,
        arena_printf(http_req_arena(req), "{\"instanceId\":\"0a-1b\",\"status\":\"%s\"}", state));
}

static void concord_kill(void *arg, struct http_conn_request *req)
{
    expect_header(req, "authorization", "key-of-the-file");
    if (hear(arg, req))
        http_reply(req, 204, NULL, "", 0);
}

static const struct http_route routes[] = {
    {"POST", "/perftest/api/5/clone_and_start", ngrinder_start},
    {"GET", "/perftest/api/77/status", ngrinder_status},
    {"PUT", "/perftest/api/77", ngrinder_stop},
    {"POST", "/api/v1/process", concord_start},
    {"GET", "/api/v1/process/0a-1b", concord_status},
    {"DELETE", "/api/v1/process/0a-1b", concord_kill},
    {NULL, NULL, NULL},
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){
        .loop = loop_new(20000), .arena = unit_arena, .asked = "", .final = "FINISHED"};
    struct fixture *f = &fixture;
    struct errinfo info = {0};
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes, .arg = f};
    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    f->client = http_client_new(f->loop, NULL);
    loop_on_drain(f->loop, on_drain, f);
    f->key_file = unit_put("key", "key-of-the-file\n");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    http_server_free(f->server);
    loop_free(f->loop);
    return 0;
}

static void note(void *arg, const char *line)
{
    assert_null(strstr(line, "secret"));
    assert_null(strstr(line, "key-of-the-file"));
}

static void on_done(void *arg, const struct remote_run_result *result)
{
    struct fixture *f = arg;
    f->ended++;
    snprintf(f->error, sizeof(f->error), "%s", result->error ? result->error : "");
}

static enum err make(struct fixture *f, const char *type, const char *metadata,
                     struct errinfo *info)
{
    const char *body = arena_printf(f->arena, "{\"metadata\":%s}", metadata);
    struct webhook_message message;
    static const struct task_policy anything = {.shell = true, .key_dir = "/tmp"};
    f->plan = (struct task_plan){0};
    assert_int_equal(webhook_parse(f->arena, body, strlen(body), &message, info), ERR_OK);
    return task_type_find(type)->make(f->arena, &message, &anything, &f->plan, info);
}

static void start(struct fixture *f, const char *type, int64_t timeout_ms)
{
    struct errinfo info = {0};
    int port = http_server_port(f->server);
    const char *metadata =
        strcmp(type, "ngrinder") == 0
            ? arena_printf(f->arena,
                           "{\"server\":\"http://127.0.0.1:%d/\",\"clone\":\"5\",\"username\":"
                           "\"admin\",\"passwd\":\"c2VjcmV0OjE=\",\"pollInterval\":\"100ms\"}",
                           port)
            : arena_printf(f->arena,
                           "{\"server\":\"http://127.0.0.1:%d\",\"org\":\"o\",\"project\":\"p\","
                           "\"repo\":\"r\",\"entrypoint\":\"main\",\"endpoint\":\"http://canary/\","
                           "\"arguments.users\":\"10\",\"arguments.endpoint\":\"no\","
                           "\"apiKeyPath\":\"%s\",\"pollInterval\":\"1\"}",
                           port, f->key_file);
    if (make(f, type, metadata, &info) != ERR_OK)
        fail_msg("%s", info.text);
    f->remote_run = remote_run_start(f->loop, f->client, &f->plan, timeout_ms, note, on_done, f);
    assert_int_equal(f->ended, 0);
}

CASE_WITH(ngrinder_is_polled_to_its_end, set_up, tear_down)
{
    struct fixture *f = *state;
    f->polls_to_finish = 2;
    start(f, "ngrinder", 0);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "");
    assert_string_equal(f->asked,
                        "POST /perftest/api/5/clone_and_start; GET /perftest/api/77/status; GET "
                        "/perftest/api/77/status; GET /perftest/api/77/status; ");
}

CASE_WITH(ngrinder_failures_are_told, set_up, tear_down)
{
    struct fixture *f = *state;
    f->final = "STOP_BY_ERROR";
    start(f, "ngrinder", 0);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "nGrinder test 77 ended as STOP_BY_ERROR");
}

CASE_WITH(ngrinder_is_stopped_when_time_is_up, set_up, tear_down)
{
    struct fixture *f = *state;
    f->polls_to_finish = 1000;
    start(f, "ngrinder", 350);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "timed out after 350ms");
    assert_non_null(strstr(f->asked, "PUT /perftest/api/77?action=stop; "));
}

CASE_WITH(a_shutdown_stops_ngrinder_too, set_up, tear_down)
{
    struct fixture *f = *state;
    f->polls_to_finish = 1000;
    start(f, "ngrinder", 0);
    RUN_UNTIL(f, strstr(f->asked, "status"));
    remote_run_stop(f->remote_run);
    remote_run_stop(f->remote_run);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "stopped, the load tester shuts down");
    assert_non_null(strstr(f->asked, "PUT /perftest/api/77?action=stop; "));
}

/* The test is stopped while being created: the run waits for its number, and stops it. */
CASE_WITH(what_is_being_started_is_stopped_as_well, set_up, tear_down)
{
    struct fixture *f = *state;
    start(f, "ngrinder", 0);
    RUN_UNTIL(f, http_client_active(f->client) == 1);
    remote_run_stop(f->remote_run);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->asked,
                        "POST /perftest/api/5/clone_and_start; PUT /perftest/api/77?action=stop; ");
}

CASE_WITH(bad_answers_are_told, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct {
        int status;
        const char *garbage, *error;
    } cases[] = {
        {503, NULL, "nGrinder answered 503"},
        {0, "{\"success\":false,\"message\":\"no such test\"}",
         "nGrinder answered that it had no success"},
        {0, "[", "nGrinder's answer: "},
        {0, "null", "nGrinder answered null"},
        {0, "{\"id\":-4}", "nGrinder's answer has no id"},
        {0, "{\"id\":\"77/../..\"}", "nGrinder's answer has no id"},
        {0, "[1,2]", "nGrinder's answer has no id"},
    };
    EACH_ROW (row, cases) {
        f->fail_status = row->status;
        f->garbage = row->garbage;
        f->ended = 0;
        start(f, "ngrinder", 0);
        RUN_UNTIL(f, f->ended);
        if (!strstr(f->error, row->error))
            fail_msg("%s: %s", row->garbage, f->error);
    }
}

CASE_WITH(nobody_there_is_told, set_up, tear_down)
{
    struct fixture *f = *state;
    struct errinfo info = {0};
    assert_int_equal(make(f, "ngrinder",
                          "{\"server\":\"http://127.0.0.1:1\",\"clone\":\"5\",\"username\":\"a\","
                          "\"passwd\":\"\"}",
                          &info),
                     ERR_INVALID);
    assert_string_equal(info.text, "passwd not found in metadata");
    assert_int_equal(make(f, "ngrinder",
                          "{\"server\":\"http://127.0.0.1:1\",\"clone\":\"5\",\"username\":\"a\","
                          "\"passwd\":\"eA==\"}",
                          &info),
                     ERR_OK);
    f->remote_run = remote_run_start(f->loop, f->client, &f->plan, 0, note, on_done, f);
    RUN_UNTIL(f, f->ended);
    assert_non_null(strstr(f->error, "nGrinder: POST http://127.0.0.1:1/perftest"));
}

/* A test may be polled for hours. */
static enum remote_next next_of_many(void *state, struct arena *arena, const char *secret,
                                     const struct remote_answer *answer, struct remote_request *out,
                                     struct errinfo *ei)
{
    struct fixture *f = state;
    assert_true(arena_used(arena) < 2 * 10000);
    *out = (struct remote_request){.method = "GET", .url = arena_strdup(arena, f->plan.text)};
    arena_alloc(arena, 10000);
    return f->polls_to_finish-- > 0 ? REMOTE_SEND : REMOTE_DONE;
}

CASE_WITH(a_long_conversation_takes_no_more_memory, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct remote remote = {.next = next_of_many};
    f->plan = (struct task_plan){
        .remote = &remote,
        .remote_state = f,
        .text = arena_printf(f->arena, "http://127.0.0.1:%d/healthz", http_server_port(f->server))};
    f->polls_to_finish = 20;
    f->remote_run = remote_run_start(f->loop, f->client, &f->plan, 0, note, on_done, f);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "");
    assert_int_equal(f->polls_to_finish, -1);
}

/* Two processes differ if their requests differ. */
CASE_WITH(concord_tasks_differ_by_all_that_is_sent, set_up, tear_down)
{
    struct fixture *f = *state;
    struct errinfo info = {0};
    static const char form[] =
        "{\"server\":\"http://x\",\"org\":\"o\",\"project\":\"p\",\"repo\":\"r\",\"entrypoint\":"
        "\"main\",\"endpoint\":\"e\",\"apiKeyPath\":\"%s\",\"arguments.users\":\"%d\"}";
    assert_int_equal(make(f, "concord", arena_printf(f->arena, form, "/tmp/k", 1), &info), ERR_OK);
    const char *key = f->plan.key;
    assert_int_equal(make(f, "concord", arena_printf(f->arena, form, "/tmp/k", 1), &info), ERR_OK);
    assert_string_equal(f->plan.key, key);
    assert_int_equal(make(f, "concord", arena_printf(f->arena, form, "/tmp/k", 2), &info), ERR_OK);
    assert_string_not_equal(f->plan.key, key);
    assert_int_equal(make(f, "concord", arena_printf(f->arena, form, "/tmp/j", 1), &info), ERR_OK);
    assert_string_not_equal(f->plan.key, key);
}

CASE_WITH(concord_runs_to_its_end, set_up, tear_down)
{
    struct fixture *f = *state;
    f->polls_to_finish = 1;
    start(f, "concord", 0);
    assert_int_equal(f->plan.timeout_ms, 30000);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "");
    assert_string_equal(f->asked, "POST /api/v1/process; GET /api/v1/process/0a-1b; GET "
                                  "/api/v1/process/0a-1b; ");
}

CASE_WITH(concord_failures_are_told_and_time_kills_it, set_up, tear_down)
{
    struct fixture *f = *state;
    f->final = "FAILED";
    start(f, "concord", 0);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "Concord process 0a-1b ended as FAILED");
    f->ended = 0;
    f->asked = "";
    f->polls_to_finish = 1000;
    start(f, "concord", 1300);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "timed out after 1.3s");
    assert_non_null(strstr(f->asked, "DELETE /api/v1/process/0a-1b; "));
}

CASE_WITH(an_id_that_would_lead_elsewhere_is_none, set_up, tear_down)
{
    struct fixture *f = *state;
    f->garbage = "{\"instanceId\":\"../../admin\"}";
    start(f, "concord", 0);
    RUN_UNTIL(f, f->ended);
    assert_string_equal(f->error, "Concord's answer has no instanceId");
}

CASE_WITH(a_key_that_is_not_there_is_told, set_up, tear_down)
{
    struct fixture *f = *state;
    assert_int_equal(unlink(f->key_file), 0);
    start(f, "concord", 0);
    RUN_UNTIL(f, f->ended);
    assert_non_null(strstr(f->error, f->key_file + strlen("/tmp/")));
    assert_non_null(strstr(f->error, "No such file"));
    assert_string_equal(f->asked, "");
}

/* Rejected before anything is sent. */
CASE_WITH(bad_metadata_is_refused, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct {
        const char *type, *metadata, *error;
    } cases[] = {
        {"ngrinder", "{}", "server not found in metadata"},
        {"ngrinder", "{\"server\":\"x\"}", "metadata.server: expected a URL"},
        {"ngrinder", "{\"server\":\"http://x\"}", "clone not found in metadata"},
        {"ngrinder", "{\"server\":\"http://x\",\"clone\":\"5/..\"}",
         "metadata.clone: expected the number of a test, found \"5/..\""},
        {"ngrinder",
         "{\"server\":\"http://x\",\"clone\":\"5\",\"username\":\"a\",\"passwd\":\"%\"}",
         "metadata.passwd: expected base64"},
        {"ngrinder",
         "{\"server\":\"http://x\",\"clone\":\"5\",\"username\":\"a\",\"passwd\":\"eA==\","
         "\"pollInterval\":\"1ms\"}",
         "metadata.pollInterval: expected a duration of at least 100ms, found \"1ms\""},
        {"concord", "{\"server\":\"http://x\"}", "apiKeyPath not found in metadata"},
        {"concord", "{\"server\":\"http://x\",\"apiKeyPath\":\"/tmp/x\",\"org\":\"o\"}",
         "project not found in metadata"},
        {"concord",
         "{\"server\":\"http://x\",\"apiKeyPath\":\"/tmp/"
         "x\",\"org\":\"o\",\"project\":\"p\",\"repo\":"
         "\"r\",\"entrypoint\":\"e\",\"endpoint\":\"e\",\"pollTimeout\":\"-1\"}",
         "metadata.pollTimeout: expected whole seconds above 0, found \"-1\""},
        {"concord",
         "{\"server\":\"http://x\",\"apiKeyPath\":\"/tmp/"
         "x\",\"org\":\"o\",\"project\":\"p\",\"repo\":"
         "\"r\",\"entrypoint\":\"e\",\"endpoint\":\"e\",\"arguments.a\\\"\\r\\nX: y\":\"z\"}",
         "cannot be sent to Concord"},
    };
    EACH_ROW (row, cases) {
        struct errinfo info = {0};
        assert_int_equal(make(f, row->type, row->metadata, &info), ERR_INVALID);
        if (!strstr(info.text, row->error))
            fail_msg("%s: %s", row->metadata, info.text);
    }
}

/* If a task could name a file and a server, it could send every file to that server. */
CASE(files_are_bounded)
{
    static const struct {
        struct task_policy policy;
        const char *path;
        bool allowed;
    } cases[] = {
        {{.shell = true}, "/keys/a", false},
        {{.key_dir = "/keys"}, "/keys/a", true},
        {{.key_dir = "/keys/"}, "/keys/a/b", true},
        {{.key_dir = "/keys"}, "a", true},
        {{.key_dir = "/keys"}, "..data/a", true},
        {{.key_dir = "/keys"}, "/etc/shadow", false},
        {{.key_dir = "/keys"}, "../a", false},
        {{.key_dir = "/keys"}, "..", false},
        {{.key_dir = "/keys"}, "/keys/", false},
        {{.key_dir = "/keys"}, "/keysafe/a", false},
        {{.key_dir = "/keys"}, "/keys/../etc/shadow", false},
        {{.key_dir = "/keys"}, "/keys/a/..", false},
    };
    EACH_ROW (row, cases) {
        struct errinfo info = {0};
        const char *path;
        enum err err = task_file(&row->policy, "apiKeyPath", row->path, &path, &info);
        assert_int_equal(err, row->allowed ? ERR_OK : ERR_DENIED);
    }
}
