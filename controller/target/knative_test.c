#include "target/target.h"
#include "tick/fixture_test.h"

#define KNATIVE "'targetRef':{'apiVersion':'serving.knative.dev/v1','kind':'Service'}"
#define ANNOTATED(revision)                                                                        \
    "'metadata':{'annotations':{'flagger.app/primary-revision':'" revision "'}}"
#define LATEST(revision) "'status':{'latestCreatedRevisionName':'" revision "'}"
#define READY_IS(status)                                                                           \
    "{'status':{'conditions':[{'type':'Ready','status':'" status "','message':'no image',"         \
    "'lastTransitionTime':'2023-11-14T22:03:19Z'}]}}"

static const struct target *knative(void)
{
    return target_find("serving.knative.dev/v1", "Service");
}

static struct fixture fixture_of(const char *service, const char *phase)
{
    struct arena *arena = arena_new();
    struct fixture f = fixture_new(arena_printf(
        arena, "{'spec':{'provider':'knative'," KNATIVE "},'status':{'phase':'%s'}}", phase));

    arena_free(arena);
    if (service)
        fixture_put(&f, "services/podinfo", service);
    fixture_put(&f, "revisions/a-1", READY_IS("True"));
    fixture_put(&f, "revisions/a-2", READY_IS("False"));
    return f;
}

CASE(test_read)
{
    static const struct {
        const char *service, *sentence;
    } cases[] = {
        {NULL, "Knative Service podinfo.test get query error: not found"},
        {"{'spec':{}}", "Knative Service podinfo.test has no revision yet"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_of(row->service, "Initialized");
        struct target_info info = {0};
        assert_int_equal(fixture_run(&f, knative()->read(f.tick, &info)), VERDICT_STOP);
        assert_string_equal(info.unusable, row->sentence);
        assert_null(f.tick->plan->first);
    }
    char hash[SPECHASH_TEXT];
    struct fixture f = fixture_of("{" LATEST("a-2") "}", "Initialized");
    struct target_info info = {0};
    assert_int_equal(fixture_run(&f, knative()->read(f.tick, &info)), VERDICT_GO);
    spechash_string("a-2", hash);
    assert_string_equal(info.hash, hash);
    assert_string_equal(info.revision, "a-2");
    assert_null(info.primary);
    assert_null(info.label);
}

/* Which revision is the primary; "": none, the latest will be. */
CASE(test_primary)
{
    static const struct {
        const char *phase, *service, *primary;
    } cases[] = {
        {"Succeeded", "{" ANNOTATED("a-1") "," LATEST("a-2") "}", "a-1"},
        {"Succeeded", "{" LATEST("a-2") "}", ""},
        /* the annotation was lost, and the traffic knows */
        {"Succeeded",
         "{'spec':{'traffic':[{'latestRevision':true,'percent':0},{'revisionName':'a-1','percent':"
         "100}]}," LATEST("a-2") "}",
         "a-1"},
        /* at first, an annotation from before counts when that revision serves */
        {"Initializing", "{" ANNOTATED("a-1") "," LATEST("a-2") "}", ""},
        {"Initializing",
         "{" ANNOTATED("a-1") ",'spec':{'traffic':[{'latestRevision':true,'percent':100}]}," LATEST(
             "a-2") "}",
         ""},
        {"Initializing",
         "{" ANNOTATED("a-1") ",'spec':{'traffic':[{'revisionName':'a-1','percent':100}]}," LATEST(
             "a-2") "}",
         "a-1"},
        {"Initializing", "{" ANNOTATED("a-2") "," LATEST("a-2") "}", "a-2"},
        {"Succeeded", "{" ANNOTATED("gone") "," LATEST("a-2") "}", ""},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_of(row->service, row->phase);
        struct target_info info = {0};
        assert_int_equal(fixture_run(&f, knative()->read(f.tick, &info)), VERDICT_GO);
        const char *name = json_str_at(info.primary, "metadata", "name", NULL);
        assert_string_equal(name ? name : "", row->primary);
        assert_int_equal(knative()->is_promoted(f.tick, &info), strcmp(row->primary, "a-2") == 0);
        assert_int_equal(fixture_run(&f, knative()->ensure_primary(f.tick, &info)), VERDICT_GO);
        assert_int_equal(f.tick->plan->count, *row->primary ? 0 : 1);
        if (!*row->primary)
            assert_string_equal(json_str_at(f.tick->plan->first->body, "metadata", "annotations",
                                            "flagger.app/primary-revision", NULL),
                                "a-2");
    }
}

CASE(test_ready)
{
    static const struct {
        const char *revision;
        int deadline_s;
        enum readiness readiness;
        const char *why;
    } cases[] = {
        {READY_IS("True"), 1, READY, ""},
        /* 601 s ago */
        {READY_IS("False"), 600, NOT_READY_EVER,
         "Knative Revision a-3.test is not ready: no image"},
        {READY_IS("Unknown"), 600, NOT_READY_EVER,
         "Knative Revision a-3.test is not ready: no image"},
        {READY_IS("False"), 602, NOT_READY_YET, "Knative Revision a-3.test is not ready: no image"},
        {"{}", 600, NOT_READY_YET, "Knative Revision a-3.test is not ready"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_of("{" ANNOTATED("a-3") "," LATEST("a-3") "}", "Progressing");
        const char *why;
        struct target_info info = {0};
        fixture_put(&f, "revisions/a-3", row->revision);
        f.canary.progress_deadline_s = row->deadline_s;
        assert_int_equal(fixture_run(&f, knative()->read(f.tick, &info)), VERDICT_GO);
        for (enum side side = SIDE_PRIMARY; side <= SIDE_CANARY; side++) {
            assert_int_equal(knative()->ready(f.tick, &info, side, &why), row->readiness);
            assert_string_equal(why, row->why);
            assert_int_equal(knative()->serves(&info, side), row->readiness == READY);
        }
    }
}

/* Annotation and routes in one write, also where the canary has no traffic. */
CASE(test_promote)
{
    for (int share = 0; share <= 50; share += 50) {
        struct fixture f = fixture_of(NULL, "Progressing");
        fixture_put(
            &f, "services/podinfo",
            arena_printf(
                f.arena,
                "{" ANNOTATED("a-1") ",'spec':{'traffic':[{'latestRevision':true,"
                                     "'percent':%d},{'revisionName':'a-1','percent':%d}]}," LATEST(
                                         "a-2") "}",
                share, 100 - share));
        struct target_info info = {0};
        assert_int_equal(fixture_run(&f, knative()->read(f.tick, &info)), VERDICT_GO);
        assert_int_equal(fixture_run(&f, knative()->promote(f.tick, &info)), VERDICT_GO);
        struct json_object *body = f.tick->plan->first->body;
        assert_string_equal(
            fixture_quoted(&f, json_text_sorted(f.arena, json_at(body, "spec", "traffic", NULL))),
            arena_printf(f.arena,
                         "[{'latestRevision':true,'percent':%d},{'percent':%d,'revisionName':"
                         "'a-2'}]",
                         share, 100 - share));
        json_set(f.objects, "services/podinfo",
                 json_merge(f.arena, json_at(f.objects, "services/podinfo", NULL), body));
        assert_int_equal(fixture_run(&f, knative()->read(f.tick, &info)), VERDICT_GO);
        assert_true(knative()->is_promoted(f.tick, &info));
        spechash_string("another", info.hash);
        assert_false(knative()->is_promoted(f.tick, &info)); /* asked about another revision */
        spechash_string(info.revision, info.hash);
        assert_int_equal(fixture_run(&f, knative()->promote(f.tick, &info)), VERDICT_GO);
        assert_int_equal(f.tick->plan->count, 0);
    }
}
