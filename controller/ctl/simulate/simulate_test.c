/* Simulations without any existing object; test/golden/cases/providers.yaml checks that they are
 * what really happens. */
#include "ctl/simulate/simulate.h"

#include <string.h>

#include "router/router.h"
#include "test/rows.h"
#include "test/unit.h"

static struct json_object *find_nothing(void *arg, const struct kube_resource *resource,
                                        const char *namespace_, const char *name)
{
    (void)arg, (void)resource, (void)namespace_, (void)name;
    return NULL;
}

static struct json_object *list_nothing(void *arg, const struct kube_resource *resource,
                                        const char *namespace_)
{
    (void)arg, (void)resource, (void)namespace_;
    return NULL;
}

static const struct simulation_source nothing = {.find = find_nothing, .list = list_nothing};

static const char base[] =
    "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'app','namespace':"
    "'test'},'spec':{'targetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'app'},"
    "'ingressRef':{'apiVersion':'networking.k8s.io/v1','kind':'Ingress','name':'front'},"
    "'routeRef':{'apiVersion':'apisix.apache.org/v2','kind':'ApisixRoute','name':'front'},"
    "'service':{'port':80,'targetPort':'http','hosts':['a.test'],'gatewayRefs':[{'name':'g'}],"
    "'meshName':'m'},'analysis':{'interval':'1m','threshold':2,'stepWeight':50,'metrics':["
    "{'name':'request-success-rate','thresholdRange':{'min':99}},"
    "{'name':'request-duration','thresholdRange':{'min':3,'max':5}},"
    "{'name':'lag','templateRef':{'name':'lag'},'thresholdRange':{'min':10,'max':11}},"
    "{'name':'old','query':'up','threshold':7}]}}}";

static struct simulation play(struct arena *arena, const char *patch)
{
    struct json_object *canary = json_merge(arena, rows_json(arena, base), rows_json(arena, patch));
    struct simulation out;
    struct errinfo ei;

    if (simulate(arena, &settings_default, canary, &nothing, &out, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return out;
}

static const struct simulation_step *last_of(const struct simulation *simulation)
{
    const struct simulation_step *step = simulation->steps;

    while (step && step->next)
        step = step->next;
    return step;
}

static bool assumes(const struct simulation *simulation, const char *what)
{
    for (size_t i = 0; i < json_len(simulation->assumed); i++)
        if (strcmp(json_object_get_string(json_elem(simulation->assumed, i)), what) == 0)
            return true;
    return false;
}

static void play_provider(struct arena *arena, const struct router *router, const char *provider)
{
    bool knative = router->only_target != NULL;
    const char *name = arena_printf(arena, "%.*s%s", (int)strcspn(provider, "*"), provider,
                                    !strchr(provider, '*')                   ? ""
                                    : strncmp(provider, "supergloo", 9) == 0 ? "a.b"
                                                                             : "a");
    struct simulation out = play(
        arena, arena_printf(arena, "{'spec':{'provider':'%s'%s}}", name,
                            knative ? ",'targetRef':{'apiVersion':'serving.knative.dev/v1','kind':"
                                      "'Service'}"
                                    : ""));

    if (out.refused)
        fail_msg("%s: %s", name, out.refused);
    assert_false(out.unfinished);
    assert_string_equal(out.provider, name);
    assert_string_equal(out.strategy, router->weighted ? "canary" : "blue-green");
    const struct simulation_step *last = last_of(&out);
    if (!last || last->phase != PHASE_Succeeded)
        fail_msg("%s ends otherwise", name);
    assert_true(json_len(out.made) > 0 || knative);
    assert_true(assumes(&out, knative ? "Service test/app" : "Deployment test/app"));
    assert_true(assumes(&out, "MetricTemplate test/lag"));
}

CASE(what_each_provider_needs_is_assumed)
{
    for (size_t i = 0; router_table[i]; i++)
        for (size_t k = 0; router_table[i]->providers[k]; k++)
            play_provider(arena, router_table[i], router_table[i]->providers[k]);
}

CASE(each_kind_of_autoscaler_is_assumed)
{
    struct simulation out =
        play(arena, "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':"
                    "'ScaledObject','name':'s'}}}");
    assert_null(out.refused);
    assert_true(assumes(&out, "ScaledObject test/s"));
    out = play(arena, "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':"
                      "'HorizontalPodAutoscaler','name':'s'}}}");
    assert_null(out.refused);
    assert_true(assumes(&out, "HorizontalPodAutoscaler test/s"));
}

CASE(each_kind_of_companion_is_assumed_for_the_target)
{
    static const struct {
        const char *kind, *copy;
    } rows[] = {{"PodDisruptionBudget", "s-primary"},
                {"NetworkPolicy", "s-primary"},
                {"AuthorizationPolicy", "s-primary"},
                {"PodMonitor", "s-primary"},
                {"ServiceMonitor", "s-metrics-primary"}};

    EACH_ROW (row, rows) {
        struct simulation out =
            play(arena, arena_printf(arena, "{'spec':{'companions':[{'kind':'%s','name':'s'}]}}",
                                     row->kind));
        assert_null(out.refused);
        assert_true(assumes(&out, arena_printf(arena, "%s test/s", row->kind)));
        assert_non_null(strstr(json_text(arena, out.made), row->copy));
    }
}

CASE(what_does_not_begin_says_why)
{
    struct simulation out =
        play(arena, "{'spec':{'provider':'traefik','analysis':{'mirror':true}}}");
    assert_non_null(strstr(out.refused, "spec.analysis.mirror: mirroring is not possible"));
    assert_null(out.steps);
    out = play(arena, "{'spec':{'suspend':true}}");
    assert_string_equal(out.refused, "the Canary is suspended");
}

CASE(a_release_without_end_is_cut)
{
    struct simulation out =
        play(arena, "{'spec':{'analysis':{'stepWeight':null,'iterations':1000000}}}");
    assert_null(out.refused);
    assert_true(out.unfinished);
    assert_non_null(out.steps);
}
