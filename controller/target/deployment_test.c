#include "target/target.h"
#include "tick/fixture_test.h"

#define TEMPLATE(image)                                                                            \
    "'template':{'metadata':{'labels':{'app':'podinfo'}},'spec':{'containers':[{'name':'c',"       \
    "'image':'" image "'}]}}"
#define TARGET                                                                                     \
    "{'metadata':{'generation':2,'labels':{'app':'podinfo','keep/l':'1'},'annotations':{'keep/a':" \
    "'1','b':'2','x.toolkit.fluxcd.io/"                                                            \
    "y':'3'}},'spec':{'replicas':3,'minReadySeconds':5,'strategy':"                                \
    "{'type':'Recreate'},'selector':{'matchLabels':{'app':'podinfo'}}," TEMPLATE("podinfo:2") "}}"
#define PRIMARY                                                                                    \
    "{'metadata':{'resourceVersion':'9','labels':{'app':'podinfo-primary','theirs':'1'},"          \
    "'annotations':{'deployment.kubernetes.io/revision':'4'}},'spec':{'replicas':1,"               \
    "'progressDeadlineSeconds':60,'selector':{'matchLabels':{'app':'podinfo-primary'}}," TEMPLATE( \
        "podinfo:1") "}}"

static const struct target *deployment(void)
{
    return target_find("apps/v1", "Deployment");
}

static struct target_info read_target(struct fixture *f)
{
    struct target_info info = {0};

    fixture_put(f, "deployments/podinfo", TARGET);
    assert_int_equal(fixture_run(f, deployment()->read(f->tick, &info)), VERDICT_GO);
    return info;
}

CASE(test_read)
{
    static const struct {
        const char *object, *sentence;
    } cases[] = {
        {NULL, "deployment podinfo.test get query error: not found"},
        {"{'spec':{'selector':{'matchLabels':{'x':'1'}}," TEMPLATE("a") "}}",
         "deployment podinfo.test spec.selector.matchLabels must contain one of [app name]"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {0};
        if (row->object)
            fixture_put(&f, "deployments/podinfo", row->object);
        assert_int_equal(fixture_run(&f, deployment()->read(f.tick, &info)), VERDICT_STOP);
        assert_string_equal(info.unusable, row->sentence);
        assert_null(f.tick->plan->first);
    }
    struct fixture f = fixture_new(NULL);
    struct target_info info = read_target(&f);
    assert_string_equal(info.label_value, "podinfo");
    assert_null(info.primary);
    assert_false(info.at_zero);
    assert_true(strlen(info.hash) > 5);
}

CASE(test_create_primary)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = read_target(&f);

    assert_int_equal(fixture_run(&f, deployment()->ensure_primary(f.tick, &info)), VERDICT_GO);
    struct json_object *body = fixture_said(f.arena, f.tick->plan->first->body);
    json_object_object_del(json_at(body, "spec", NULL), "template");
    json_object_object_del(json_at(body, "metadata", NULL), "ownerReferences");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, body)),
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'annotations':{'b':'2','keep/a':"
        "'1'},'labels':{'app':'podinfo-primary','keep/l':'1'},'name':'podinfo-primary',"
        "'namespace':'test'},'spec':{'minReadySeconds':5,'replicas':3,'selector':{'matchLabels':{"
        "'app':'podinfo-primary'}},'strategy':{'type':'Recreate'}}}");
}

CASE(test_promote)
{
    struct fixture f = fixture_new(NULL);

    fixture_put(&f, "deployments/podinfo-primary", PRIMARY);
    struct target_info info = read_target(&f);
    assert_false(deployment()->is_promoted(f.tick, &info));
    assert_int_equal(fixture_run(&f, deployment()->promote(f.tick, &info)), VERDICT_GO);
    struct json_object *patch = fixture_said(f.arena, f.tick->plan->first->body);
    struct json_object *promoted =
        json_merge(f.arena, json_at(f.objects, "deployments/podinfo-primary", NULL),
                   f.tick->plan->first->body);
    json_object_object_del(json_at(patch, "spec", "template", NULL), "metadata");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, patch)),
        "{'metadata':{'annotations':{'keep/a':'1'},'labels':{'keep/l':'1'},'resourceVersion':'9'},"
        "'spec':{'minReadySeconds':5,'progressDeadlineSeconds':null,'replicas':3,'strategy':{"
        "'type':'Recreate'},'template':{'spec':{'containers':[{'image':'podinfo:2','name':"
        "'c'}]}}}}");
    /* once more changes nothing */
    json_set(f.objects, "deployments/podinfo-primary", promoted);
    info = read_target(&f);
    assert_true(deployment()->is_promoted(f.tick, &info));
    assert_int_equal(fixture_run(&f, deployment()->promote(f.tick, &info)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
}

CASE(test_replicas_belong_to_the_autoscaler)
{
    struct fixture f = fixture_new("{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':"
                                   "'HorizontalPodAutoscaler','name':'podinfo'}}}");

    fixture_put(&f, "deployments/podinfo-primary", PRIMARY);
    struct target_info info = read_target(&f);
    assert_int_equal(fixture_run(&f, deployment()->promote(f.tick, &info)), VERDICT_GO);
    assert_null(json_at(f.tick->plan->first->body, "spec", "replicas", NULL));
}

CASE(test_scale)
{
    static const struct {
        int target, primary, given; /* replicas */
        const char *up, *down;      /* what is planned, "" for nothing */
    } cases[] = {
        {0, 4, 0, "4", ""},
        {0, 4, 2, "2", ""},
        {0, 0, 0, "1", ""},
        {3, 4, 0, "", "0"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {
            .at_zero = row->target == 0,
            .object = fixture_json(
                f.arena,
                arena_printf(f.arena, "{'metadata':{'resourceVersion':'7'},'spec':{'replicas':%d}}",
                             row->target)),
            .primary = fixture_json(
                f.arena, arena_printf(f.arena, "{'spec':{'replicas':%d}}", row->primary)),
        };
        f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
        for (int down = 0; down < 2; down++) {
            const char *want = down ? row->down : row->up;
            tick_reset(f.tick);
            if (down)
                deployment()->scale_to_zero(f.tick, &info);
            else
                deployment()->scale_from_zero(f.tick, &info, row->given);
            assert_int_equal(f.tick->plan->count, *want ? 1 : 0);
            if (*want)
                assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                                    arena_printf(f.arena,
                                                 "{'metadata':{'resourceVersion':'7'},"
                                                 "'spec':{'replicas':%s}}",
                                                 want));
        }
    }
}

/* status of the Deployment (generation 5, 4 replicas), threshold percent, and the verdict */
static const struct {
    const char *status;
    int threshold;
    enum readiness readiness;
    const char *why;
} ready_cases[] = {
    {"{'observedGeneration':5,'replicas':4,'updatedReplicas':4,'availableReplicas':4}", 100, READY,
     ""},
    {"{'observedGeneration':4,'replicas':4,'updatedReplicas':4,'availableReplicas':4}", 100,
     NOT_READY_YET,
     "waiting for rollout to finish: observed deployment generation less than desired generation"},
    {"{'observedGeneration':5,'replicas':4,'updatedReplicas':3,'availableReplicas':4}", 100,
     NOT_READY_YET, "waiting for rollout to finish: 3 out of 4 new replicas have been updated"},
    {"{'observedGeneration':5,'replicas':6,'updatedReplicas':4,'availableReplicas':4}", 100,
     NOT_READY_YET, "waiting for rollout to finish: 2 old replicas are pending termination"},
    {"{'observedGeneration':5,'replicas':4,'updatedReplicas':4,'availableReplicas':3}", 100,
     NOT_READY_YET,
     "waiting for rollout to finish: 3 of 4 (readyThreshold 100%) updated replicas are available"},
    {"{'observedGeneration':5,'replicas':4,'updatedReplicas':4,'availableReplicas':3}", 75, READY,
     ""},
    {"{'observedGeneration':5,'replicas':4,'updatedReplicas':4,'availableReplicas':0}", 10,
     NOT_READY_YET,
     "waiting for rollout to finish: 0 of 1 (readyThreshold 10%) updated replicas are available"},
    {"{'observedGeneration':5,'replicas':4,'updatedReplicas':4,'availableReplicas':4,'conditions':["
     "{"
     "'type':'Progressing','reason':'ProgressDeadlineExceeded'}]}",
     100, NOT_READY_EVER, "deployment \"podinfo\" exceeded its progress deadline"},
    /* 2023-11-14T22:13:20Z is now; the deadline is 600 s */
    {"{'observedGeneration':5,'updatedReplicas':4,'conditions':[{'type':'Progressing','reason':'x'}"
     ","
     "{'type':'Available','status':'False','reason':'MinimumReplicasUnavailable','lastUpdateTime':"
     "'2023-11-14T22:03:19Z'}]}",
     100, NOT_READY_EVER,
     "waiting for rollout to finish: 0 of 4 (readyThreshold 100%) updated replicas are available"},
    {"{'observedGeneration':5,'updatedReplicas':4,'conditions':[{'type':'Progressing','reason':'x'}"
     ","
     "{'type':'Available','status':'False','reason':'MinimumReplicasUnavailable','lastUpdateTime':"
     "'2023-11-14T22:03:21Z'}]}",
     100, NOT_READY_YET,
     "waiting for rollout to finish: 0 of 4 (readyThreshold 100%) updated replicas are available"},
    /* pods of the revision before keep it available … */
    {"{'observedGeneration':5,'replicas':5,'updatedReplicas':1,'availableReplicas':4,'conditions':["
     "{'type':'Available','status':'True','reason':'MinimumReplicasAvailable'},"
     "{'type':'Progressing','status':'True','reason':'ReplicaSetUpdated','lastUpdateTime':"
     "'2023-11-14T22:03:19Z'}]}",
     100, NOT_READY_EVER,
     "waiting for rollout to finish: 1 out of 4 new replicas have been updated"},
    {"{'observedGeneration':5,'replicas':5,'updatedReplicas':1,'availableReplicas':4,'conditions':["
     "{'type':'Available','status':'True','reason':'MinimumReplicasAvailable'},"
     "{'type':'Progressing','status':'True','reason':'ReplicaSetUpdated','lastUpdateTime':"
     "'2023-11-14T22:03:21Z'}]}",
     100, NOT_READY_YET,
     "waiting for rollout to finish: 1 out of 4 new replicas have been updated"},
    /* … where no pod of the new one has been counted yet when that was written */
    {"{'observedGeneration':5,'replicas':5,'updatedReplicas':1,'availableReplicas':4,'conditions':["
     "{'type':'Available','status':'True','reason':'MinimumReplicasAvailable'},"
     "{'type':'Progressing','status':'True','reason':'NewReplicaSetCreated','lastUpdateTime':"
     "'2023-11-14T22:03:19Z'}]}",
     100, NOT_READY_EVER,
     "waiting for rollout to finish: 1 out of 4 new replicas have been updated"},
    /* a person has paused it: a release waits no longer than for others */
    {"{'observedGeneration':5,'replicas':5,'updatedReplicas':1,'availableReplicas':4,'conditions':["
     "{'type':'Available','status':'True','reason':'MinimumReplicasAvailable'},"
     "{'type':'Progressing','status':'Unknown','reason':'DeploymentPaused','lastUpdateTime':"
     "'2023-11-14T12:00:00Z'}]}",
     100, NOT_READY_EVER,
     "waiting for rollout to finish: 1 out of 4 new replicas have been updated"},
    /* of a rollout that was complete long ago, and was scaled up again since */
    {"{'observedGeneration':5,'replicas':4,'updatedReplicas':4,'availableReplicas':1,'conditions':["
     "{'type':'Available','status':'True','reason':'MinimumReplicasAvailable'},"
     "{'type':'Progressing','status':'True','reason':'NewReplicaSetAvailable','lastUpdateTime':"
     "'2023-11-14T12:00:00Z'}]}",
     100, NOT_READY_YET,
     "waiting for rollout to finish: 1 of 4 (readyThreshold 100%) updated replicas are available"},
};

CASE(test_ready)
{
    EACH_ROW (row, ready_cases) {
        struct fixture f = fixture_new(NULL);
        struct json_object *workload = fixture_json(
            f.arena, "{'metadata':{'name':'podinfo','generation':5},'spec':{'replicas':4}}");
        struct target_info info = {.object = workload, .primary = workload};
        const char *why;

        json_set(workload, "status", fixture_json(f.arena, row->status));
        f.canary.analysis.canary_ready_threshold = row->threshold;
        f.tick = tick_new(f.arena, &f.canary, &f.settings, 1700000000000, true);
        assert_int_equal(deployment()->ready(f.tick, &info, SIDE_CANARY, &why), row->readiness);
        assert_string_equal(
            why, arena_printf(f.arena, "canary deployment podinfo.test not ready: %s", row->why));
        f.canary.analysis.primary_ready_threshold = row->threshold;
        assert_int_equal(deployment()->ready(f.tick, &info, SIDE_PRIMARY, &why), row->readiness);
        assert_string_equal(why,
                            arena_printf(f.arena, "podinfo-primary.test not ready: %s", row->why));
    }
}

/* Its own controller makes no pod, and says nothing: the sentence does. */
CASE(test_paused)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = {
        .object = fixture_json(f.arena,
                               "{'metadata':{'name':'podinfo','generation':5},'spec':{'replicas':4,"
                               "'paused':true},'status':{'observedGeneration':5,'replicas':4,"
                               "'updatedReplicas':0,'availableReplicas':4,'conditions':[{'type':"
                               "'Progressing','status':'Unknown','reason':'DeploymentPaused',"
                               "'lastUpdateTime':'2023-11-14T22:13:00Z'}]}}")};
    const char *why;

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 1700000000000, true);
    assert_int_equal(deployment()->ready(f.tick, &info, SIDE_CANARY, &why), NOT_READY_YET);
    assert_non_null(strstr(why, "it is paused (spec.paused)"));
    assert_non_null(strstr(why, "kubectl rollout resume deployment/podinfo"));
}

#define PINNED(note, paused, image)                                                                \
    "{'metadata':{'name':'podinfo','annotations':{'flagger.app/pinned-template':" note "}},"       \
    "'spec':{'paused':" paused                                                                     \
    ",'selector':{'matchLabels':{'app':'podinfo'}}," TEMPLATE(image) "}}"
#define NOTE                                                                                       \
    "'{\\\"spec\\\":{\\\"containers\\\":[{\\\"name\\\":\\\"c\\\",\\\"image\\\":\\\"podinfo:2\\\"}" \
    "]}}'"

/* The template that counts, and whether another one waits. */
CASE(test_pinned)
{
    static const struct {
        const char *object, *image;
        enum pin pin;
        bool waits;
    } cases[] = {
        {PINNED("null", "true", "podinfo:3"), "podinfo:3", PIN_NONE, false},
        {PINNED(NOTE, "true", "podinfo:3"), "podinfo:2", PIN_HOLDS, true},
        {PINNED(NOTE, "false", "podinfo:3"), "podinfo:3", PIN_BROKEN, false},
        {PINNED(NOTE, "null", "podinfo:3"), "podinfo:3", PIN_BROKEN, false},
        {PINNED("'no JSON'", "true", "podinfo:3"), "podinfo:3", PIN_BROKEN, false},
        {PINNED("'[]'", "true", "podinfo:3"), "podinfo:3", PIN_BROKEN, false},
        {PINNED("''", "true", "podinfo:3"), "podinfo:3", PIN_BROKEN, false},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {0};
        fixture_put(&f, "deployments/podinfo", row->object);
        assert_int_equal(fixture_run(&f, deployment()->read(f.tick, &info)), VERDICT_GO);
        assert_int_equal(info.pin, row->pin);
        assert_int_equal(*info.next != '\0', row->waits);
        assert_string_equal(
            json_str_at(json_elem(json_at(info.template, "spec", "containers", NULL), 0), "image",
                        NULL),
            row->image);
    }
}

/* As it was read, and let go again; a template that no annotation takes is not pinned. */
CASE(test_pin)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = read_target(&f);

    assert_true(deployment()->pin(f.tick, &info));
    const char *plan = plan_print(f.tick);
    assert_non_null(strstr(plan, "\"paused\":true"));
    assert_non_null(strstr(plan, "podinfo:2"));

    f = fixture_new(NULL);
    info = read_target(&f);
    char *large = arena_array(f.arena, 200 * 1024, 1);
    memset(large, 'x', 200 * 1024 - 1);
    json_set_str(json_at(info.object, "spec", "template", "spec", NULL), "note", large);
    assert_false(deployment()->pin(f.tick, &info));
    assert_null(f.tick->plan->first);

    f = fixture_new(NULL);
    info = (struct target_info){0};
    fixture_put(&f, "deployments/podinfo", PINNED(NOTE, "true", "podinfo:3"));
    assert_int_equal(fixture_run(&f, deployment()->read(f.tick, &info)), VERDICT_GO);
    deployment()->unpin(f.tick, &info);
    assert_non_null(
        strstr(plan_print(f.tick),
               "patch deployments test/podinfo {\"metadata\":{\"annotations\":"
               "{\"flagger.app/pinned-template\":null}},\"spec\":{\"paused\":null}}\n"));
}

/* What a Deployment says of the time before this release is of another revision. */
CASE(test_deadline_is_of_this_release)
{
    static const struct {
        const char *moved;
        enum readiness readiness;
    } cases[] = {
        {"2023-11-14T22:03:21Z", NOT_READY_YET},
        {"2023-11-14T22:03:19Z", NOT_READY_EVER},
        {"", NOT_READY_EVER},
    };
    static const char *const statuses[] = {
        "{'observedGeneration':5,'conditions':[{'type':'Progressing','status':'True','reason':"
        "'NewReplicaSetAvailable'},{'type':'Available','status':'False','reason':"
        "'MinimumReplicasUnavailable','lastUpdateTime':'2023-11-14T12:00:00Z'}]}",
        "{'observedGeneration':5,'conditions':[{'type':'Progressing','status':'True','reason':"
        "'ReplicaSetUpdated','lastUpdateTime':'2023-11-14T12:00:00Z'}]}",
    };

    for (size_t i = 0; i < 6; i++) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {0};
        const char *why;
        info.object = fixture_json(
            f.arena, "{'metadata':{'name':'podinfo','generation':5},'spec':{'replicas':4}}");
        json_set(info.object, "status", fixture_json(f.arena, statuses[i % 2]));
        f.canary.status.last_transition_time = cases[i / 2].moved;
        f.tick = tick_new(f.arena, &f.canary, &f.settings, 1700000000000, true);
        assert_int_equal(deployment()->ready(f.tick, &info, SIDE_CANARY, &why),
                         cases[i / 2].readiness);
    }
}

CASE(test_find)
{
    struct fixture f = fixture_new("{'spec':{'service':{'portDiscovery':true}}}");
    struct target_info info = {0};

    assert_int_equal(fixture_run(&f, deployment()->find(f.tick, &info)), VERDICT_GO);
    assert_null(info.object);
    assert_string_equal(plan_print(f.tick), "again never\n"); /* nothing is told */

    fixture_put(&f, "deployments/podinfo", TARGET);
    fixture_put(&f, "deployments/podinfo-primary", PRIMARY);
    assert_int_equal(fixture_run(&f, deployment()->find(f.tick, &info)), VERDICT_GO);
    assert_non_null(info.object);
    assert_non_null(info.primary);
    assert_string_equal(info.label_value, "podinfo");

    static const char *const dying[] = {"deployments/podinfo", "deployments/podinfo-primary"};
    for (size_t i = 0; i < 2; i++) {
        struct json_object *object = json_at(f.objects, dying[i], NULL);
        json_set_str(json_sub(object, "metadata"), "deletionTimestamp", "2023-11-14T22:13:20Z");
    }
    info = (struct target_info){0};
    assert_int_equal(fixture_run(&f, deployment()->find(f.tick, &info)), VERDICT_GO);
    assert_null(info.object);
    assert_null(info.primary);
}

CASE(test_restore)
{
    static const struct {
        const char *target, *primary; /* specs; NULL: there is no primary */
        int replicas;
        const char *plan;
    } cases[] = {
        {"{'replicas':0}", "{'replicas':4}", 2, "{'spec':{'replicas':4}}"},
        {"{'replicas':0}", "{}", 2, "{'spec':{'replicas':1}}"},
        {"{'replicas':2}", "{'replicas':4}", 0, "{'spec':{'replicas':4}}"},
        {"{'replicas':4}", "{'replicas':4}", 0, NULL},
        {"{'replicas':5}", "{'replicas':4}", 0, NULL},
        {"{'replicas':0}", "{'replicas':0}", 2, NULL}, /* its owner wants none */
        {"{'replicas':0}", NULL, 2, "{'spec':{'replicas':2}}"},
        {"{'replicas':0}", NULL, 0, "{'spec':{'replicas':1}}"},
        {"{'replicas':3}", NULL, 5, NULL},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {0};
        f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
        info.object = fixture_json(
            f.arena,
            arena_printf(f.arena, "{'metadata':{'name':'podinfo','namespace':'test'},'spec':%s}",
                         row->target));
        info.at_zero = json_int_at(info.object, 1, "spec", "replicas", NULL) == 0;
        if (row->primary)
            info.primary =
                fixture_json(f.arena, arena_printf(f.arena, "{'spec':%s}", row->primary));
        deployment()->restore(f.tick, &info, row->replicas);
        assert_string_equal(
            fixture_quoted(&f, plan_print(f.tick)),
            row->plan ? arena_printf(f.arena, "patch deployments test/podinfo %s\nagain never\n",
                                     row->plan)
                      : "again never\n");
    }
}

CASE(test_serves)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = {
        .object = fixture_json(f.arena, "{'status':{'replicas':2}}"),
        .primary = fixture_json(f.arena, "{'status':{'replicas':2,'availableReplicas':1}}")};

    assert_true(deployment()->serves(&info, SIDE_PRIMARY));
    assert_false(deployment()->serves(&info, SIDE_CANARY));
}
