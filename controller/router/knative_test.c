#include "router/router.h"
#include "tick/fixture_test.h"

#define KNATIVE                                                                                    \
    "{'spec':{'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/"                \
    "v1','kind':'Service'}}}"
#define TRAFFIC(c, p)                                                                              \
    "[{'latestRevision':true,'percent':" #c "},{'revisionName':'a-1','percent':" #p "}]"
#define ANNOTATED                                                                                  \
    "'metadata':{'resourceVersion':'9','annotations':{'flagger.app/primary-revision':'a-1'}}"

static const struct router *knative(void)
{
    return router_find("knative");
}

static struct fixture fixture_of(const char *service)
{
    struct fixture f = fixture_new(KNATIVE);

    if (service)
        fixture_put(&f, "services/podinfo", service);
    return f;
}

CASE(test_get)
{
    static const struct {
        const char *service;
        int canary;
    } cases[] = {
        {NULL, 0},
        {"{" ANNOTATED
         ",'spec':{'traffic':" TRAFFIC(30, 70) "},'status':{'traffic':" TRAFFIC(0, 100) "}}",
         30},
        {"{" ANNOTATED ",'spec':{}}", 100},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_of(row->service);
        struct weights weights = {0};
        assert_int_equal(fixture_run(&f, knative()->get(f.tick, &weights)), VERDICT_GO);
        assert_int_equal(weights.canary, row->canary);
        assert_int_equal(weights.primary, 100 - row->canary);
    }
}

CASE(test_settled)
{
    static const struct {
        const char *service;
        enum verdict verdict;
    } cases[] = {
        {NULL, VERDICT_GO},
        {"{'metadata':{'generation':3},'spec':{'traffic':" TRAFFIC(
             30, 70) "},'status':{"
                     "'observedGeneration':3,'traffic':" TRAFFIC(30, 70) "}}",
         VERDICT_GO},
        {"{'metadata':{'generation':3},'spec':{'traffic':" TRAFFIC(
             30, 70) "},'status':{"
                     "'observedGeneration':3,'traffic':" TRAFFIC(20, 80) "}}",
         VERDICT_STOP},
        {"{'metadata':{'generation':3},'spec':{'traffic':" TRAFFIC(
             30, 70) "},'status':{"
                     "'observedGeneration':2,'traffic':" TRAFFIC(30, 70) "}}",
         VERDICT_STOP},
        {"{'metadata':{'generation':3},'spec':{},'status':{'observedGeneration':3}}", VERDICT_STOP},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_of(row->service);
        const char *why = NULL;
        assert_int_equal(fixture_run(&f, knative()->settled(f.tick, &why)), row->verdict);
        if (row->verdict == VERDICT_STOP)
            assert_string_equal(why,
                                "Knative Service podinfo.test has not taken over its traffic yet");
    }
}

/* The traffic after reconcile() and after a share of 20; NULL: nothing is written. */
CASE(test_reconcile_and_set)
{
    static const struct {
        const char *service, *reconciled, *set;
    } cases[] = {
        /* never routed: reconcile() waits for set() */
        {"{" ANNOTATED ",'spec':{}}", NULL,
         "[{'latestRevision':true,'percent':20},{'percent':80,'revisionName':'a-1'}]"},
        {"{" ANNOTATED ",'spec':{'traffic':" TRAFFIC(20, 80) "}}", NULL, NULL},
        {"{" ANNOTATED ",'spec':{'traffic':[{'latestRevision':true,'percent':40},{'revisionName':"
         "'a-0','percent':60}]}}",
         "[{'latestRevision':true,'percent':40},{'percent':60,'revisionName':'a-1'}]",
         "[{'latestRevision':true,'percent':20},{'percent':80,'revisionName':'a-1'}]"},
    };

    EACH_ROW (row, cases) {
        static const struct weights weights = {.primary = 80, .canary = 20};
        struct fixture f = fixture_of(row->service);
        for (int set = 0; set < 2; set++) {
            const char *want = set ? row->set : row->reconciled;
            assert_int_equal(fixture_run(&f, set ? knative()->set(f.tick, &weights)
                                                 : knative()->reconcile(f.tick)),
                             VERDICT_GO);
            assert_int_equal(f.tick->plan->count, want ? 1 : 0);
            if (want)
                assert_string_equal(
                    fixture_quoted(&f, json_text_sorted(f.arena, json_at(f.tick->plan->first->body,
                                                                         "spec", "traffic", NULL))),
                    want);
        }
    }
}

/* Flagger's process ends where the annotation is missing: its router has no logger. */
CASE(test_annotation_that_is_lost)
{
    static const struct weights weights = {.primary = 80, .canary = 20};
    struct fixture f = fixture_of("{'spec':{'traffic':" TRAFFIC(40, 60) "}}");

    assert_int_equal(fixture_run(&f, knative()->reconcile(f.tick)), VERDICT_GO);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                        "{'metadata':{'annotations':{'flagger.app/primary-revision':'a-1'}}}");
    f = fixture_of("{'spec':{}}");
    assert_int_equal(fixture_run(&f, knative()->reconcile(f.tick)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
    assert_int_equal(fixture_run(&f, knative()->set(f.tick, &weights)), VERDICT_STOP);
    assert_string_equal(f.tick->plan->first->text, "Knative Service podinfo.test has no annotation "
                                                   "flagger.app/primary-revision");
}

CASE(test_revert)
{
    struct fixture f = fixture_of("{" ANNOTATED ",'spec':{'traffic':" TRAFFIC(0, 100) "}}");

    assert_int_equal(fixture_run(&f, knative()->revert(f.tick, true)), VERDICT_GO);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                        "{'metadata':{'resourceVersion':'9'},'spec':{'traffic':[{'latestRevision':"
                        "true,'percent':100}]}}");
    assert_int_equal(fixture_run(&f, knative()->disown(f.tick)), VERDICT_GO);
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'metadata':{'annotations':{'flagger.app/primary-revision':null},'resourceVersion':'9'}}");
    f = fixture_of("{'spec':{'traffic':[{'latestRevision':true,'percent':100}]}}");
    assert_int_equal(fixture_run(&f, knative()->revert(f.tick, true)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, knative()->disown(f.tick)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
    f = fixture_of(NULL);
    assert_int_equal(fixture_run(&f, knative()->revert(f.tick, true)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, knative()->disown(f.tick)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
}
