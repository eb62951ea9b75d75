#include "target/target.h"
#include "tick/fixture_test.h"

#define TEMPLATE(image, selector)                                                                  \
    "'template':{'metadata':{'labels':{'app':'podinfo'}},'spec':{" selector                        \
    "'containers':[{'name':'c','image':'" image "'}]}}"
#define TARGET(selector)                                                                           \
    "{'metadata':{'generation':2,'labels':{'app':'podinfo','keep/l':'1'},'annotations':{'keep/a':" \
    "'1','b':'2','deprecated.daemonset.template.generation':'7','x.toolkit.fluxcd.io/y':'3'}},"    \
    "'spec':{'minReadySeconds':5,'updateStrategy':{'type':'RollingUpdate'},'selector':{"           \
    "'matchLabels':{'app':'podinfo'}}," TEMPLATE("podinfo:2", selector) "}}"
#define PRIMARY(selector)                                                                          \
    "{'metadata':{'resourceVersion':'9','labels':{'app':'podinfo-primary','theirs':'1'}},"         \
    "'spec':{'revisionHistoryLimit':3,'selector':{'matchLabels':{'app':'podinfo-primary'}}"        \
    "," TEMPLATE("podinfo:1", selector) "}}"
#define ZERO      "'nodeSelector':{'flagger.app/scale-to-zero':'true'},"
#define DISK      "'nodeSelector':{'disk':'ssd'},"
#define DISK_ZERO "'nodeSelector':{'disk':'ssd','flagger.app/scale-to-zero':'true'},"

static const struct target *daemonset(void)
{
    return target_find("apps/v1", "DaemonSet");
}

static struct target_info read_target(struct fixture *f, const char *target)
{
    struct target_info info = {0};

    fixture_put(f, "daemonsets/podinfo", target);
    assert_int_equal(fixture_run(f, daemonset()->read(f->tick, &info)), VERDICT_GO);
    return info;
}

CASE(test_read)
{
    static const struct {
        const char *object, *sentence;
    } cases[] = {
        {NULL, "daemonset podinfo.test get query error: not found"},
        {"{'spec':{'selector':{'matchLabels':{'x':'1'}}," TEMPLATE("a", "") "}}",
         "daemonset podinfo.test spec.selector.matchLabels must contain one of [app name]"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
        struct target_info info = {0};
        if (row->object)
            fixture_put(&f, "daemonsets/podinfo", row->object);
        assert_int_equal(fixture_run(&f, daemonset()->read(f.tick, &info)), VERDICT_STOP);
        assert_string_equal(info.unusable, row->sentence);
        assert_null(f.tick->plan->first);
    }
}

/* The selector that scales it to zero is no part of the revision, and neither is an empty one. */
CASE(test_hash)
{
    static const struct {
        const char *target, *same_as;
        bool same, at_zero;
    } cases[] = {
        {TARGET(ZERO), TARGET(""), true, true},
        {TARGET("'nodeSelector':{},"), TARGET(""), true, false},
        {TARGET(DISK_ZERO), TARGET(DISK), true, true},
        {TARGET(DISK), TARGET(""), false, false},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
        struct target_info one = read_target(&f, row->target);
        struct target_info other = read_target(&f, row->same_as);
        assert_int_equal(strcmp(one.hash, other.hash) == 0, row->same);
        assert_int_equal(one.at_zero, row->at_zero);
        assert_false(one.stopped);
    }
}

/* Flagger's own hash of a DaemonSet, at zero or not. */
CASE(test_hash_is_flaggers)
{
    struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
    const char *hash;
    struct json_object *template = fixture_vector(&f, "daemonset-nodeselector-empty", &hash);
    struct json_object *target =
        fixture_json(f.arena, "{'spec':{'selector':{'matchLabels':{'app':'podinfo'}}}}");

    f.settings.config_tracking = false;
    json_set(json_sub(target, "spec"), "template", template);
    for (int zero = 0; zero < 2; zero++) {
        if (zero)
            json_set_str(json_at(template, "spec", "nodeSelector", NULL),
                         "flagger.app/scale-to-zero", "true");
        struct target_info info = read_target(&f, fixture_quoted(&f, json_text(f.arena, target)));
        assert_string_equal(info.hash, hash);
    }
}

CASE(test_stopped)
{
    static const struct {
        const char *status;
        bool stopped;
    } cases[] = {
        {"{'observedGeneration':2,'currentNumberScheduled':0,'numberMisscheduled':0}", true},
        {"{'observedGeneration':1,'currentNumberScheduled':0,'numberMisscheduled':0}", false},
        {"{'observedGeneration':2,'currentNumberScheduled':0,'numberMisscheduled':1}", false},
        {"{'observedGeneration':2,'currentNumberScheduled':1,'numberMisscheduled':0}", false},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
        struct json_object *object = fixture_json(f.arena, TARGET(ZERO));
        json_set(object, "status", fixture_json(f.arena, row->status));
        struct target_info info = read_target(&f, fixture_quoted(&f, json_text(f.arena, object)));
        assert_int_equal(info.stopped, row->stopped);
    }
}

CASE(test_create_primary)
{
    struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
    struct target_info info = read_target(&f, TARGET(DISK_ZERO));

    assert_int_equal(fixture_run(&f, daemonset()->ensure_primary(f.tick, &info)), VERDICT_GO);
    struct json_object *body = fixture_said(f.arena, f.tick->plan->first->body);
    json_object_object_del(json_at(body, "spec", "template", "metadata", NULL), "annotations");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, body)),
        "{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':{'annotations':{'b':'2',"
        "'deprecated.daemonset.template.generation':'7','keep/a':'1'},'labels':{'app':"
        "'podinfo-primary','keep/l':'1'},'name':'podinfo-primary','namespace':'test',"
        "'ownerReferences':[{'apiVersion':'flagger.app/v1beta1','blockOwnerDeletion':true,"
        "'controller':true,'kind':'Canary','name':'podinfo','uid':'c-1'}]},'spec':{"
        "'minReadySeconds':5,'selector':{'matchLabels':{'app':'podinfo-primary'}},'template':{"
        "'metadata':{'labels':{'app':'podinfo-primary'}},'spec':{'containers':[{'image':"
        "'podinfo:2','name':'c'}],'nodeSelector':{'disk':'ssd'}}},'updateStrategy':{'type':"
        "'RollingUpdate'}}}");
}

CASE(test_promote)
{
    struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");

    f.settings.include_label_prefixes = (const char *const[]){"*", NULL};
    fixture_put(&f, "daemonsets/podinfo-primary", PRIMARY(DISK));
    struct target_info info = read_target(&f, TARGET(ZERO));
    assert_false(daemonset()->is_promoted(f.tick, &info));
    assert_int_equal(fixture_run(&f, daemonset()->promote(f.tick, &info)), VERDICT_GO);
    struct json_object *patch = fixture_said(f.arena, f.tick->plan->first->body);
    struct json_object *promoted = json_merge(
        f.arena, json_at(f.objects, "daemonsets/podinfo-primary", NULL), f.tick->plan->first->body);
    json_object_object_del(json_at(patch, "spec", "template", NULL), "metadata");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, patch)),
        "{'metadata':{'annotations':{'b':'2','keep/a':'1'},'labels':{'keep/l':'1'},"
        "'resourceVersion':'9'},'spec':{'minReadySeconds':5,'revisionHistoryLimit':null,"
        "'template':{'spec':{'containers':[{'image':'podinfo:2','name':'c'}],'nodeSelector':"
        "null}},'updateStrategy':{'type':'RollingUpdate'}}}");
    /* once more changes nothing */
    json_set(f.objects, "daemonsets/podinfo-primary", promoted);
    info = read_target(&f, TARGET(ZERO));
    bool same = false;
    assert_true(daemonset()->is_promoted(f.tick, &info));
    assert_int_equal(daemonset()->compare(f.tick, &info, &same), VERDICT_GO);
    assert_true(same);
    assert_int_equal(fixture_run(&f, daemonset()->promote(f.tick, &info)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
}

CASE(test_update_strategy)
{
    static const char target[] =
        "{'spec':{'updateStrategy':{'type':'OnDelete'},'selector':{'matchLabels':{'app':'podinfo'"
        "}}," TEMPLATE("podinfo:2", "") "}}";
    struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");

    fixture_put(&f, "daemonsets/podinfo-primary", PRIMARY(""));
    struct target_info info = read_target(&f, target);
    assert_int_equal(fixture_run(&f, daemonset()->ensure_primary(f.tick, &info)), VERDICT_STOP);
    assert_string_equal(
        f.tick->plan->first->text,
        "daemonset podinfo.test must have RollingUpdate strategy but have OnDelete");
    f.canary.status.phase = PHASE_Progressing; /* a release that runs must be able to end */
    assert_int_equal(fixture_run(&f, daemonset()->ensure_primary(f.tick, &info)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
    assert_int_equal(fixture_run(&f, daemonset()->promote(f.tick, &info)), VERDICT_GO);
    assert_null(json_at(f.tick->plan->first->body, "spec", "updateStrategy", NULL));
}

/* Scaling writes the selector and nothing else; a primary that has it loses it. */
CASE(test_scale)
{
    static const char on[] = "{'metadata':{'resourceVersion':'9'},'spec':{'template':{'spec':{"
                             "'nodeSelector':{'flagger.app/scale-to-zero':'true'}}}}}";
    static const char off[] = "{'metadata':{'resourceVersion':'9'},'spec':{'template':{'spec':{"
                              "'nodeSelector':{'flagger.app/scale-to-zero':null}}}}}";
    struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
    struct target_info zero = {.object = fixture_json(f.arena, PRIMARY(DISK_ZERO)),
                               .at_zero = true};
    struct target_info up = {.object = fixture_json(f.arena, PRIMARY(DISK))};

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
    daemonset()->scale_to_zero(f.tick, &zero);
    daemonset()->scale_from_zero(f.tick, &up, 3);
    assert_int_equal(f.tick->plan->count, 0);
    daemonset()->scale_to_zero(f.tick, &up);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)), on);
    tick_reset(f.tick);
    daemonset()->scale_from_zero(f.tick, &zero, 0);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)), off);
    zero.primary = zero.object;
    assert_int_equal(fixture_run(&f, daemonset()->ensure_primary(f.tick, &zero)), VERDICT_GO);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)), off);
}

/* status of the DaemonSet (generation 5), threshold percent, since when the Canary says that it
 * waits, and the verdict; it is 2023-11-14T22:13:20Z and the deadline is 600 s */
static const struct {
    const char *status;
    int threshold;
    const char *since;
    enum readiness readiness;
    const char *why;
} ready_cases[] = {
    {"{'observedGeneration':5,'desiredNumberScheduled':4,'updatedNumberScheduled':4,"
     "'numberAvailable':4}",
     100, "2023-11-14T20:00:00Z", READY, ""},
    {"{'observedGeneration':4,'desiredNumberScheduled':4,'updatedNumberScheduled':4,"
     "'numberAvailable':4}",
     100, "2023-11-14T20:00:00Z", NOT_READY_YET,
     "waiting for rollout to finish: observed daemonset generation less than desired generation"},
    {"{'observedGeneration':5,'desiredNumberScheduled':4,'updatedNumberScheduled':3,"
     "'numberAvailable':4}",
     100, NULL, NOT_READY_YET,
     "waiting for rollout to finish: 3 out of 4 new pods have been updated"},
    {"{'observedGeneration':5,'desiredNumberScheduled':4,'updatedNumberScheduled':4,"
     "'numberAvailable':3}",
     100, "2023-11-14T22:03:21Z", NOT_READY_YET,
     "waiting for rollout to finish: 3 of 4 (readyThreshold 100%) updated pods are available"},
    {"{'observedGeneration':5,'desiredNumberScheduled':4,'updatedNumberScheduled':4,"
     "'numberAvailable':3}",
     100, "2023-11-14T22:03:19Z", NOT_READY_EVER, "exceeded its progressDeadlineSeconds: 600"},
    {"{'observedGeneration':5,'desiredNumberScheduled':4,'updatedNumberScheduled':4,"
     "'numberAvailable':3}",
     75, NULL, READY, ""},
    {"{'observedGeneration':5,'desiredNumberScheduled':1,'updatedNumberScheduled':1}", 50, NULL,
     NOT_READY_YET,
     "waiting for rollout to finish: 0 of 1 (readyThreshold 50%) updated pods are available"},
    {"{'observedGeneration':5,'desiredNumberScheduled':0}", 100, NULL, NOT_READY_YET,
     "waiting for rollout to finish: no node is there for its pods"},
};

CASE(test_ready)
{
    EACH_ROW (row, ready_cases) {
        struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
        const char *why;

        for (enum side side = SIDE_PRIMARY; side <= SIDE_CANARY; side++) {
            const char *status =
                row->since
                    ? arena_printf(f.arena,
                                   "{'conditions':[{'type':'%s','lastTransitionTime':'%s'}]}",
                                   side_condition(side), row->since)
                    : "{}";
            struct target_info info = {0};
            struct json_object **object = side == SIDE_PRIMARY ? &info.primary : &info.object;
            *object = fixture_json(f.arena, "{'metadata':{'name':'podinfo','generation':5}}");
            json_set(*object, "status", fixture_json(f.arena, row->status));
            json_set(f.canary.json, "status", fixture_json(f.arena, status));
            f.canary.analysis.canary_ready_threshold = row->threshold;
            f.canary.analysis.primary_ready_threshold = row->threshold;
            f.tick = tick_new(f.arena, &f.canary, &f.settings, 1700000000000, true);
            assert_int_equal(daemonset()->ready(f.tick, &info, side, &why), row->readiness);
            assert_string_equal(why, arena_printf(f.arena, "%s.test not ready: %s",
                                                  side == SIDE_PRIMARY
                                                      ? "primary daemonset podinfo-primary"
                                                      : "canary daemonset podinfo",
                                                  row->why));
        }
    }
}
