/* What each metric says when it halts a release (metric/METRICS.md). */
#include <string.h>

#include "test/unit.h"
#include "world.h"

/* podinfo:2 with 20 % of the traffic, judged by one metric. */
static struct world *analysing(const char *metric)
{
    struct world *w = world_new(NULL);

    world_put(w, "metrictemplates/t",
              "{'metadata':{'name':'t'},'spec':{'query':'x','provider':{'type':'prometheus',"
              "'address':'http://p'}}}");
    world_put(w, "metrictemplates/sealed",
              "{'metadata':{'name':'sealed'},'spec':{'query':'x','provider':{'type':'prometheus',"
              "'address':'http://p','secretRef':{'name':'key'}}}}");
    world_put(w, "metrictemplates/broken",
              "{'metadata':{'name':'broken'},'spec':{'query':'{{ nothing }}','provider':{"
              "'type':'prometheus','address':'http://p'}}}");
    world_put(w, "metrictemplates/private",
              "{'metadata':{'name':'private'},'spec':{'query':'x','provider':{'type':'prometheus',"
              "'address':'https://p','caSecretRef':{'name':'ca'}}}}");
    world_put(w, "metrictemplates/wrong",
              "{'metadata':{'name':'wrong'},'spec':{'query':'x','provider':{'type':'prometheus',"
              "'address':'https://p','caSecretRef':{'name':'no-pem','key':'root'}}}}");
    world_put(w, "metrictemplates/nameless",
              "{'metadata':{'name':'nameless'},'spec':{'query':'x','provider':{'type':'prometheus',"
              "'address':'https://p','caSecretRef':{}}}}");
    world_put(w, "secrets/no-pem", "{'metadata':{'name':'no-pem'},'data':{'root':'bm9uZQ=='}}");
    world_initialise(w);
    world_patch_canary(w, arena_printf(w->arena, "{'spec':{'analysis':{'metrics':[%s]}}}", metric));
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_weights(w), "80/20");
    return w;
}

static void test_halts(void **state)
{
    static const struct {
        const char *metrics; /* of the analysis */
        const char *answers;
        const char *event; /* NULL: the weight advances */
    } cases[] = {
        {"{'name':'request-success-rate','thresholdRange':{'min':99},'interval':'1m'}",
         "{'metrics[0]':99}", NULL},
        {"{'name':'request-success-rate','thresholdRange':{'min':99.5},'interval':'1m'}",
         "{'metrics[0]':98.765}",
         "Warning Progressing: Halt podinfo.test advancement success rate 98.77% < 99.5%"},
        {"{'name':'request-success-rate','thresholdRange':{'max':50},'interval':'1m'}", "{}",
         "Warning Progressing: Halt podinfo.test advancement success rate 100.00% > 50%"},
        {"{'name':'request-success-rate','threshold':99,'interval':'1m'}", "{'metrics[0]':5}",
         "Warning Progressing: Halt podinfo.test advancement success rate 5.00% < 99%"},
        {"{'name':'request-duration','thresholdRange':{'max':500},'interval':'1m'}",
         "{'metrics[0]':0.5}", NULL},
        {"{'name':'request-duration','thresholdRange':{'max':500},'interval':'1m'}",
         "{'metrics[0]':1.2}",
         "Warning Progressing: Halt podinfo.test advancement request duration 1.2s > 500ms"},
        {"{'name':'request-duration','thresholdRange':{'min':500.9},'interval':'1m'}",
         "{'metrics[0]':0.4}",
         "Warning Progressing: Halt podinfo.test advancement request duration 400ms < 500ms"},
        {"{'name':'recorded','thresholdRange':{},'query':'up'}", "{'metrics[0]':5}", NULL},
        {"{'name':'request-duration','threshold':500,'interval':'1m'}", "{'metrics[0]':61}",
         "Warning Progressing: Halt podinfo.test advancement request duration 1m1s > 500ms"},
        {"{'name':'errors','query':'x','thresholdRange':{'max':1.5}}", "{'metrics[0]':2}",
         "Warning Progressing: Halt podinfo.test advancement errors 2.00 > 1.5"},
        {"{'name':'errors','query':'x','thresholdRange':{'min':3}}", "{'metrics[0]':2}",
         "Warning Progressing: Halt podinfo.test advancement errors 2.00 < 3"},
        {"{'name':'errors','query':'x','threshold':1}", "{'metrics[0]':2}",
         "Warning Progressing: Halt podinfo.test advancement errors 2.00 > 1"},
        {"{'name':'request-success-rate','thresholdRange':{'min':99}}", "{'metrics[0]':null}",
         "Warning Progressing: Halt advancement no values found for gatewayapi:v1 metric "
         "request-success-rate probably "
         "podinfo.test is not receiving traffic: no values found"},
        {"{'name':'request-duration','thresholdRange':{'max':99}}", "{'metrics[0]':null}",
         "Warning Progressing: Halt advancement no values found for gatewayapi:v1 metric "
         "request-duration probably "
         "podinfo.test is not receiving traffic"},
        {"{'name':'request-success-rate','thresholdRange':{'min':99}}",
         "{'metrics[0]':'connection refused'}",
         "Warning Progressing: Prometheus query failed: connection refused"},
        {"{'name':'request-duration','thresholdRange':{'max':99}}",
         "{'metrics[0]':'connection refused'}",
         "Warning Progressing: Prometheus query failed: running query failed: connection refused"},
        {"{'name':'errors','query':'x','threshold':1}", "{'metrics[0]':null}",
         "Warning Progressing: Halt advancement no values found for metric: errors"},
        {"{'name':'errors','query':'x','threshold':1}", "{'metrics[0]':'bad query'}",
         "Warning Progressing: Prometheus query failed for errors: bad query"},
        {"{'name':'errors','query':'{{ variables.none }}','threshold':1}", "{}",
         "Warning Progressing: Prometheus query failed for errors: template:1:13: no entry for key "
         "\"none\""},
        {"{'name':'errors','thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric query failed for no usable metrics template and query were "
         "configured"},
        {"{'name':'errors','templateRef':{'name':'t'},'thresholdRange':{'max':1}}",
         "{'metrics[0]':2}", "Warning Progressing: Halt podinfo.test advancement errors 2.00 > 1"},
        {"{'name':'errors','templateRef':{'name':'t'},'thresholdRange':{'max':1}}",
         "{'metrics[0]':null}",
         "Warning Progressing: Halt advancement no values found for custom metric: errors: no "
         "values found"},
        {"{'name':'errors','templateRef':{'name':'t'},'thresholdRange':{'max':1}}",
         "{'metrics[0]':'no route'}",
         "Warning Progressing: Metric query failed for errors: no route"},
        {"{'name':'errors','templateRef':{'name':'gone'},'thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric template gone.test error: not found"},
        {"{'name':'errors','templateRef':{'name':'sealed'},'thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric template sealed.test secret key error: not found"},
        {"{'name':'errors','templateRef':{'name':'private'},'thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric template private.test secret ca error: not found"},
        {"{'name':'errors','templateRef':{'name':'wrong'},'thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric template wrong.test error: caSecretRef: Secret no-pem.test: "
         "the value of key root holds no certificates in PEM"},
        {"{'name':'errors','templateRef':{'name':'nameless'},'thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric template nameless.test error: "
         "spec.provider.caSecretRef.name: expected a name"},
        {"{'name':'errors','templateRef':{'name':'broken'},'thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric template broken.test query render error: template:1:4: "
         "function \"nothing\" is not known; expected name, namespace, target, service, ingress, "
         "route, interval, variables, or one of Go's templates"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = analysing(cases[i].metrics);
        w->metrics = world_json(w, cases[i].answers);
        const char *plan = world_tick(w);
        if (!cases[i].event) {
            assert_string_equal(world_weights(w), "60/40");
            assert_int_equal(world_status_int(w, "failedChecks"), 0);
        } else if (!strstr(plan, arena_printf(w->arena, "event %s\n", cases[i].event))) {
            fail_msg("%s: the plan is\n%s", cases[i].event, plan);
        } else {
            assert_string_equal(world_weights(w), "80/20");
            assert_int_equal(world_status_int(w, "failedChecks"), 1);
        }
        world_free(w);
    }
}

/* What each combination of a name, an inline query and a template asks, in the order of Flagger. */
static void test_every_question_is_asked(void **state)
{
    static const char rate[] = "metrics[0]: sum( rate( http_request_duration_seconds_count{";
    static const char time[] = "metrics[0]: histogram_quantile( 0.99, sum( rate( ";
    static const char query[] = "metrics[0].query: inline\n";
    static const char template[] = "metrics[0].templateRef: x\n";
    static const struct {
        const char *metric;
        const char *asked[4]; /* the lines begin so */
    } cases[] = {
        {"{'name':'request-success-rate','thresholdRange':{}}", {rate}},
        {"{'name':'request-success-rate','query':'inline','thresholdRange':{}}", {rate, query}},
        {"{'name':'request-success-rate','templateRef':{'name':'t'},'thresholdRange':{}}",
         {rate, template}},
        {"{'name':'request-success-rate','query':'inline','templateRef':{'name':'t'},'"
         "thresholdRange':{}}",
         {rate, query, template}},
        {"{'name':'request-duration','thresholdRange':{}}", {time}},
        {"{'name':'request-duration','query':'inline','thresholdRange':{}}", {time, query}},
        {"{'name':'request-duration','templateRef':{'name':'t'},'thresholdRange':{}}",
         {time, template}},
        {"{'name':'request-duration','query':'inline','templateRef':{'name':'t'},'thresholdRange':{"
         "}}",
         {time, query, template}},
        {"{'name':'errors','thresholdRange':{}}", {NULL}},
        {"{'name':'errors','query':'inline','thresholdRange':{}}", {query}},
        {"{'name':'errors','templateRef':{'name':'t'},'thresholdRange':{}}", {template}},
        {"{'name':'errors','query':'inline','templateRef':{'name':'t'},'thresholdRange':{}}",
         {query, template}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = analysing(cases[i].metric);
        world_tick(w);
        const char *line = w->queries;
        for (size_t n = 0; cases[i].asked[n]; n++) {
            if (strncmp(line, cases[i].asked[n], strlen(cases[i].asked[n])) != 0)
                fail_msg("%s: %s", cases[i].metric, w->queries);
            line = strchr(line, '\n') + 1;
        }
        assert_string_equal(line, "");
        assert_string_equal(world_weights(w), cases[i].asked[0] ? "60/40" : "80/20");
        world_free(w);
    }
}

/* Each answer is held against the bounds as what it is: a template's is no percentage of anything,
 * whatever the metric is called. */
static void test_every_answer_is_judged(void **state)
{
    static const struct {
        const char *metric, *answers;
        const char *event; /* NULL: the weight advances */
    } cases[] = {
        {"{'name':'request-duration','query':'x','templateRef':{'name':'t'},'threshold':500}",
         "{'metrics[0]':0.5,'metrics[0].query':500,'metrics[0].templateRef':500}", NULL},
        {"{'name':'request-duration','query':'x','templateRef':{'name':'t'},'threshold':500}",
         "{'metrics[0]':0.6,'metrics[0].query':501,'metrics[0].templateRef':502}",
         "request duration 600ms > 500ms"},
        {"{'name':'request-duration','query':'x','templateRef':{'name':'t'},'threshold':500}",
         "{'metrics[0]':0.5,'metrics[0].query':501,'metrics[0].templateRef':502}",
         "request-duration 501.00 > 500"},
        {"{'name':'request-duration','query':'x','templateRef':{'name':'t'},'threshold':500}",
         "{'metrics[0]':0.5,'metrics[0].query':500,'metrics[0].templateRef':502}",
         "request-duration 502.00 > 500"},
        {"{'name':'request-success-rate','templateRef':{'name':'t'},'threshold':99}",
         "{'metrics[0]':99.5,'metrics[0].templateRef':50}", NULL},
        {"{'name':'request-success-rate','templateRef':{'name':'t'},'threshold':99}",
         "{'metrics[0]':99.5,'metrics[0].templateRef':99.5}", "request-success-rate 99.50 > 99"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = analysing(cases[i].metric);
        w->metrics = world_json(w, cases[i].answers);
        const char *plan = world_tick(w);
        assert_string_equal(world_weights(w), cases[i].event ? "80/20" : "60/40");
        if (cases[i].event && !strstr(plan, cases[i].event))
            fail_msg("%s: the plan is\n%s", cases[i].answers, plan);
        world_free(w);
    }
}

#define HOLD_ERRORS "{'spec':{'analysis':{'onMetricError':'hold'}}}"
#define RATE        "'name':'request-success-rate','thresholdRange':{'min':99},'interval':'1m'"
#define TIME        "'name':'request-duration','thresholdRange':{'max':500},'interval':'1m'"

static const char *minutes_later(struct world *w, int minutes, const char *answers)
{
    w->now_ms += (int64_t)minutes * 60000;
    w->metrics = world_json(w, answers);
    return world_tick(w);
}

/* An outage of the metric server: told once, nothing counted, and over when it answers. */
static void test_an_outage_holds(void **state)
{
    struct world *w = analysing("{" RATE "}");

    world_patch_canary(w, HOLD_ERRORS);
    w->metrics = world_json(w, "{'metrics[0]':'connection refused'}");
    expect_tick(w, "status [Promoted=Unknown Measured=False]\n"
                   "event Warning Progressing: Prometheus query failed: connection refused; held "
                   "until 2023-11-14T22:24:20Z, then it counts as failed\n"
                   "again interval, stepped\n");
    /* whatever the error says meanwhile */
    assert_string_equal(minutes_later(w, 9, "{'metrics[0]':'timed out'}"),
                        "again interval, stepped\n");
    w->metrics = world_json(w, "{}");
    expect_tick(w, "patch httproutes test/podinfo weights 60/40\n"
                   "status canaryWeight=40 [Promoted=Unknown]\n"
                   "metric request-success-rate 100\n"
                   "event Normal Progressing: The metrics of podinfo.test are there again\n"
                   "weights 60/40\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 40\n"
                   "again interval, stepped\n");
    /* the next outage has its own time */
    assert_non_null(strstr(minutes_later(w, 9, "{'metrics[0]':'timed out'}"),
                           "held until 2023-11-14T22:42:20Z"));
    world_free(w);
}

/* A hold has an end: then the checks fail, and the threshold rolls back. */
static void test_an_outage_that_does_not_end(void **state)
{
    static const char down[] = "{'metrics[0]':'connection refused'}";
    struct world *w = analysing("{" RATE "}");

    world_patch_canary(w, HOLD_ERRORS);
    world_patch_canary(w, "{'spec':{'progressDeadlineSeconds':120}}");
    minutes_later(w, 1, down);
    minutes_later(w, 1, down);
    assert_int_equal(world_status_int(w, "failedChecks"), 0);
    assert_string_equal(minutes_later(w, 1, down),
                        "status failedChecks=1\n"
                        "event Warning Progressing: Prometheus query "
                        "failed: connection refused; held for 2m0s, now it counts as failed\n"
                        "again interval, stepped\n");
    minutes_later(w, 1, down);
    minutes_later(w, 1, down);
    assert_string_equal(world_phase(w), "Failed");
    assert_null(strstr(world_state(w), "Measured"));
    world_free(w);
}

/* A metric that is bad fails the step, whatever another one does not say; the hold goes on. */
static void test_a_bad_metric_is_heard_during_an_outage(void **state)
{
    struct world *w = analysing("{" RATE "},{" TIME "}");

    world_patch_canary(w, HOLD_ERRORS);
    minutes_later(w, 1, "{'metrics[0]':'connection refused'}");
    const char *plan = minutes_later(w, 1, "{'metrics[0]':'connection refused','metrics[1]':9}");
    assert_non_null(strstr(plan, "request duration 9s > 500ms"));
    assert_null(strstr(plan, "connection refused"));
    assert_int_equal(world_status_int(w, "failedChecks"), 1);
    /* the order does not matter: the one that is bad ends the list, and the clock goes on */
    minutes_later(w, 8, "{'metrics[0]':1}");
    assert_int_equal(world_status_int(w, "failedChecks"), 2);
    assert_non_null(strstr(world_state(w), "Measured"));
    world_free(w);
}

static void test_no_data(void **state)
{
    static const struct {
        const char *policy; /* of the metric */
        const char *told;   /* NULL: the weight advances */
        int failed;
    } cases[] = {
        {"", "traffic: no values found\n", 1},
        {",'noData':'fail'", "traffic: no values found\n", 1},
        {",'noData':'hold'", "no values found; held until ", 0},
        {",'noData':'pass'", NULL, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = analysing("{" RATE "}");
        world_patch_canary(w, arena_printf(w->arena,
                                           "{'spec':{'analysis':{'metrics':[{" RATE "%s}]}}}",
                                           cases[i].policy));
        const char *plan = minutes_later(w, 1, "{'metrics[0]':null}");
        assert_int_equal(world_status_int(w, "failedChecks"), cases[i].failed);
        assert_string_equal(world_weights(w), cases[i].told ? "80/20" : "60/40");
        if (cases[i].told)
            assert_non_null(strstr(plan, cases[i].told));
        /* an error of the server is another thing */
        world_push(w, "podinfo:3");
        for (int tick = 0; tick < 2; tick++) {
            minutes_later(w, 1, "{}");
            world_settle(w);
        }
        minutes_later(w, 1, "{'metrics[0]':'refused'}");
        assert_int_equal(world_status_int(w, "failedChecks"), 1);
        world_free(w);
    }
}

/* A query that cannot be made is a mistake, no outage. */
static void test_a_mistake_is_not_held(void **state)
{
    struct world *w = analysing("{'name':'errors','query':'{{ variables.none }}','threshold':1}");

    world_patch_canary(w, HOLD_ERRORS);
    minutes_later(w, 1, "{}");
    assert_int_equal(world_status_int(w, "failedChecks"), 1);
    world_free(w);
}

static void test_probe_says_what_is_not_there(void **state)
{
    struct world *w = world_new(NULL);

    w->metrics = world_json(w, "{'probe[1]':'connection refused'}");
    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Warning Initializing: Error checking metric providers: prometheus not "
                   "available: connection refused\n"
                   "again now\n");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_halts), cmocka_unit_test(test_every_question_is_asked),
          cmocka_unit_test(test_every_answer_is_judged), cmocka_unit_test(test_an_outage_holds),
          cmocka_unit_test(test_an_outage_that_does_not_end),
          cmocka_unit_test(test_a_bad_metric_is_heard_during_an_outage),
          cmocka_unit_test(test_no_data), cmocka_unit_test(test_a_mistake_is_not_held),
          cmocka_unit_test(test_probe_says_what_is_not_there))
