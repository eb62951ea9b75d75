#include "router/common_services.h"

#include "tick/fixture_test.h"

static bool answer(void *arg, bool primary)
{
    return !arg; /* with an argument, nobody does */
}

static struct json_object *selectors[2]; /* of the target's pods, the primary's */

static struct json_object *selector(void *arg, bool primary, struct json_object *live)
{
    (void)arg;
    (void)live;
    return selectors[primary];
}

/* Pods of a side have the label that Services select by, and one more. */
static struct service_pods pods_of(struct fixture *f)
{
    selectors[0] = fixture_json(f->arena, "{'app':'podinfo'}");
    selectors[1] = fixture_json(f->arena, "{'app':'podinfo-primary'}");
    return (struct service_pods){
        .label = "app",
        .selector = selector,
        .target = fixture_json(f->arena, "{'metadata':{'labels':{'app':'podinfo','tier':'web'}}}"),
        .primary = fixture_json(f->arena,
                                "{'metadata':{'labels':{'app':'podinfo-primary','tier':'web'}}}"),
        .answers = answer,
    };
}

CASE(test_sides_are_created)
{
    struct fixture f = fixture_new(
        "{'spec':{'service':{'name':'web','portName':'grpc','appProtocol':'h2c','headless':true,"
        "'trafficDistribution':'PreferClose','canary':{'labels':{'x':'1'},'annotations':{'y':'2',"
        "'a.toolkit.fluxcd.io/b':'3'}}}}}");
    struct service_pods pods = pods_of(&f);

    assert_int_equal(fixture_run(&f, services_reconcile_sides(f.tick, &pods)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick),
                        "create services test/web-canary -> app=podinfo\n"
                        "create services test/web-primary -> app=podinfo-primary\n"
                        "again never\n");
    struct json_object *canary = fixture_said(f.arena, f.tick->plan->first->body);
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, json_at(canary, "spec", NULL))),
        "{'clusterIP':'None','ports':[{'appProtocol':'h2c','name':'grpc','port':80,'protocol':"
        "'TCP','targetPort':9898}],'selector':{'app':'podinfo'},'trafficDistribution':"
        "'PreferClose','type':'ClusterIP'}");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, json_at(canary, "metadata", "labels", NULL))),
        "{'app':'web-canary','x':'1'}");
    assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, json_at(canary, "metadata",
                                                                             "annotations", NULL))),
                        "{'helm.toolkit.fluxcd.io/driftDetection':'disabled',"
                        "'kustomize.toolkit.fluxcd.io/reconcile':'disabled','y':'2'}");
}

/* What GitOps tools are told, of a Service that has been looked at before. */
#define TOLD                                                                                       \
    "'metadata':{'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'disabled',"               \
    "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'}}"

/* The apex Service as it is, and what is planned about it ("" for nothing). */
static const struct {
    const char *name, *service, *patch;
} apex_cases[] = {
    {"nothing differs",
     "{" TOLD
     ",'spec':{'clusterIP':'10.0.0.1','selector':{'app':'podinfo-primary'},'ports':[{'name':'http',"
     "'port':80,'targetPort':9898,'protocol':'TCP','nodePort':31000}]}}",
     ""},
    {"foreign selector, foreign keys stay",
     "{'metadata':{'labels':{'mine':'1'}},'spec':{'selector':{'app':'podinfo','tier':'web'},"
     "'ports':[{'name':'http','port':80,'targetPort':9898,'protocol':'TCP'}]}}",
     "{" TOLD ",'spec':{'selector':{'app':'podinfo-primary','tier':null}}}"},
    {"owned: another port; node ports of the same number stay",
     "{'metadata':{'labels':{'app':'podinfo'},'ownerReferences':[{'kind':'Canary','name':'podinfo',"
     "'controller':true}],'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'disabled',"
     "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'}},'spec':{'selector':{'app':"
     "'podinfo-primary'},'ports':[{'name':'x','port':81},{'name':'old','port':80,'targetPort':1,"
     "'protocol':'TCP','nodePort':31000,'appProtocol':'tcp'}]}}",
     "{'spec':{'ports':[{'name':'http','nodePort':31000,'port':80,'protocol':'TCP','targetPort':"
     "9898}]}}"},
    {"found: its ports stay, and each gets a name of its own",
     "{" TOLD
     ",'spec':{'selector':{'app':'podinfo-primary'},'ports':[{'name':'http','port':81},{'name':"
     "'was-81','port':82},{'name':'dns','port':53,'protocol':'UDP'},{'name':'old','port':80,"
     "'targetPort':1,'protocol':'TCP','nodePort':31000,'appProtocol':'tcp'}]}}",
     "{'spec':{'ports':[{'name':'was-81-2','port':81},{'name':'was-81','port':82},{'name':'dns',"
     "'port':53,'protocol':'UDP'},{'name':'http','nodePort':31000,'port':80,'protocol':'TCP',"
     "'targetPort':9898}]}}"},
    {"found: a port without a name gets one",
     "{" TOLD
     ",'spec':{'selector':{'app':'podinfo-primary'},'ports':[{'port':81,'protocol':'UDP'}]}}",
     "{'spec':{'ports':[{'name':'http','port':80,'protocol':'TCP','targetPort':9898},{'name':"
     "'was-81','port':81,'protocol':'UDP'}]}}"},
    {"found: a number is one port for each protocol",
     "{" TOLD
     ",'spec':{'selector':{'app':'podinfo-primary'},'ports':[{'name':'http','port':80,'protocol':"
     "'UDP'}]}}",
     "{'spec':{'ports':[{'name':'http','port':80,'protocol':'TCP','targetPort':9898},{'name':"
     "'was-80','port':80,'protocol':'UDP'}]}}"},
    {"owned: labels and annotations are put right, others stay",
     "{'metadata':{'labels':{'app':'wrong','mine':'1'},'ownerReferences':[{'kind':'Canary','name':"
     "'podinfo','controller':true}],'annotations':{'theirs':'1',"
     "'helm.toolkit.fluxcd.io/driftDetection':'disabled',"
     "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'}},'spec':{'selector':{'app':"
     "'podinfo-primary'},'ports':[{'name':'http','port':80,'targetPort':9898,'protocol':'TCP'}]}}",
     "{'metadata':{'labels':{'app':'podinfo'}}}"},
    {"owned: what is unmanaged keeps its live value",
     "{'metadata':{'labels':{'app':'podinfo','free':'live'},'ownerReferences':[{'kind':'Canary',"
     "'name':'podinfo','controller':true}],'annotations':{"
     "'helm.toolkit.fluxcd.io/driftDetection':'disabled',"
     "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'}},'spec':{'selector':{'app':"
     "'podinfo-primary'},'ports':[{'name':'http','port':80,'targetPort':9898,'protocol':'TCP'}]}}",
     ""},
};

CASE(test_apex_is_laid_over)
{
    EACH_ROW (row, apex_cases) {
        struct fixture f = fixture_new(
            strstr(row->name, "unmanaged")
                ? "{'spec':{'service':{'apex':{'labels':{'free':'given'}},'unmanagedMetadata':{"
                  "'labels':['free']}}}}"
                : NULL);
        struct service_pods pods = pods_of(&f), settled = pods;
        settled.drop_old_ports = true;
        fixture_put(&f, "services/podinfo", row->service);
        struct json_object *live = json_at(f.objects, "services/podinfo", NULL);
        if (strncmp(row->name, "owned", 5) == 0)
            json_set_str(json_at(live, "metadata", "annotations", NULL), "flagger.app/applied",
                         "{\"spec\":{\"ports\":[{\"name\":0,\"port\":0,\"protocol\":0,"
                         "\"targetPort\":0}]}}");
        assert_int_equal(fixture_run(&f, services_reconcile_apex(f.tick, &settled)), VERDICT_GO);
        const char *want =
            *row->patch
                ? arena_printf(f.arena, "patch services test/podinfo %s\nagain never\n", row->patch)
                : "again never\n";
        assert_string_equal(fixture_quoted(&f, plan_print(f.tick)), want);
    }
}

/* What stays beside is told, and no old port is waited for. */
CASE(test_found_ports_are_named)
{
    struct fixture f = fixture_new(NULL);
    struct service_pods pods = pods_of(&f);
    const char *found;
    struct json_object *old;
    bool adds;

    fixture_put(&f, "services/podinfo", "{'spec':{'ports':[{'port':80},{'port':81},{'port':82}]}}");
    fixture_put(&f, "services/podinfo-canary", "{'spec':{'ports':[{'port':80}]}}");
    assert_int_equal(fixture_run(&f, services_found_ports(f.tick, &pods, &found)), VERDICT_GO);
    assert_string_equal(found, "81 of podinfo, 82 of podinfo");
    assert_int_equal(services_old_ports(f.tick, &pods, &adds, &old), VERDICT_GO);
    assert_false(adds);
    assert_int_equal(json_len(old), 0);
}

CASE(test_discovered_ports_in_any_order)
{
    struct fixture f = fixture_new(NULL);
    struct service_pods pods = pods_of(&f);
    struct service_pods more = pods;

    more.ports =
        fixture_json(f.arena, "[{'name':'m','protocol':'TCP','port':9090,'targetPort':9090}]");
    fixture_put(&f, "services/podinfo",
                "{" TOLD
                ",'spec':{'selector':{'app':'podinfo-primary'},'ports':[{'name':'m','port':9090,"
                "'targetPort':9090,'protocol':'TCP'},{'name':'http','port':80,'targetPort':9898,"
                "'protocol':'TCP'}]}}");
    assert_int_equal(fixture_run(&f, services_reconcile_apex(f.tick, &more)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick), "again never\n");
}

/* What is there goes on selecting whom it selects until the others answer; its ports follow. */
CASE(test_nobody_is_selected_who_does_not_answer)
{
    struct fixture f = fixture_new(NULL);
    struct service_pods pods = pods_of(&f);
    struct service_pods nobody = pods;
    static const char live[] = "{'spec':{'selector':{'app':'old-primary'},'ports':[{'name':'http',"
                               "'port':80,'targetPort':1,'protocol':'TCP'}]}}";

    nobody.arg = &f;
    fixture_put(&f, "services/podinfo", live);
    assert_int_equal(fixture_run(&f, services_reconcile_apex(f.tick, &nobody)), VERDICT_GO);
    assert_non_null(strstr(plan_print(f.tick), "9898"));
    assert_null(strstr(plan_print(f.tick), "selector"));
    tick_reset(f.tick);
    assert_int_equal(fixture_run(&f, services_reconcile_apex(f.tick, &pods)), VERDICT_GO);
    assert_non_null(strstr(plan_print(f.tick), "\"selector\":{\"app\":\"podinfo-primary\"}"));
}

/* The apex Service of a Canary that is deleted: as it is, and what is planned about it. */
static const struct {
    const char *name, *service, *revert, *disown;
} deleted_cases[] = {
    {"ours",
     "{'metadata':{'ownerReferences':[{'apiVersion':'flagger.app/v1beta1','kind':'Canary','name':"
     "'podinfo','controller':true}],'annotations':{'theirs':'1',"
     "'helm.toolkit.fluxcd.io/driftDetection':'disabled'}},'spec':{'selector':{'app':"
     "'podinfo-primary'}}}",
     "patch services test/podinfo -> {'app':'podinfo'}\n",
     "patch services test/podinfo outlives the canary\n"},
    {"somebody else's, without a word of kubectl",
     "{'metadata':{'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'disabled'}},"
     "'spec':{'selector':{'app':'podinfo-primary'}}}",
     "patch services test/podinfo -> {'app':'podinfo'}\n",
     "patch services test/podinfo outlives the canary\n"},
    {"reverted already",
     "{'spec':{'selector':{'app':'podinfo'},'ports':[{'name':'http','port':80,'targetPort':9898,"
     "'protocol':'TCP'}]}}",
     "", ""},
    {"of another port, which stays beside the new one",
     "{'spec':{'selector':{'app':'podinfo'},'ports':[{'name':'http','port':81,'targetPort':9898,"
     "'protocol':'TCP'}]}}",
     "patch services test/podinfo -> {'app':'podinfo'}\n", ""},
};

CASE(test_apex_of_a_deleted_canary)
{
    EACH_ROW (row, deleted_cases) {
        struct fixture f = fixture_new(NULL);
        struct service_pods pods = pods_of(&f);
        fixture_put(&f, "services/podinfo", row->service);
        assert_int_equal(fixture_run(&f, services_revert_apex(f.tick, &pods, true)), VERDICT_GO);
        assert_string_equal(fixture_quoted(&f, plan_print(f.tick)),
                            arena_printf(f.arena, "%sagain never\n", row->revert));
        assert_int_equal(fixture_run(&f, services_disown_apex(f.tick)), VERDICT_GO);
        assert_string_equal(plan_print(f.tick),
                            arena_printf(f.arena, "%sagain never\n", row->disown));
    }
}

CASE(test_apex_of_a_deleted_canary_is_made_anew)
{
    struct fixture f = fixture_new("{'spec':{'service':{'apex':{'labels':{'x':'1'}}}}}");
    struct service_pods pods = pods_of(&f);

    assert_int_equal(fixture_run(&f, services_revert_apex(f.tick, &pods, false)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick), "again never\n");
    assert_int_equal(fixture_run(&f, services_revert_apex(f.tick, &pods, true)), VERDICT_GO);
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'apiVersion':'v1','kind':'Service','metadata':{'labels':{'app':'podinfo','x':'1'},"
        "'name':'podinfo','namespace':'test'},'spec':{'ports':[{'name':'http','port':80,'protocol':"
        "'TCP','targetPort':9898}],'selector':{'app':'podinfo'},'type':'ClusterIP'}}");
    assert_int_equal(fixture_run(&f, services_disown_apex(f.tick)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick), "again never\n");
}
