/*
 * load_api: webhooks of a release that start, watch and end Jobs at an API server, and their
 * answers.
 */
#include <stdio.h>
#include <string.h>

#include "kube/fake_api.h"
#include "loadtester/tester_api.h"
#include "test/rows.h"
#include "test/unit.h"

enum { PODS = 3, MAX_DELETED = 8 };

#define HEADER                                                                                     \
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"

/* The API server, and the load tester in front of it. */
static struct {
    struct fake_api *api;
    struct tester_api tester;
    struct load_policy policy;
    struct http_server *server;
    struct http_client *client;
    /* the answer of the API server */
    int create_status;  /* 201, 409, 403, 500 */
    const char *status; /* of the Job */
    const char *phases[PODS];
    const char *logs[PODS];
    bool missing, foreign;
    bool older;        /* a Job of an earlier step is listed */
    int delete_status; /* 200, 403 */
    bool holds;        /* the creation is answered only by the case */
    struct http_conn_request *held;
    int creates, deletes;
    char body[8192], deleted[256];
    /* the last answer of the load tester */
    int answers, code;
    char text[4096];
} w;

static const char *pod_list(struct arena *arena)
{
    const char *items = "";

    for (int i = 0; i < PODS; i++) {
        if (w.phases[i])
            items = arena_printf(
                arena,
                "%s%s{\"metadata\":{\"name\":\"p%d\",\"annotations\":{\"batch.kubernetes.io/"
                "job-completion-index\":\"%d\"}},\"status\":{\"phase\":\"%s\","
                "\"containerStatuses\":[{\"name\":\"hey\",\"state\":{\"terminated\":{"
                "\"exitCode\":%d}}}]}}",
                items, *items ? "," : "", i, i, w.phases[i],
                strcmp(w.phases[i], "Failed") == 0 ? 3 : 0);
    }
    return arena_printf(arena, "{\"kind\":\"PodList\",\"items\":[%s]}", items);
}

static void answer_get(struct http_conn_request *req, const char *path)
{
    struct arena *arena = http_req_arena(req);
    const char *log = strstr(path, "/log");
    char canary[LOAD_HASH];

    load_canary_hash("test", "podinfo", canary);
    if (log)
        http_reply_text(req, 200, w.logs[log[-1] - '0']);
    else if (strstr(path, "/pods"))
        http_reply_json(req, 200, pod_list(arena));
    else if (strcmp(path, "/apis/batch/v1/namespaces/load/jobs") == 0)
        http_reply_json(req, 200,
                        w.older ? "{\"items\":[{\"metadata\":{\"name\":\"older\"}}]}"
                                : "{\"items\":[]}");
    else if (w.missing)
        fake_status(req, 404, "not found");
    else
        http_reply_json(
            req, 200,
            arena_printf(arena,
                         "{\"metadata\":{\"name\":\"x\",\"labels\":{\"" LOAD_LABEL_CANARY
                         "\":\"%s\"}},\"status\":%s}",
                         w.foreign ? "other" : canary, w.status));
}

static void answer(struct fake_api *api, struct http_conn_request *req,
                   const struct fake_seen *seen)
{
    (void)api;
    if (strcmp(seen->method, "POST") == 0) {
        w.creates++;
        snprintf(w.body, sizeof(w.body), "%s", seen->body);
        if (w.holds)
            w.held = req;
        else if (w.create_status == 201)
            http_reply_json(req, 201, seen->body);
        else
            fake_status(req, w.create_status, "made to fail");
    } else if (strcmp(seen->method, "DELETE") == 0) {
        w.deletes++;
        snprintf(w.deleted, sizeof(w.deleted), "%s?%s", seen->path, seen->query);
        if (w.delete_status == 200)
            http_reply_json(req, 200, "{}");
        else
            fake_status(req, w.delete_status, "made to fail");
    } else {
        answer_get(req, seen->path);
    }
}

static int set_up(void **state)
{
    struct errinfo info = {0};

    memset(&w, 0, sizeof(w));
    w.create_status = 201;
    w.delete_status = 200;
    w.status = "{\"active\":3}";
    w.api = fake_start(answer, NULL);
    fake_connect(w.api, &(struct kube_client_options){0});
    unit_put("hey.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {annotations: "
                         "{flagger.app/results: hey-csv}}\nspec: {template: {spec: {containers: "
                         "[{name: hey, image: hey}]}}}\n");
    w.policy = (struct load_policy){.templates = unit_folder(),
                                    .namespace_ = "load",
                                    .max_pods = 8,
                                    .max_duration_ms = 600000,
                                    .max_rate = 1000,
                                    .max_log_bytes = 4096};
    w.tester.loop = w.api->loop;
    w.tester.policy.load = &w.policy;
    w.tester.loads = loads_new(w.api->loop, w.api->client, &w.policy, 5);
    w.client = http_client_new(w.api->loop, NULL);
    assert_int_equal(http_server_new(w.api->loop,
                                     &(struct http_server_options){.address = "127.0.0.1",
                                                                   .routes = tester_routes,
                                                                   .max_body = WEBHOOK_MAX_BYTES,
                                                                   .arg = &w.tester},
                                     &w.server, &info),
                     ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    loads_free(w.tester.loads);
    http_client_free(w.client);
    http_server_free(w.server);
    fake_stop(w.api);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void on_answer(void *arg, const struct http_result *result)
{
    (void)arg;
    w.answers++;
    w.code = result->err == ERR_OK ? result->status : 0;
    snprintf(w.text, sizeof(w.text), "%s", result->err == ERR_OK ? result->body : "");
}

static void send_request(struct arena *arena, const char *path, const char *body)
{
    const char *url =
        arena_printf(arena, "http://127.0.0.1:%d%s", http_server_port(w.server), path);

    (void)http_send(w.client,
                    &(struct http_request){.method = body ? "POST" : "GET",
                                           .url = url,
                                           .body = body,
                                           .body_len = body ? strlen(body) : 0},
                    on_answer, NULL);
}

static int ask(struct arena *arena, const char *path, const char *body)
{
    int before = w.answers;

    send_request(arena, path, body);
    FAKE_WAIT(w.api, w.answers > before);
    return w.code;
}

static const char *message(struct arena *arena, const char *phase, const char *step,
                           const char *more)
{
    return arena_printf(arena,
                        "{\"name\":\"podinfo\",\"namespace\":\"test\",\"phase\":\"%s\","
                        "\"checksum\":\"c1\",\"release\":\"r1\",\"step\":\"%s\",\"metadata\":{"
                        "\"type\":\"job\",\"template\":\"hey\",\"parallelism\":\"3\"%s}}",
                        phase, step, more);
}

static int hook(struct arena *arena, const char *phase, const char *step, const char *more)
{
    return ask(arena, "/", message(arena, phase, step, more));
}

/* Asks until the load test has this state. */
static void ask_until(struct arena *arena, const char *state)
{
    const char *wanted = arena_printf(arena, "{\"state\":\"%s\"", state);

    for (int i = 0; i < 500; i++) {
        (void)hook(arena, "Progressing", "weight 10", "");
        if (strncmp(w.text, wanted, strlen(wanted)) == 0)
            return;
    }
    fail_msg("not %s: %d %s", state, w.code, w.text);
}

static struct json_object *reply(struct arena *arena)
{
    return rows_json(arena, w.text);
}

static void end_well(void)
{
    static const char *const logs[PODS] = {HEADER "0.0100,0,0,0,0,0,200,0.1\n",
                                           HEADER "0.0200,0,0,0,0,0,503,0.1\n",
                                           HEADER "1.0000,0,0,0,0,0,200,0.1\n"
                                                  "0.0300,0,0,0,0,0,200,0.2\n"};

    for (int i = 0; i < PODS; i++) {
        w.phases[i] = "Succeeded";
        w.logs[i] = logs[i];
    }
    w.status = "{\"succeeded\":3,\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}";
}

CASE(a_job_is_created_once_a_step_and_its_pods_are_added_up)
{
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    assert_string_equal(json_str_at(reply(arena), "state", NULL), "running");
    ask_until(arena, "running");
    assert_int_equal(w.creates, 1);
    assert_non_null(strstr(w.body, "\"completionMode\":\"Indexed\""));
    end_well();
    ask_until(arena, "succeeded");
    assert_int_equal(w.code, 200);
    assert_int_equal(w.creates, 1);
    struct json_object *got = reply(arena);
    assert_int_equal(json_int_at(got, 0, "requests", NULL), 4);
    assert_int_equal(json_int_at(got, 0, "failures", NULL), 1);
    assert_true(json_object_get_double(json_at(got, "failureRate", NULL)) == 25);
    assert_true(json_object_get_double(json_at(got, "p99", NULL)) == 1000);
    assert_true(json_object_get_double(json_at(got, "p50", NULL)) >= 20 &&
                json_object_get_double(json_at(got, "p50", NULL)) <= 21);
    assert_string_equal(json_str_at(got, "message", NULL), "3 of 3 pods counted");
    assert_int_equal(hook(arena, "Progressing", "weight 20", ""), 202);
    assert_int_equal(w.creates, 2);
}

CASE(a_new_step_ends_what_older_ones_left_running)
{
    w.older = true;
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    FAKE_WAIT(w.api, w.deletes == 1);
    assert_string_equal(w.deleted,
                        "/apis/batch/v1/namespaces/load/jobs/older?propagationPolicy=Background");
}

CASE(the_end_of_a_release_ends_its_load)
{
    static const char *const phases[] = {"Succeeded", "Failed"};

    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    w.older = true;
    for (int i = 0; i < 2; i++) {
        int before = w.deletes; /* the new step may be ending older ones */
        assert_int_equal(hook(arena, phases[i], "weight 10", ""), 200);
        assert_true(w.deletes > before);
    }
    assert_int_equal(ask(arena, "/load-tests/test/podinfo", NULL), 200);
    assert_string_equal(w.text, "{\"loadTests\":[]}");
    assert_int_equal(w.creates, 1);
}

CASE(an_end_that_fails_is_answered_with_its_reason)
{
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    w.older = true;
    w.delete_status = 403;
    assert_int_equal(hook(arena, "Failed", "weight 10", ""), 500);
    assert_string_equal(w.text, "the load tests could not be deleted: DELETE jobs load/older: "
                                "denied: made to fail");
    w.delete_status = 200;
    assert_int_equal(hook(arena, "Failed", "weight 10", ""), 200);
    assert_true(w.deletes >= 2);
}

/* The API server may create it after listing the ones to delete. */
CASE(a_job_that_is_created_at_the_end_is_deleted)
{
    w.holds = true;
    send_request(arena, "/", message(arena, "Progressing", "weight 10", ""));
    FAKE_WAIT(w.api, w.held != NULL);
    assert_int_equal(hook(arena, "Failed", "weight 10", ""), 200);
    assert_int_equal(w.deletes, 0);
    w.older = true;
    http_reply_json(w.held, 201, w.body);
    FAKE_WAIT(w.api, w.deletes == 1 && w.answers == 2);
    w.holds = false;
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    assert_int_equal(w.creates, 2);
}

CASE(a_job_that_is_there_is_watched_and_not_doubled)
{
    w.create_status = 409;
    end_well();
    ask_until(arena, "succeeded");
    assert_int_equal(w.creates, 1);
    assert_int_equal(json_int_at(reply(arena), 0, "requests", NULL), 4);
}

CASE(rights_that_are_missing_are_told_and_asked_for_again)
{
    w.create_status = 403;
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 500);
    assert_string_equal(w.text,
                        "the Job was not created in namespace load, the load tester needs a Role "
                        "there: POST jobs in load: denied: made to fail");
    w.create_status = 201;
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    assert_int_equal(w.creates, 2);
}

CASE(a_pod_that_failed_is_named)
{
    end_well();
    w.phases[1] = "Failed";
    ask_until(arena, "failed");
    struct json_object *got = reply(arena);
    assert_string_equal(json_str_at(got, "message", NULL),
                        "2 of 3 pods counted: pod p1 failed: exit status 3 of container hey");
    assert_int_equal(json_int_at(got, 0, "requests", NULL), 3);
    assert_int_equal(w.code, 200);
    assert_int_equal(hook(arena, "Progressing", "weight 10", ",\"failOnError\":\"true\""), 202);
}

CASE(a_log_that_cannot_be_read_is_named)
{
    static const struct {
        const char *log, *message;
    } cases[] = {
        {"0.1,0\n", "2 of 3 pods counted: pod p2: line 1 of its log: expected the header"},
        {"", "pod p2: its log is no hey-csv: it has no header line"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        end_well();
        w.logs[2] = cases[i].log;
        ask_until(arena, "failed");
        assert_non_null(strstr(json_str_at(reply(arena), "message", NULL), cases[i].message));
        assert_int_equal(hook(arena, "Failed", "weight 10", ""), 200);
    }
}

CASE(a_log_has_a_maximum)
{
    static char log[8192];

    end_well();
    snprintf(log, sizeof(log), "%s", HEADER);
    for (int i = 0; i < 200; i++)
        strncat(log, "0.0100,0,0,0,0,0,200,0.1\n", sizeof(log) - strlen(log) - 1);
    w.logs[0] = log;
    ask_until(arena, "failed");
    assert_non_null(strstr(json_str_at(reply(arena), "message", NULL),
                           "pod p0: its log is longer than 4096 bytes (--job-log-bytes)"));
}

CASE(pods_that_are_gone_are_missed)
{
    end_well();
    w.phases[0] = NULL;
    ask_until(arena, "failed");
    assert_string_equal(json_str_at(reply(arena), "message", NULL),
                        "2 of 3 pods counted: the other pods are gone with their logs");
}

CASE(a_job_that_was_deleted_is_told_once)
{
    w.missing = true;
    ask_until(arena, "failed");
    assert_non_null(
        strstr(json_str_at(reply(arena), "message", NULL), "was deleted before its end"));
    w.missing = false;
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    assert_int_equal(w.creates, 2);
}

CASE(an_object_of_another_is_left_alone)
{
    w.create_status = 409;
    w.foreign = true;
    ask_until(arena, "failed");
    assert_non_null(strstr(json_str_at(reply(arena), "message", NULL),
                           "another Job has the name load-podinfo-"));
    assert_int_equal(w.deletes, 0);
}

CASE(bounds_of_the_metadata_judge)
{
    static const char rate[] = ",\"maxErrorRate\":\"10\"";

    end_well();
    for (int i = 0; i < 500 && hook(arena, "Progressing", "weight 10", rate) != 500; i++)
        continue;
    assert_string_equal(w.text, "load test \"Job hey of 3 pods\" failed: 25% of the requests "
                                "failed (1 of 4), maxErrorRate is 10%");
}

static int hook_k6(struct arena *arena)
{
    return ask(arena, "/",
               "{\"name\":\"podinfo\",\"namespace\":\"test\",\"phase\":\"Progressing\","
               "\"checksum\":\"c1\",\"metadata\":{\"type\":\"k6\",\"template\":\"k6\","
               "\"parallelism\":\"3\"}}");
}

CASE(the_stages_of_a_testrun_are_watched)
{
    static const struct {
        const char *status, *state, *message;
    } cases[] = {
        {"{}", "running", "the TestRun is in the stage (none)"},
        {"{\"stage\":\"initialization\"}", "running", "the TestRun is in the stage initialization"},
        {"{\"stage\":\"started\"}", "running", "the TestRun is in the stage started"},
        {"{\"stage\":\"stopped\"}", "running", "the TestRun is in the stage stopped"},
        {"{\"stage\":\"finished\"}", "succeeded", "3 of 3 pods counted"},
    };
    static const char log[] =
        "{\"type\":\"Metric\",\"data\":{},\"metric\":\"http_reqs\"}\n"
        "{\"type\":\"Point\",\"metric\":\"http_reqs\",\"data\":{\"value\":1}}\n"
        "{\"type\":\"Point\",\"metric\":\"http_req_duration\",\"data\":{\"value\":250}}\n";

    unit_put("k6.yaml", "apiVersion: k6.io/v1alpha1\nkind: TestRun\n");
    end_well();
    for (int i = 0; i < PODS; i++)
        w.logs[i] = log;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        w.status = cases[i].status;
        for (int n = 0; n < 500; n++) {
            assert_true(hook_k6(arena) == 202 || w.code == 200);
            if (strstr(w.text, cases[i].message))
                break;
        }
        assert_string_equal(json_str_at(reply(arena), "state", NULL), cases[i].state);
        assert_string_equal(json_str_at(reply(arena), "message", NULL), cases[i].message);
    }
    assert_int_equal(json_int_at(reply(arena), 0, "requests", NULL), 3);
    assert_true(json_object_get_double(json_at(reply(arena), "max", NULL)) == 250);
    assert_int_equal(w.creates, 1);
}

CASE(a_testrun_in_error_fails)
{
    unit_put("k6.yaml", "apiVersion: k6.io/v1alpha1\nkind: TestRun\n");
    w.status = "{\"stage\":\"error\"}";
    for (int n = 0; n < 500 && !strstr(w.text, "failed"); n++)
        (void)hook_k6(arena);
    assert_non_null(strstr(w.text, "has ended in the stage error"));
}

CASE(people_see_all_load_tests)
{
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 202);
    assert_int_equal(ask(arena, "/load-tests", NULL), 200);
    struct json_object *one = json_elem(json_at(reply(arena), "loadTests", NULL), 0);
    assert_string_equal(json_str_at(one, "step", NULL), "weight 10");
    assert_string_equal(json_str_at(one, "canary", NULL), "podinfo");
    assert_int_equal(ask(arena, "/load-tests/test/other", NULL), 200);
    assert_string_equal(w.text, "{\"loadTests\":[]}");
    assert_int_equal(ask(arena, "/load-tests/test", NULL), 404);
    assert_int_equal(ask(arena, "/load-tests/test/a/b", NULL), 404);
}

CASE(it_is_refused_where_it_is_not_switched_on)
{
    struct loads *loads = w.tester.loads;

    w.tester.policy.load = NULL;
    w.tester.loads = NULL;
    assert_int_equal(hook(arena, "Progressing", "weight 10", ""), 403);
    assert_non_null(strstr(w.text, "tasks of type job are not switched on here"));
    assert_int_equal(ask(arena, "/load-tests", NULL), 404);
    w.tester.loads = loads;
}
