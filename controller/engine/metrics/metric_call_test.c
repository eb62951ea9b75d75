/* Metric servers on the loop: which redirects are followed, and what goes with them. */

#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "engine/metrics/metric_share.h"
#include "net/client.h"
#include "net/server/server.h"
#include "test/rows.h"
#include "test/unit.h"

struct fixture {
    struct loop *loop;
    struct http_client *http;
    struct http_server *server;
    struct metric_ways context;
    struct arena *arena;
    struct metric_call *call;
    int status;         /* of the redirects */
    const char *target; /* where "/away" leads; "" leads to "/home", which answers */
    int asked;
    const char *token, *tenant; /* of the last request */
    bool answered, frees;
    /* credentials that last until a time, and how often they were asked for; refused: the next
     * query is */
    const char *until;
    int given, left, refuses_at;
    bool refused;
    /* an Analysis */
    struct kube_client *kube;
    struct kube_config config;
    const char *told; /* METHOD and METHOD and ... */
    int looks;
    bool writes;
    struct metric_answer answer;
};

static void on_credentials(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;

    f->given++;
    http_reply_json(
        req, 200,
        arena_printf(f->arena,
                     "{\"AccessKeyId\":\"A%d\",\"SecretAccessKey\":\"k\",\"Token\":\"t\","
                     "\"Expiration\":\"%s\"}",
                     f->given, f->until));
}

static void on_cloudwatch(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    const char *text = f->refused ? "<Code>ExpiredToken</Code><Message>late</Message>"
                                  : "<MetricDataResults><Values><member>42</member></Values>"
                                    "</MetricDataResults>";

    f->asked++;
    http_reply(req, f->refused ? 403 : 200, "text/xml", text, strlen(text));
    f->refused = false;
}

/* An Analysis that is completed when it is looked at for the second time. */
static void on_analysis(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    const char *method = http_req_method(req);
    bool completed = strcmp(method, "GET") == 0 && ++f->looks == 2;

    f->told = arena_printf(f->arena, "%s%s ", f->told, method);
    http_reply_json(req,
                    f->refused                    ? 403
                    : strcmp(method, "POST") == 0 ? 201
                                                  : 200,
                    completed ? "{\"status\":{\"state\":\"Completed\",\"pass\":true}}"
                              : "{\"status\":{\"state\":\"Progressing\"}}");
    if (f->frees)
        metric_call_free(f->call);
    f->frees = false;
    if (strcmp(method, "DELETE") == 0)
        loop_drain(f->loop);
}

static void on_query(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    const char *token = http_req_header(req, "authorization");
    const char *tenant = http_req_header(req, "x-scope-orgid");

    f->asked++;
    f->token = arena_strdup(f->arena, token ? token : "none");
    f->tenant = arena_strdup(f->arena, tenant ? tenant : "none");
    if (strncmp(http_req_path(req), "/away/", 6) == 0) {
        http_reply_header(req, "Location", f->target);
        http_reply_text(req, f->status, "elsewhere");
        if (f->frees) {
            metric_call_free(f->call);
            loop_drain(f->loop);
        }
        return;
    }
    http_reply_json(req, 200,
                    "{\"data\":{\"result\":[{\"value\":[1,\"42\"]}],\"resultType\":\"vector\"}}");
}

static void on_answer(void *arg, const struct metric_answer *answer)
{
    struct fixture *f = arg;

    assert_false(f->answered);
    f->answered = true;
    f->answer = *answer;
    loop_drain(f->loop);
}

static void on_drain(void *arg)
{
    struct fixture *f = arg;

    if (f->kube)
        kube_client_free(f->kube);
    http_client_free(f->http);
    f->http = NULL;
}

static const struct http_route routes[] = {{"GET", "/credentials", on_credentials},
                                           {"POST", "/cloudwatch/", on_cloudwatch},
                                           {NULL, "/apis/metrics.keptn.sh/*", on_analysis},
                                           {"GET", "/*", on_query},
                                           {"POST", "/*", on_query},
                                           {NULL, NULL, NULL}};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = loop_new(5000), .arena = unit_arena, .status = 302};
    struct fixture *f = &fixture;
    struct errinfo info;
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes, .arg = f};

    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    f->http = http_client_new(f->loop, NULL);
    f->context = (struct metric_ways){.loop = f->loop, .http = f->http};
    loop_on_drain(f->loop, on_drain, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    http_server_free(f->server);
    loop_free(f->loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

/* Asks the server below "/away" (or "/home") with a token and a header. */
static void ask(struct fixture *f, const char *below)
{
    struct metric_question question = {
        .id = "metrics[0]",
        .backend = "prometheus",
        .address =
            arena_printf(f->arena, "http://127.0.0.1:%d%s", http_server_port(f->server), below),
        .query = "up",
        .spec = rows_json(f->arena, "{'headers':{'X-Scope-OrgID':['team']}}"),
        .secret = rows_json(f->arena, "{'data':{'token':'c2VjcmV0'}}"),
    };
    struct metric_answer at_once;

    f->call = metric_call_start(&f->context, f->arena, &question, 0, on_answer, f, &at_once);
    assert_non_null(f->call);
    assert_int_equal(loop_run(f->loop), 0);
}

static const char *home(struct fixture *f, const char *host)
{
    return arena_printf(f->arena, "http://%s:%d/home/api/v1/query?query=up", host,
                        http_server_port(f->server));
}

static void expect_42(struct fixture *f, int asked, const char *token, const char *tenant)
{
    assert_true(f->answered);
    assert_int_equal(f->answer.outcome, METRIC_VALUE);
    assert_int_equal((int)f->answer.value, 42);
    assert_int_equal(f->asked, asked);
    assert_string_equal(f->token, token);
    assert_string_equal(f->tenant, tenant);
}

CASE(an_answer_is_read)
{
    ask(*state, "/home");
    expect_42(*state, 1, "Bearer secret", "team");
}

FIXTURE_CASE(a_redirect_of_the_same_host_is_followed)
{
    f->target = "/home/api/v1/query?query=up";
    ask(f, "/away");
    expect_42(f, 2, "Bearer secret", "team");
}

FIXTURE_CASE(another_host_gets_no_credentials)
{
    f->status = 308;
    f->target = home(f, "localhost");
    ask(f, "/away");
    expect_42(f, 2, "none", "none");
}

FIXTURE_CASE(a_circle_of_redirects_ends)
{
    f->target = "/away/api/v1/query?query=up";
    ask(f, "/away");
    assert_true(f->answered);
    assert_int_equal(f->answer.outcome, METRIC_ERROR);
    assert_string_equal(f->answer.text, "request failed: stopped after 10 redirects");
    assert_int_equal(f->asked, 11);
}

FIXTURE_CASE(a_redirect_to_another_protocol_is_an_error)
{
    f->target = "file:///etc/passwd";
    ask(f, "/away");
    assert_true(f->answered);
    assert_int_equal(f->answer.outcome, METRIC_ERROR);
    assert_int_equal(f->asked, 1);
}

FIXTURE_CASE(what_was_freed_is_not_followed)
{
    f->target = "/home/api/v1/query?query=up";
    f->frees = true;
    ask(f, "/away");
    assert_false(f->answered);
    assert_int_equal(f->asked, 1);
}

/* Credentials of the process are used for the parts that the Secret lacks. */
FIXTURE_CASE(credentials_of_the_process_are_taken)
{
    const char *server = arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server));
    struct metric_question question = {
        .id = "metrics[0]",
        .backend = "cloudwatch",
        .address = arena_printf(f->arena, "%s/of-the-template", server),
        .query = "[]",
        .interval_ms = 60000,
        .spec = rows_json(f->arena, "{'region':'eu-west-1'}"),
        .secret = rows_json(f->arena, "{'data':{'aws_session_token':'c2VjcmV0'}}"),
    };
    struct metric_answer at_once;

    setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "sesame", 1);
    setenv("AWS_ENDPOINT_URL_CLOUDWATCH", server, 1);
    assert_null(metric_call_start(&f->context, f->arena, &question, 0, on_answer, f, &at_once));
    assert_true(at_once.unreachable);
    assert_string_equal(
        at_once.text,
        "cloudwatch credentials: the secret of secretRef needs the key aws_access_key_id");
    question.secret = NULL;
    f->call = metric_call_start(&f->context, f->arena, &question, 0, on_answer, f, &at_once);
    assert_non_null(f->call);
    assert_int_equal(loop_run(f->loop), 0);
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    unsetenv("AWS_ENDPOINT_URL_CLOUDWATCH");
    assert_true(f->answered);
    assert_int_equal(f->asked, 1);
    assert_non_null(strstr(f->token, "AWS4-HMAC-SHA256 Credential=AKID/19700101/eu-west-1/"));
}

/* Variables of the environment are no keys of a Secret, and no text of one is a path of the API
 * server. */
FIXTURE_CASE(a_secret_leads_to_no_credentials_of_the_process)
{
    static const char *const keys[] = {
        "aws_container_credentials_uri", "aws_container_credentials_path",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL_CLOUDWATCH"};
    const char *path = "/apis/metrics.keptn.sh/v1beta1/x";
    const char *server = arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server));
    const char *environment = arena_printf(f->arena, "%s/credentials", server);
    struct json_object *secret = json_own(f->arena, json_object_new_object());
    struct metric_answer at_once;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        json_set_str(json_sub(secret, "data"), keys[i],
                     base64_encode(f->arena, path, strlen(path)));
    const struct metric_question question = {.id = "metrics[0]",
                                             .backend = "cloudwatch",
                                             .query = "[]",
                                             .interval_ms = 60000,
                                             .spec = rows_json(f->arena, "{'region':'eu-west-1'}"),
                                             .secret = secret};
    f->until = "1970-01-01T06:00:00Z";
    f->told = "";
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", environment, 1);
    setenv("AWS_ENDPOINT_URL_CLOUDWATCH", arena_printf(f->arena, "%s/cloudwatch", server), 1);
    f->call = metric_call_start(&f->context, f->arena, &question, 0, on_answer, f, &at_once);
    assert_non_null(f->call);
    assert_int_equal(loop_run(f->loop), 0);
    unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    unsetenv("AWS_ENDPOINT_URL_CLOUDWATCH");
    assert_int_equal(f->given, 1);
    assert_int_equal(f->asked, 1);
    assert_string_equal(f->told, "");
}

FIXTURE_CASE(what_cannot_be_sent_is_said_at_once)
{
    const struct metric_question unknown = {.id = "x", .backend = "abacus"};
    const struct metric_question nowhere = {.id = "x", .backend = "prometheus", .query = "up"};
    struct metric_answer answer = {0};

    assert_null(metric_call_start(&f->context, f->arena, &unknown, 0, on_answer, f, &answer));
    assert_int_equal(answer.outcome, METRIC_ERROR);
    assert_string_equal(answer.text, "metric provider \"abacus\" is not known");
    assert_null(metric_call_start(&f->context, f->arena, &nowhere, 0, on_answer, f, &answer));
    assert_string_equal(answer.text, "prometheus address \"\" is not a valid URL");
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
}

/* --- what lasts */

static void ask_cloudwatch(struct fixture *f);

static void on_next_answer(void *arg, const struct metric_answer *answer)
{
    struct fixture *f = arg;

    assert_int_equal(answer->outcome, METRIC_VALUE);
    assert_int_equal((int)answer->value, 42);
    f->refused = f->left == f->refuses_at;
    if (--f->left > 0)
        ask_cloudwatch(f);
    else
        loop_drain(f->loop);
}

static void ask_cloudwatch(struct fixture *f)
{
    const struct metric_question question = {
        .id = "metrics[0]",
        .backend = "cloudwatch",
        .query = arena_printf(f->arena, "[{\"id\":\"m%d\"}]", f->left),
        .interval_ms = 60000,
        .spec = rows_json(f->arena, "{'region':'eu-west-1'}")};
    struct metric_answer at_once;

    f->call = metric_call_start(&f->context, f->arena, &question, 0, on_next_answer, f, &at_once);
    assert_non_null(f->call);
}

static void ask_often(struct fixture *f, int times, const char *until)
{
    const char *server = arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server));

    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", arena_printf(f->arena, "%s/credentials", server),
           1);
    setenv("AWS_ENDPOINT_URL_CLOUDWATCH", arena_printf(f->arena, "%s/cloudwatch", server), 1);
    f->context.kept = metric_kept_new();
    f->until = until;
    f->left = times;
    ask_cloudwatch(f);
    assert_int_equal(loop_run(f->loop), 0);
    metric_kept_free(f->context.kept);
    unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    unsetenv("AWS_ENDPOINT_URL_CLOUDWATCH");
}

/* But before the last question they are refused, and are asked for once more. */
FIXTURE_CASE(credentials_are_asked_for_once)
{
    f->refuses_at = 2;
    ask_often(f, 5, "1970-01-01T06:00:00Z");
    assert_int_equal(f->given, 2);
    assert_int_equal(f->asked, 6);
}

FIXTURE_CASE(credentials_that_end_soon_are_not_kept)
{
    ask_often(f, 3, "1970-01-01T00:00:30Z");
    assert_int_equal(f->given, 3);
}

/* --- an Analysis of Keptn */

static bool may_write(void *arg)
{
    return ((struct fixture *)arg)->writes;
}

static void on_verdict(void *arg, const struct metric_answer *answer)
{
    struct fixture *f = arg;

    f->answered = true;
    f->answer = *answer;
    if (!f->writes || f->refused)
        loop_drain(f->loop);
}

static void ask_keptn(struct fixture *f)
{
    const struct metric_question question = {
        .id = "metrics[0]", .backend = "keptn", .query = "analysis/test/quality/2m"};
    struct metric_answer at_once;

    f->told = "";
    f->config.server = arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server));
    f->context.kube = f->kube = kube_client_new(f->loop, f->http, &f->config, NULL);
    f->context.may_write = may_write;
    f->context.may_write_arg = f;
    f->call = metric_call_start(&f->context, f->arena, &question, 0, on_verdict, f, &at_once);
    assert_non_null(f->call);
    assert_int_equal(loop_run(f->loop), 0);
}

FIXTURE_CASE(an_analysis_is_made_looked_at_and_deleted)
{
    f->writes = true;
    ask_keptn(f);
    assert_true(f->answered);
    assert_int_equal(f->answer.outcome, METRIC_VALUE);
    assert_int_equal((int)f->answer.value, 1);
    assert_string_equal(f->told, "POST GET GET DELETE ");
}

FIXTURE_CASE(an_analysis_that_is_not_wanted_any_more_is_deleted)
{
    f->writes = f->frees = true;
    ask_keptn(f);
    assert_false(f->answered);
    assert_string_equal(f->told, "POST DELETE ");
}

FIXTURE_CASE(an_analysis_that_was_refused_is_not_deleted)
{
    f->writes = f->refused = true;
    ask_keptn(f);
    assert_true(f->answered);
    assert_int_equal(f->answer.outcome, METRIC_ERROR);
    assert_string_equal(f->told, "POST ");
}

FIXTURE_CASE(who_may_not_write_makes_no_analysis)
{
    ask_keptn(f);
    assert_true(f->answered);
    assert_int_equal(f->answer.outcome, METRIC_ERROR);
    assert_string_equal(f->told, "");
}

/* Asks the address of --metrics-server, which is closed to tenants, with this backend. */
static void ask_own(struct fixture *f, const char *backend, const char *query)
{
    struct errinfo ei;
    const struct reach *reach;
    struct metric_answer at_once;

    assert_int_equal(reach_read(f->arena, "", true, &reach, &ei), ERR_OK);
    http_client_free(f->http);
    f->http = http_client_new(f->loop, &(struct http_client_options){.reach = reach});
    f->context.http = f->http;
    f->context.own_address =
        arena_printf(f->arena, "http://127.0.0.1:%d/home", http_server_port(f->server));
    const struct metric_question question = {.id = "metrics[0]",
                                             .backend = backend,
                                             .address = f->context.own_address,
                                             .query = query,
                                             .path = "/api/v1/admin"};
    f->call = metric_call_start(&f->context, f->arena, &question, 0, on_answer, f, &at_once);
    assert_non_null(f->call);
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(f->answered);
}

FIXTURE_CASE(the_server_of_the_option_is_open_to_queries)
{
    ask_own(f, "prometheus", "up");
    assert_int_equal(f->answer.outcome, METRIC_VALUE);
}

/* A template of type web makes any request: it takes nothing of what the option opens. */
FIXTURE_CASE(the_server_of_the_option_is_closed_to_requests_of_a_template)
{
    ask_own(f, "web", "$.value");
    assert_int_equal(f->answer.outcome, METRIC_ERROR);
    assert_true(f->answer.unreachable);
    assert_int_equal(f->asked, 0);
}
