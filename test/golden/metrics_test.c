/* What each metric says when it halts a release (contract/metrics.md §2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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
    (void)state;
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
         "podinfo.test is not receiving traffic: running query failed: no values found"},
        {"{'name':'request-duration','thresholdRange':{'max':99}}", "{'metrics[0]':null}",
         "Warning Progressing: Halt advancement no values found for gatewayapi:v1 metric "
         "request-duration probably "
         "podinfo.test is not receiving traffic"},
        {"{'name':'request-success-rate','thresholdRange':{'min':99}}",
         "{'metrics[0]':'connection refused'}",
         "Warning Progressing: Prometheus query failed: running query failed: connection refused"},
        {"{'name':'errors','query':'x','threshold':1}", "{'metrics[0]':null}",
         "Warning Progressing: Halt advancement no values found for metric: errors"},
        {"{'name':'errors','query':'x','threshold':1}", "{'metrics[0]':'bad query'}",
         "Warning Progressing: Prometheus query failed for errors: bad query"},
        {"{'name':'errors','query':'{{ variables.none }}','threshold':1}", "{}",
         "Warning Progressing: Prometheus query failed for errors: template: no entry for key "
         "\"none\" in templateVariables"},
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
        {"{'name':'errors','templateRef':{'name':'broken'},'thresholdRange':{'max':1}}", "{}",
         "Warning Progressing: Metric template broken.test query render error: template: \"{{ "
         "nothing }}\" is not known; "
         "expected name, namespace, target, service, ingress, route, interval or variables.KEY"},
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

static void test_probe_says_what_is_not_there(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halts),
        cmocka_unit_test(test_probe_says_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
