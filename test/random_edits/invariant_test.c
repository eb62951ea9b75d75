/* Each invariant over made-up views: where it holds, and that it is seen to break. */
#include "random_edits/invariant.h"
#include "test/unit.h"

#include <string.h>

#include "random_edits/judge.h"

static struct view *view; /* of the case */

static int set_up(void **state)
{
    view = view_new(NULL, NULL);
    return 0;
}

static int tear_down(void **state)
{
    view_free(view);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static const struct app *app(void)
{
    return app_named("blue");
}

static struct json_object *put(struct arena *arena, const struct kube_resource *kind,
                               const char *text)
{
    struct json_object *object = user_json(arena, text, "blue", NULL);
    view_put(view, kind, object, false);
    return object;
}

static void put_service(struct arena *arena, const char *name, const char *selector)
{
    put(arena, &kube_services,
        arena_printf(arena, "{'metadata':{'name':'%s'},'spec':{'selector':%s}}", name, selector));
}

static void put_pod(struct arena *arena, const char *deployment, const char *labels, bool ready)
{
    static int number;
    struct json_object *pod = user_json(
        arena,
        arena_printf(arena,
                     "{'metadata':{'name':'pod-%d','ownerReferences':[{'name':'%s-77'}]},'status':{"
                     "'conditions':[{'type':'Ready','status':'%s'}]}}",
                     ++number, deployment, ready ? "True" : "False"),
        "blue", NULL);
    struct json_object *map = user_json(arena, labels, "blue", NULL);
    json_set_str(map, "pod-template-hash", "77");
    json_set(json_sub(pod, "metadata"), "labels", map);
    view_put(view, &user_pods, pod, false);
}

static void put_endpoints(struct arena *arena, const char *name, int ready)
{
    struct json_object *object = user_json(
        arena, arena_printf(arena, "{'metadata':{'name':'%s'},'subsets':[{'addresses':[]}]}", name),
        "blue", NULL);
    struct json_object *addresses =
        json_at(json_elem(json_at(object, "subsets", NULL), 0), "addresses", NULL);
    for (int i = 0; i < ready; i++)
        json_object_array_add(addresses, json_object_new_string("127.0.0.1"));
    view_put(view, &user_endpoints, object, false);
}

static struct json_object *route(struct arena *arena, int primary, int canary)
{
    return user_json(arena,
                     arena_printf(arena,
                                  "{'metadata':{'name':'NAME'},'spec':{'rules':[{'backendRefs':["
                                  "{'name':'NAME-primary','weight':%d},"
                                  "{'name':'NAME-canary','weight':%d}]}]}}",
                                  primary, canary),
                     "blue", NULL);
}

CASE(test_a_service_that_selects_the_pods_of_others_is_seen)
{
    put_pod(arena, "blue-primary", "{'app':'a','part':'web'}", true);
    put_pod(arena, "blue-other", "{'app':'a','part':'worker'}", true);
    put_service(arena, "blue-primary", "{'app':'a','part':'web'}");
    assert_null(invariant_owner(arena, view, app()));
    put_service(arena, "blue-primary", "{'app':'a'}");
    assert_non_null(strstr(invariant_owner(arena, view, app()), "another workload"));
}

CASE(test_a_write_that_takes_all_endpoints_of_a_service_is_seen)
{
    struct json_object *former = user_json(arena, "{'app':'a'}", NULL, NULL);
    put_pod(arena, "blue", "{'app':'a'}", true);
    put_pod(arena, "blue-primary", "{'app':'b'}", false);
    put_service(arena, "blue", "{'app':'a'}");
    assert_null(invariant_emptied(arena, view, "blue", former));
    put_service(arena, "blue", "{'app':'b'}");
    assert_non_null(invariant_emptied(arena, view, "blue", former));
    /* it had none before either */
    assert_null(
        invariant_emptied(arena, view, "blue", user_json(arena, "{'app':'c'}", NULL, NULL)));
}

CASE(test_a_share_without_a_ready_pod_is_seen)
{
    static const struct {
        int shares[2], ready[2]; /* of primary and canary */
        enum share want;
    } rows[] = {
        {{100, 0}, {1, 0}, SHARE_SERVED},    {{60, 40}, {1, 1}, SHARE_SERVED},
        {{60, 40}, {1, 0}, SHARE_OF_CANARY}, {{60, 40}, {0, 1}, SHARE_OF_PRIMARY},
        {{60, 40}, {0, 0}, SHARE_SERVED},    {{0, 100}, {0, 1}, SHARE_SERVED},
        {{100, 0}, {0, 1}, SHARE_SERVED},    {{0, 100}, {2, 0}, SHARE_OF_CANARY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        view_put(view, &user_routes, route(arena, rows[i].shares[0], rows[i].shares[1]), false);
        put_endpoints(arena, "blue-primary", rows[i].ready[0]);
        put_endpoints(arena, "blue-canary", rows[i].ready[1]);
        assert_int_equal(invariant_share(view, app()), rows[i].want);
    }
}

CASE(test_a_step_to_a_side_that_is_too_small_is_seen)
{
    static const struct {
        int before, now; /* of the canary */
        struct sides sides;
        int64_t most;
        bool breaks;
    } rows[] = {
        {0, 25, {4, 4, 1, 1}, 0, false},  {0, 26, {4, 4, 1, 1}, 0, true},
        {0, 100, {4, 4, 2, 2}, 2, false}, {0, 100, {4, 4, 2, 2}, 3, true},
        {50, 25, {4, 4, 0, 0}, 0, false}, {0, 100, {0, 0, 1, 1}, 0, false},
        {100, 0, {0, 0, 1, 1}, 0, true},  {100, 0, {0, 1, 1, 1}, 0, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = invariant_capacity(
            arena, route(arena, 100 - rows[i].before, rows[i].before),
            route(arena, 100 - rows[i].now, rows[i].now), &rows[i].sides, rows[i].most);
        assert_int_equal(text != NULL, rows[i].breaks);
    }
}

static struct json_object *deployment(struct arena *arena, int replicas, const char *manager)
{
    struct json_object *out = user_json(
        arena,
        arena_printf(arena,
                     "{'metadata':{'name':'NAME-primary','managedFields':[{'manager':'%s','time':"
                     "'%d'}]},'spec':{'replicas':%d}}",
                     manager, replicas, replicas),
        "blue", NULL);
    return out;
}

CASE(test_a_number_that_an_autoscaler_owns_is_not_written)
{
    static const char *const ours = "flagger-controller", *const theirs = "sandbox";
    struct json_object *two = deployment(arena, 2, ours), *four = deployment(arena, 4, ours);
    assert_null(invariant_number(arena, view, NULL, two, four));
    put(arena, &kube_hpas,
        "{'metadata':{'name':'NAME-own'},'spec':{'maxReplicas':5,'scaleTargetRef':{"
        "'name':'NAME-primary'}}}");
    assert_int_equal(invariant_most(view, "blue-primary"), 5);
    assert_non_null(invariant_number(arena, view, NULL, two, four));
    assert_null(invariant_number(arena, view, "blue-own", two, four));
    assert_null(invariant_number(arena, view, NULL, two, deployment(arena, 4, theirs)));
    assert_null(invariant_number(arena, view, NULL, deployment(arena, 0, ours), four));
    put(arena, &kube_hpas,
        "{'metadata':{'name':'NAME-own'},'spec':{'minReplicas':4,'scaleTargetRef':{"
        "'name':'NAME-primary'}}}");
    assert_null(invariant_number(arena, view, NULL, two, four));
    assert_non_null(invariant_number(arena, view, NULL, four, two));
}

static void refuse(struct arena *arena, const char *text, int count)
{
    view_event(view,
               user_json(arena,
                         arena_printf(arena,
                                      "{'type':'Warning','involvedObject':{'name':'NAME'},"
                                      "'count':%d,'message':'%s'}",
                                      count, text),
                         "blue", NULL),
               1000);
}

CASE(test_what_is_refused_is_told_once)
{
    static const char *const text = "The API server refuses a write, which is tried again: x";
    refuse(arena, "Halt blue advancement", 90);
    refuse(arena, text, 1);
    const struct warning *warning = view_warning(view, "blue");
    assert_null(invariant_told(arena, warning, warning->at_ms));
    refuse(arena, text, 3);
    warning = view_warning(view, "blue");
    assert_null(invariant_told(arena, warning, warning->at_ms));
    refuse(arena, text, 8);
    warning = view_warning(view, "blue");
    assert_non_null(invariant_told(arena, warning, warning->at_ms));
    assert_null(invariant_told(arena, warning, warning->at_ms + 60 * 1000));
}

CASE(test_a_copy_that_nothing_reads_is_seen)
{
    put(arena, &kube_configmaps, "{'metadata':{'name':'NAME-settings-v2-primary'}}");
    put(arena, &kube_configmaps, "{'metadata':{'name':'NAME-settings-v3'}}");
    put(arena, &kube_deployments,
        "{'metadata':{'name':'NAME-primary'},'spec':{'template':{'envFrom':["
        "{'name':'NAME-settings-v2-primary'}]}}}");
    assert_null(invariant_copies(arena, view, app()));
    put(arena, &kube_configmaps, "{'metadata':{'name':'NAME-settings-v1-primary'}}");
    assert_non_null(strstr(invariant_copies(arena, view, app()), "v1-primary"));
}

CASE(test_who_has_written_is_told_by_what_differs)
{
    struct json_object *one = deployment(arena, 1, "kubectl"),
                       *two = deployment(arena, 2, "sandbox");
    assert_string_equal(view_writer(one, two), "sandbox");
    assert_null(view_writer(one, one));
}

/* --- the judge */

static struct judge *judge(struct arena *arena)
{
    static const struct app control = {.name = "control"};
    struct judge *out = judge_new(arena, view, &control);
    judge_add(out, app());
    return out;
}

static const char *kind_of(const struct judge *judge)
{
    size_t count;
    const struct violation *list = judge_violations(judge, &count);
    return count ? list[0].kind : "";
}

static void put_canary(struct arena *arena, const char *hooks, const char *status)
{
    put(arena, &user_canaries,
        arena_printf(
            arena,
            "{'metadata':{'name':'NAME','generation':1},'spec':{'analysis':{'webhooks':[%s]"
            "}},'status':%s}",
            hooks, status));
}

#define START "{'name':'start','type':'confirm-rollout'}"

CASE(test_what_its_gate_has_not_let_in_is_not_analysed)
{
    static const struct {
        const char *about; /* what it shows */
        const char *hooks; /* of the spec all the while */
        struct {
            const char *hook, *checksum;
            bool passes;
        } calls[4];
        bool breaks;
    } rows[] = {
        {"let in", START, {{"start", "a", true}, {"check", "a", true}}, false},
        {"another", START, {{"start", "a", true}, {"check", "b", true}}, true},
        {"another is not let in, and the first one comes back",
         START,
         {{"start", "a", true}, {"start", "b", false}, {"check", "a", true}},
         true},
        {"promoted", START, {{"start", "a", true}, {"promote", "b", true}}, true},
        {"not known", START, {{"check", "b", true}}, false},
        {"no gate", "", {{"start", "a", true}, {"check", "b", true}}, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judge *it = judge(arena);
        put_canary(arena, rows[i].hooks, "{}");
        for (size_t k = 0; k < 4 && rows[i].calls[k].hook; k++)
            judge_hook(it, "blue", rows[i].calls[k].hook, rows[i].calls[k].checksum,
                       rows[i].calls[k].passes);
        assert_string_equal(kind_of(it), rows[i].breaks ? "gate" : "");
    }
}

CASE(test_a_status_that_other_tools_cannot_read_is_seen)
{
    struct judge *it = judge(arena);
    struct json_object *canary = user_json(
        arena, "{'metadata':{'name':'NAME'},'status':{'phase':'Failed','canaryWeight':0}}", "blue",
        NULL);
    judge_change(it, &user_canaries, NULL, canary);
    assert_string_equal(kind_of(it), "");
    json_object_object_del(json_at(canary, "status", NULL), "canaryWeight");
    judge_change(it, &user_canaries, NULL, canary);
    assert_string_equal(kind_of(it), "health");
}

CASE(test_an_answer_of_another_workload_is_never_excused)
{
    struct judge *it = judge(arena);
    judge_harm(it, app());
    judge_failure(it, &(struct failure){.app = app(), .via = "apex", .text = "down"});
    assert_int_equal(judge_allowed(it), 1);
    judge_failure(it,
                  &(struct failure){.app = app(), .via = "apex", .text = "x", .stranger = true});
    assert_string_equal(kind_of(it), "stranger");
}

static struct json_object *written(struct json_object *object, const char *when)
{
    struct json_object *rows = json_object_new_array(), *row = json_object_new_object();
    json_set_str(row, "manager", "flagger-controller");
    json_set_str(row, "time", when);
    json_object_array_add(rows, row);
    json_set(json_sub(object, "metadata"), "managedFields", rows);
    json_object_put(rows);
    return object;
}

CASE(test_the_judge_looks_at_the_pods_of_a_step)
{
    struct judge *it = judge(arena);
    put_canary(arena, "", "{}");
    put_endpoints(arena, "blue-primary", 4);
    put_endpoints(arena, "blue-canary", 1);
    judge_add_sample(it);
    judge_change(it, &user_routes, written(route(arena, 100, 0), "1"),
                 written(route(arena, 75, 25), "2"));
    assert_string_equal(kind_of(it), "");
    judge_change(it, &user_routes, written(route(arena, 75, 25), "2"),
                 written(route(arena, 40, 60), "3"));
    assert_string_equal(kind_of(it), "capacity");
}
