/* Shared queries: each answer reaches its own clients, and the server gets each query once. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/metrics/metric_share.h"
#include "metric/backend.h"
#include "net/loop_test.h"
#include "net/server/server.h"
#include "test/rows.h"
#include "test/unit.h"

/*
 * A client that asks each KNOWN_MS is due when another asks each LONG_MS, a tenth of which is
 * longer; however slow the machine is.
 */
enum {
    MAX_ASKED = 8,
    INTERVAL_MS = 60000,
    SHORT_MS = 20,
    KNOWN_MS = 10000,
    LONG_MS = 600000,
};

struct asked {
    struct metric_question question;
    struct metric_group group;
    struct metric_wait *wait;
    bool answered;
    struct metric_answer answer;
    struct fixture *again; /* asks number 1 in the moment in which it is answered */
    struct asked *frees;   /* a wait that ends in that moment */
};

struct fixture {
    struct loop *loop;
    struct arena *arena;
    struct http_client *http;
    struct http_server *server;
    struct metric_ways context;
    struct metric_share *share;
    int requests, groups; /* that came; those of them that were for many */
    int status;           /* of an answer to many */
    const char *head;     /* of an answer, "Retry-After" is its value */
    const char *query;    /* the last one for many; of one at a time, the time */
    struct asked asked[MAX_ASKED];
};

static void on_query(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    const char *query = http_req_param(req, "query");
    bool many = strstr(query, "by (destination_workload_namespace") != NULL;

    f->requests++;
    if (f->head)
        http_reply_header(req, "Retry-After", f->head);
    const char *at = http_req_param(req, "time");
    if (at) {
        f->query = arena_strdup(f->arena, at);
        http_reply_json(req, 200,
                        "{\"data\":{\"resultType\":\"vector\",\"result\":["
                        "{\"metric\":{\"le\":\"0.25\"},\"value\":[1,\"3\"]},"
                        "{\"metric\":{\"le\":\"+Inf\"},\"value\":[1,\"9\"]}]}}");
        return;
    }
    if (!many) {
        http_reply_json(
            req, f->head ? 429 : 200,
            "{\"data\":{\"resultType\":\"vector\",\"result\":[{\"value\":[1,\"7\"]}]}}");
        return;
    }
    f->groups++;
    f->query = arena_strdup(f->arena, query);
    http_reply_json(
        req, f->status,
        "{\"data\":{\"resultType\":\"vector\",\"result\":["
        "{\"metric\":{\"destination_workload_namespace\":\"test\",\"destination_workload\":\"b\"},"
        "\"value\":[1,\"2\"]},"
        "{\"metric\":{\"destination_workload_namespace\":\"other\",\"destination_workload\":\"a\"},"
        "\"value\":[1,\"9\"]},"
        "{\"metric\":{\"destination_workload_namespace\":\"test\",\"destination_workload\":\"a\"},"
        "\"value\":[1,\"1\"]}]}}");
}

static const struct http_route routes[] = {{"GET", "/*", on_query}, {NULL, NULL, NULL}};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    struct errinfo info;
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes, .arg = f};

    *f = (struct fixture){.loop = loop_new(5000), .arena = unit_arena, .status = 200};
    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    f->http = http_client_new(f->loop, NULL);
    f->context = (struct metric_ways){.loop = f->loop, .http = f->http};
    f->share = metric_share_new(&f->context);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    metric_share_free(f->share);
    loop_drain(f->loop);
    http_client_free(f->http);
    loop_run(f->loop);
    http_server_free(f->server);
    loop_free(f->loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void ask(struct fixture *f, int number, const char *token, const char *name,
                int64_t interval_ms);

static void on_answer(void *arg, const struct metric_answer *answer)
{
    struct asked *asked = arg;

    assert_false(asked->answered);
    asked->answered = true;
    asked->answer = *answer;
    if (asked->frees)
        metric_wait_free(asked->frees->wait);
    if (!asked->again)
        return;
    usleep(1000 * SHORT_MS); /* the answer is too old by then */
    ask(asked->again, 1, "YQ==", NULL, SHORT_MS);
}

/*
 * name: of the workload in a group query, where a token is a CA, which cannot be queried without
 * TLS; NULL if none.
 */
static void ask(struct fixture *f, int number, const char *token, const char *name,
                int64_t interval_ms)
{
    struct asked *asked = &f->asked[number];
    const char *secret = arena_printf(f->arena, "{'data':{'token':'%s'}}", token);

    *asked = (struct asked){.answered = false};
    asked->question = (struct metric_question){
        .id = "metrics[0]",
        .backend = "prometheus",
        .address = arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server)),
        .query = name ? arena_printf(f->arena, "of %s", name) : "up",
        .secret = name ? NULL : rows_json(f->arena, secret),
        .ca_pem = name && *token ? token : NULL,
    };
    if (name) {
        asked->group = (struct metric_group){.family = metric_family_find("istio"),
                                             .kind = METRIC_SUCCESS_RATE,
                                             .interval = "1m",
                                             .after = "",
                                             .member = {"test", name}};
        asked->question.group = &asked->group;
    }
    asked->wait = metric_share_ask(f->share, f->arena, &asked->question, 0, interval_ms, on_answer,
                                   asked, &asked->answer);
    asked->answered = asked->wait == NULL;
}

static void expect(struct fixture *f, int number, double value)
{
    RUN_UNTIL(f, f->asked[number].answered);
    assert_int_equal(f->asked[number].answer.outcome, METRIC_VALUE);
    assert_true(f->asked[number].answer.value == value);
}

FIXTURE_CASE(who_is_told_may_ask_again)
{
    ask(f, 0, "YQ==", NULL, SHORT_MS);
    f->asked[0].again = f;
    expect(f, 0, 7);
    expect(f, 1, 7);
    assert_int_equal(f->requests, 2);
}

FIXTURE_CASE(equal_questions_are_asked_once)
{
    for (int i = 0; i < 3; i++)
        ask(f, i, "YQ==", NULL, INTERVAL_MS);
    metric_wait_free(f->asked[1].wait);
    ask(f, 3, "Yg==", NULL, INTERVAL_MS); /* with other credentials */
    expect(f, 0, 7);
    expect(f, 2, 7);
    expect(f, 3, 7);
    assert_false(f->asked[1].answered);
    assert_int_equal(f->requests, 2);
    ask(f, 4, "YQ==", NULL, INTERVAL_MS);
    assert_true(f->asked[4].answered);
    expect(f, 4, 7);
    assert_int_equal(f->requests, 2);
}

FIXTURE_CASE(a_tenant_reads_no_other_namespace)
{
    struct asked *asked = &f->asked[0];

    *asked = (struct asked){.question = {.id = "metrics[0]",
                                         .backend = "keptn",
                                         .query = "keptnmetric/other/m",
                                         .only_namespace = "tenant"}};
    asked->wait = metric_share_ask(f->share, f->arena, &asked->question, 0, INTERVAL_MS, on_answer,
                                   asked, &asked->answer);
    assert_null(asked->wait);
    assert_int_equal(asked->answer.outcome, METRIC_ERROR);
    assert_string_equal(asked->answer.text,
                        "keptn: the query reads namespace other, and cross-namespace references "
                        "are blocked: expected tenant");
}

/* Counts for the judge: up to a time, of a bucket. */
FIXTURE_CASE(all_of_a_question_reaches_the_server)
{
    struct asked *asked = &f->asked[0];
    const char *address =
        arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server));

    *asked = (struct asked){.question = {.id = "judge[0].canary.part",
                                         .backend = "prometheus",
                                         .address = address,
                                         .query = "up",
                                         .at_s = 1700000000,
                                         .bucket = 0.2}};
    asked->wait = metric_share_ask(f->share, f->arena, &asked->question, 0, INTERVAL_MS, on_answer,
                                   asked, &asked->answer);
    expect(f, 0, 3);
    assert_string_equal(asked->answer.note, "0.25");
    assert_string_equal(f->query, "1700000000");
}

FIXTURE_CASE(an_old_answer_is_not_shared)
{
    ask(f, 0, "YQ==", NULL, SHORT_MS);
    expect(f, 0, 7);
    LOOP_FOR(f->loop, SHORT_MS);
    ask(f, 1, "YQ==", NULL, SHORT_MS);
    expect(f, 1, 7);
    assert_int_equal(f->requests, 2);
}

FIXTURE_CASE(who_asks_too_often_is_told_so_without_asking)
{
    f->head = "60";
    ask(f, 0, "YQ==", NULL, SHORT_MS);
    RUN_UNTIL(f, f->asked[0].answered);
    LOOP_FOR(f->loop, SHORT_MS);
    ask(f, 1, "YQ==", NULL, SHORT_MS);
    assert_true(f->asked[1].answered);
    assert_int_equal(f->asked[1].answer.outcome, METRIC_ERROR);
    assert_non_null(strstr(f->asked[1].answer.note, "not to be asked again for 60 s"));
    assert_int_equal(f->requests, 1);
}

/* All of them have asked, and are due again. */
static void make_known(struct fixture *f)
{
    static const char *const names[] = {"a", "b", "none"};

    for (int i = 0; i < 3; i++) {
        ask(f, i, "", names[i], KNOWN_MS);
        expect(f, i, 7);
    }
    assert_int_equal(f->groups, 0);
    LOOP_FOR(f->loop, KNOWN_MS / 10 + 100); /* their answers are old then */
}

FIXTURE_CASE(those_that_are_due_are_asked_together)
{
    make_known(f);
    ask(f, 0, "", "a", LONG_MS);
    ask(f, 1, "", "b", LONG_MS);
    ask(f, 2, "", "none", LONG_MS);
    expect(f, 0, 1);
    expect(f, 1, 2);
    RUN_UNTIL(f, f->asked[2].answered);
    assert_int_equal(f->asked[2].answer.outcome, METRIC_NO_VALUES);
    assert_int_equal(f->requests, 4);
    assert_int_equal(f->groups, 1);
    assert_non_null(strstr(f->query, "destination_workload=~\"(a|"));
    assert_non_null(strstr(f->query, "destination_workload_namespace=~\"test\", "));
}

FIXTURE_CASE(each_asks_by_itself_when_the_query_for_all_fails)
{
    make_known(f);
    f->status = 422;
    ask(f, 0, "", "a", LONG_MS);
    ask(f, 1, "", "b", LONG_MS);
    expect(f, 0, 7);
    expect(f, 1, 7);
    assert_int_equal(f->groups, 1);
    assert_int_equal(f->requests, 6);
}

/*
 * The query for all fails, none can be queried by itself, and the first client notified ends the
 * other one of the same query.
 */
FIXTURE_CASE(who_is_told_may_end_another)
{
    for (int i = 0; i < 2; i++) {
        ask(f, i, "CA", i ? "b" : "a", KNOWN_MS);
        assert_true(f->asked[i].answered);
    }
    LOOP_FOR(f->loop, SHORT_MS); /* a client that asks in the same moment is not due again */
    f->status = 422;
    for (int i = 0; i < 2; i++)
        ask(f, i, "CA", "a", LONG_MS);
    f->asked[0].frees = &f->asked[1];
    f->asked[1].frees = &f->asked[0];
    RUN_UNTIL(f, f->asked[0].answered || f->asked[1].answered);
    assert_int_equal(f->asked[0].answered + f->asked[1].answered, 1);
    assert_int_equal(f->groups, 1);
    assert_int_equal(f->requests, 1);
}
