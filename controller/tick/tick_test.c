#include "test/unit.h"
#include "tick/fact.h"
#include "tick/plan.h"
#include "tick/tick.h"

#include <string.h>

static const struct kube_resource deployments = {
    .group = "", .version = "v1", .plural = "deployments"};
static const struct kube_resource services = {.group = "", .version = "v1", .plural = "services"};
static const struct settings settings = {.mesh_provider = "istio",
                                         .min_analysis_interval_ms = 10000};
static struct canary_webhook webhooks[2];

static struct canary make_canary(void)
{
    return (struct canary){
        .name = "podinfo",
        .namespace_ = "test",
        .target = {.kind = "Deployment", .name = "podinfo"},
        .analysis = {.interval_ms = 60000, .webhooks = webhooks, .n_webhooks = 2},
    };
}

CASE(test_defaults)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 5, true);

    assert_string_equal(tick->provider, "istio");
    assert_string_equal(tick->kind, "Deployment");
    assert_int_equal(tick_interval_ms(tick), 60000);
    canary.analysis.interval_ms = 1000;
    canary.provider = "gatewayapi:v1";
    tick = tick_new(arena, &canary, &settings, 5, true);
    assert_int_equal(tick_interval_ms(tick), 10000);
    assert_string_equal(tick->provider, "gatewayapi:v1");
    canary.analysis.interval_ms = 60000;
    canary.deleting = true; /* a user is waiting */
    assert_int_equal(tick_interval_ms(tick), 10000);
}

CASE(test_object_is_asked_for_once_and_kept)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *object = json_own(arena, json_object_new_object());
    struct json_object *found = object;

    assert_false(need_object(tick, &deployments, "test", "podinfo", &found));
    assert_null(found);
    assert_false(need_object(tick, &deployments, "test", "podinfo", &found));
    assert_false(need_object(tick, &services, "test", "podinfo", &found));
    struct need *need = tick->needs;
    assert_non_null(need->next);
    assert_null(need->next->next);
    assert_int_equal(need->kind, NEED_OBJECT);
    assert_string_equal(need->name, "podinfo");
    assert_ptr_equal(need->resource, &deployments);

    fact_object(tick, need, object);
    fact_object(tick, need->next, NULL);
    tick_reset(tick);
    assert_null(tick->needs);
    assert_true(need_object(tick, &deployments, "test", "podinfo", &found));
    assert_ptr_equal(found, object);
    assert_true(need_object(tick, &services, "test", "podinfo", &found));
    assert_null(found);
    assert_null(tick->needs);
}

/* Asks for one object after the other. */
struct chain {
    int calls, links, given;
};

static enum rule_result ask_chain(void *arg, struct tick *tick)
{
    struct chain *chain = arg;
    struct json_object *found;

    chain->calls++;
    for (int i = 0; i < chain->links; i++)
        if (!need_object(tick, &services, "test", arena_printf(tick->arena, "link-%d", i), &found))
            return RULE_NEEDS_FACTS;
    return RULE_DONE;
}

static void answer_chain(void *arg, struct tick *tick, const struct need *need)
{
    struct chain *chain = arg;

    if (chain->given-- > 0)
        fact_object(tick, need, NULL);
}

CASE(test_a_rule_is_asked_until_it_misses_nothing)
{
    static const struct {
        int links, given, calls;
        enum rule_result result;
    } rows[] = {
        {0, 0, 1, RULE_DONE},
        {3, 9, 4, RULE_DONE},
        {3, 1, 2, RULE_NEEDS_FACTS}, /* the second fact cannot be obtained */
        {1000, 2000, TICK_MAX_ROUNDS, RULE_NEEDS_FACTS},
    };
    struct canary canary = make_canary();

    EACH_ROW (row, rows) {
        struct chain chain = {.links = row->links, .given = row->given};
        struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
        assert_int_equal(tick_solve(tick, ask_chain, answer_chain, &chain), row->result);
        assert_int_equal(chain.calls, row->calls);
    }
}

static void answer_links(void *arg, struct tick *tick, const struct need *need)
{
    int *asked = arg;

    ++*asked;
    if (!need->name || need->name[0] == 'l')
        fact_object(tick, need, NULL);
}

/* Needs that a watch answers take no round; the others are left to it. */
CASE(test_what_is_at_hand_is_known_within_the_round)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct chain chain = {.links = 5};
    struct json_object *found;
    const char *denied;
    int asked = 0;

    tick->answer = answer_links;
    tick->answer_arg = &asked;
    assert_int_equal(ask_chain(&chain, tick), RULE_DONE);
    assert_int_equal(asked, 5);
    assert_true(need_object_if_allowed(tick, &deployments, "test", "link", &found, &denied));
    assert_true(need_object_if_watched(tick, &deployments, "test", "link-a", &found));
    assert_true(need_scalers(tick, &services, "test", "Deployment", "podinfo", &found));
    assert_int_equal(asked, 8);
    assert_null(tick->needs);

    assert_false(need_object(tick, &services, "test", "other", &found));
    assert_int_equal(asked, 9);
    assert_string_equal(tick->needs->name, "other");
    /* objects that must be read, and lists */
    assert_false(need_object_once(tick, &services, "test", "link-b", &found, &denied));
    assert_true(tick->needs->next->surely);
    assert_false(need_objects(tick, &services, "test", &found));
    assert_int_equal(asked, 9);
}

CASE(test_deadline)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 100000, true);

    canary.progress_deadline_s = 60;
    assert_int_equal(tick_deadline_ms(tick), 60000);
    assert_true(tick_deadline_passed(tick, 40000));
    assert_false(tick_deadline_passed(tick, 40001));
}

CASE(test_what_no_watch_shows_is_read_where_it_counts)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *found;

    assert_false(need_object_surely(tick, &services, "test", "podinfo", &found));
    assert_false(tick->needs->surely);
    fact_unseen(tick, tick->needs);
    tick_reset(tick);
    assert_true(need_object(tick, &services, "test", "podinfo", &found));
    assert_null(found);
    assert_false(need_object_surely(tick, &services, "test", "podinfo", &found));
    assert_true(tick->needs->surely);
    assert_string_equal(tick->needs->name, "podinfo");
    fact_object(tick, tick->needs, NULL);
    tick_reset(tick);
    assert_true(need_object_surely(tick, &services, "test", "podinfo", &found));
    assert_null(found);
}

/* An object that is read once is not watched, and may be denied. */
CASE(test_once)
{
    static const struct kube_resource policies = {.group = "a.io",
                                                  .version = "v1",
                                                  .plural = "policies",
                                                  .kind = "Policy",
                                                  .cluster_scoped = true};
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *found;
    const char *denied;

    assert_false(need_object_once(tick, &policies, "test", "a", &found, &denied));
    assert_true(tick->needs->surely && !tick->needs->watched);
    assert_string_equal(tick->needs->namespace_, "");
    fact_denied(tick, tick->needs, "it may not be read");
    tick_reset(tick);
    assert_true(need_object_once(tick, &policies, "test", "a", &found, &denied));
    assert_null(found);
    assert_string_equal(denied, "it may not be read");
    assert_null(tick->denied);
}

/* A list is a fact of its own. */
CASE(test_objects)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *list = json_own(arena, json_object_new_object());
    struct json_object *items = json_object_new_array();
    struct json_object *found;

    json_object_object_add(list, "items", items);
    assert_false(need_objects(tick, &services, "test", &found));
    assert_null(tick->needs->name);
    fact_object(tick, tick->needs, list);
    tick_reset(tick);
    assert_true(need_objects(tick, &services, "test", &found));
    assert_ptr_equal(found, items);
    assert_false(need_objects(tick, &services, "prod", &found));
    assert_false(need_object(tick, &services, "test", "podinfo", &found));
}

CASE(test_conflict_forgets_objects_only)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct metric_question question = {.id = "metrics[0]", .backend = "prometheus"};
    const struct metric_answer *answer;
    const struct hook_answer *hook;
    struct json_object *object;

    assert_false(need_object(tick, &deployments, "test", "podinfo", &object));
    assert_false(need_metric(tick, &question, &answer));
    assert_false(need_hook(tick, 1, PHASE_Progressing, "c1", &hook));
    fact_object(tick, tick->needs, NULL);
    fact_metric(tick, tick->needs->next,
                (struct metric_answer){.outcome = METRIC_VALUE, .value = 99.5});
    assert_int_equal(tick->needs->next->next->webhook, 1);
    assert_int_equal(tick->needs->next->next->phase, PHASE_Progressing);
    assert_string_equal(tick->needs->next->next->checksum, "c1");
    fact_hook(tick, tick->needs->next->next, (struct hook_answer){.passed = true, .text = "ok"});
    facts_forget(tick, NEED_OBJECT);
    tick_reset(tick);
    assert_false(need_object(tick, &deployments, "test", "podinfo", &object));
    assert_true(need_metric(tick, &question, &answer));
    assert_true(answer->value > 99.4 && answer->value < 99.6);
    assert_true(need_hook(tick, 1, PHASE_Progressing, "c1", &hook));
    assert_true(hook->passed);
    assert_false(need_hook(tick, 0, PHASE_Progressing, "c1", &hook));
    /* an answer about one revision does not count for another */
    assert_false(need_hook(tick, 1, PHASE_Progressing, "c2", &hook));
}

CASE(test_questions_share_no_answer)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *spec = json_own(arena, json_object_new_object());
    const struct metric_question question = {
        .id = "metrics[0]", .backend = "prometheus", .address = "http://a", .query = "up"};
    struct metric_question others[] = {question, question, question, question, question, question,
                                       question, question, question, question, question};
    const struct metric_answer *answer;

    others[0].id = "metrics[1]";
    others[1].backend = "datadog";
    others[2].address = "http://b";
    others[3].query = "down";
    others[4].query = NULL;
    json_set_str(spec, "type", "prometheus");
    others[5].spec = spec;
    others[6].at_s = 1700000000;
    others[7].bucket = 0.5;
    others[8].path = "/a";
    others[9].body = "a";
    others[10].histogram = true;
    assert_false(need_metric(tick, &question, &answer));
    fact_metric(tick, tick->needs, (struct metric_answer){.outcome = METRIC_VALUE, .value = 1});
    assert_true(need_metric(tick, &question, &answer));
    EACH_ROW (row, others)
        assert_false(need_metric(tick, row, &answer));
}

/* Metrics of a provider with a long description take little more than the limit of a tick. */
CASE(test_many_metrics_of_a_long_provider)
{
    enum { METRICS = 300, LONG = 300 * 1000 };
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *spec = json_own(arena, json_object_new_object());
    struct metric_question question = {.backend = "prometheus", .query = "up", .spec = spec};
    char *region = arena_alloc(arena, LONG + 1);
    const struct metric_answer *answer;

    memset(region, 'r', LONG);
    region[LONG] = '\0';
    json_set_str(spec, "region", region);
    for (int i = 0; i < METRICS; i++) {
        question.id = arena_printf(arena, "metrics[%d]", i);
        assert_false(need_metric(tick, &question, &answer));
    }
    assert_in_range(arena_used(arena), TICK_MOST, TICK_MOST + 4 * LONG);
    assert_true(tick->needs != NULL);
}

CASE(test_what_cannot_be_breaks_the_tick_alone)
{
    struct canary canary = make_canary();
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    const struct hook_answer *hook;

    assert_false(need_hook(tick, canary.analysis.n_webhooks, PHASE_Progressing, "c1", &hook));
    assert_string_equal(tick->broken, "webhook 2 of 2 is asked");
    assert_null(tick->needs);
    assert_int_equal(tick_broken(tick, "a later one"), RULE_DONE);
    assert_string_equal(tick->broken, "webhook 2 of 2 is asked");
    tick_reset(tick);
    assert_null(tick->broken);
    plan_create(tick, &deployments, "test", json_own(arena, json_object_new_object()));
    assert_string_equal(tick->broken, "deployments without a name would be created");
    assert_int_equal(tick->plan->count, 0);
}
