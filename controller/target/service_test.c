#include "target/target.h"
#include "tick/fixture_test.h"

#define SERVICE "'targetRef':{'apiVersion':'core/v1','kind':'Service'}"
#define PORTS   "'ports':[{'name':'http','port':80,'protocol':'TCP','targetPort':9898}]"
#define OWNER                                                                                      \
    "'ownerReferences':[{'apiVersion':'flagger.app/v1beta1','blockOwnerDeletion':true,"            \
    "'controller':true,'kind':'Canary','name':'podinfo','uid':'c-1'}]"
#define ADDRESS(n) "'clusterIP':'10.0.0." n "','clusterIPs':['10.0.0." n "']"
#define TARGET                                                                                     \
    "{'metadata':{'labels':{'app':'podinfo','keep/l':'1','x.toolkit.fluxcd.io/y':'3'},"            \
    "'annotations':{'keep/a':'1','b':'2','kubectl.kubernetes.io/last-applied-configuration':'{}'," \
    "'x.toolkit.fluxcd.io/y':'3'},'finalizers':['service.kubernetes.io/load-balancer-cleanup']},"  \
    "'spec':{'type':'LoadBalancer','selector':{'app':'green'}," ADDRESS(                           \
        "1") ",'ports':[{'name':"                                                                  \
             "'http','port':80,'protocol':'TCP','targetPort':9898,'nodePort':30001}],"             \
             "'externalTrafficPolicy':'Local','healthCheckNodePort':30002}}"

static const struct target *service(void)
{
    return target_find("v1", "Service");
}

static struct target_info read_target(struct fixture *f, const char *target)
{
    struct target_info info = {0};

    fixture_put(f, "services/podinfo", target);
    assert_int_equal(fixture_run(f, service()->read(f->tick, &info)), VERDICT_GO);
    return info;
}

/* The plan's effect number index as text, without what it was made of. */
static const char *effect_text(struct fixture *f, int index)
{
    return fixture_quoted(f, fixture_body(f, index));
}

CASE(test_find)
{
    static const struct {
        const char *api_version;
        const char *group; /* of the row; NULL: none */
    } cases[] = {
        {"v1", ""},        {"core/v1", ""},
        {"", ""},          {"serving.knative.dev/v1", "serving.knative.dev"},
        {"x.io/v1", NULL}, {"serving/v1", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct target *found = target_find(cases[i].api_version, "Service");
        if (cases[i].group)
            assert_string_equal(found->group, cases[i].group);
        else
            assert_null(found);
    }
    assert_ptr_equal(target_find("extensions/v1beta1", "Deployment"),
                     target_find("apps/v1", "Deployment"));
    assert_null(target_find("v1", "ServiceX"));
}

CASE(test_read)
{
    struct fixture f = fixture_new("{'spec':{" SERVICE "}}");
    struct target_info info = {0};
    const char *hash;

    assert_int_equal(fixture_run(&f, service()->read(f.tick, &info)), VERDICT_STOP);
    assert_string_equal(info.unusable, "service podinfo.test get query error: not found");
    struct json_object *target = fixture_json(f.arena, "{}");
    json_set(target, "spec", fixture_vector(&f, "service-spec", &hash));
    info = read_target(&f, fixture_quoted(&f, json_text(f.arena, target)));
    assert_string_equal(info.hash, hash);
    assert_null(info.label);
    assert_null(info.configs);
    assert_false(info.at_zero); /* it cannot be */
    assert_true(info.stopped);
}

/* The copies get addresses of their own, and none of what tells tools that the target is theirs. */
CASE(test_create)
{
    static const char copy[] =
        "{'apiVersion':'v1','kind':'Service','metadata':{'annotations':{'b':'2','keep/a':'1'},"
        "'labels':{'app':'podinfo','keep/l':'1'},'name':'podinfo-%s','namespace':'test'," OWNER
        "},'spec':{'externalTrafficPolicy':'Local','ports':[{'name':'http','port':80,'protocol':"
        "'TCP','targetPort':9898}],'selector':{'app':'green'},'trafficDistribution':'PreferClose',"
        "'type':'LoadBalancer'}}";
    struct fixture f =
        fixture_new("{'spec':{" SERVICE ",'service':{'trafficDistribution':'PreferClose'}}}");
    struct target_info info = read_target(&f, TARGET);

    assert_int_equal(fixture_run(&f, service()->own_services(f.tick, &info)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 1);
    assert_string_equal(effect_text(&f, 0), arena_printf(f.arena, copy, "canary"));
    assert_int_equal(fixture_run(&f, service()->ensure_primary(f.tick, &info)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 1);
    assert_string_equal(effect_text(&f, 0), arena_printf(f.arena, copy, "primary"));
}

/* What the copy has, what the target says, and what is patched; NULL: nothing. */
static const struct {
    const char *copy, *target, *patch;
} follow_cases[] = {
    {"{'spec':{'type':'ClusterIP','selector':{'app':'blue'}," ADDRESS("2") "," PORTS "}}",
     "{'spec':{'type':'ClusterIP','selector':{'app':'green'}," ADDRESS("1") "," PORTS "}}",
     "{'metadata':{'resourceVersion':'9'},'spec':{'selector':{'app':'green'}}}"},
    {"{'spec':{'type':'ClusterIP','selector':{'app':'green'}," ADDRESS("2") "," PORTS "}}",
     "{'spec':{'type':'ClusterIP','selector':{'app':'green'}," ADDRESS("1") "," PORTS "}}", NULL},
    {"{'spec':{'type':'NodePort'," ADDRESS(
         "2") ",'ports':[{'port':80,'protocol':'TCP','nodePort':"
              "30009},{'port':80,'protocol':'UDP','nodePort':30010}]}}",
     "{'spec':{'type':'NodePort'," ADDRESS(
         "1") ",'ports':[{'port':80,'protocol':'TCP','nodePort':"
              "30001},{'port':80,'protocol':'UDP','nodePort':30002}]}}",
     NULL},
    /* a host outside instead of pods */
    {"{'spec':{'type':'ClusterIP','selector':{'app':'blue'}," ADDRESS("2") "," PORTS "}}",
     "{'spec':{'type':'ExternalName','externalName':'green.example.com'}}",
     "{'metadata':{'resourceVersion':'9'},'spec':{'clusterIP':null,'clusterIPs':null,"
     "'externalName':'green.example.com','ports':null,'selector':null,'type':'ExternalName'}}"},
    {"{'spec':{'type':'ExternalName','externalName':'blue.example.com'}}",
     "{'spec':{'type':'ExternalName','externalName':'green.example.com'}}",
     "{'metadata':{'resourceVersion':'9'},'spec':{'externalName':'green.example.com'}}"},
    /* from a host back to pods: the address is the cluster's to give */
    {"{'spec':{'type':'ExternalName','externalName':'blue.example.com'}}",
     "{'spec':{'type':'ClusterIP','selector':{'app':'green'}," ADDRESS("1") "}}",
     "{'metadata':{'resourceVersion':'9'},'spec':{'externalName':null,'selector':{'app':'green'},"
     "'type':'ClusterIP'}}"},
    {"{'spec':{'type':'ClusterIP','clusterIP':'None','clusterIPs':['None']," PORTS "}}",
     "{'spec':{'type':'ClusterIP','clusterIP':'None','clusterIPs':['None']," PORTS "}}", NULL},
};

CASE(test_canary_follows)
{
    EACH_ROW (row, follow_cases) {
        struct fixture f = fixture_new("{'spec':{" SERVICE "}}");
        fixture_put(&f, "services/podinfo-canary", row->copy);
        json_set_str(json_at(f.objects, "services/podinfo-canary", "metadata", NULL),
                     "resourceVersion", "9");
        struct target_info info = read_target(&f, row->target);
        assert_int_equal(fixture_run(&f, service()->own_services(f.tick, &info)), VERDICT_GO);
        assert_int_equal(f.tick->plan->count, row->patch ? 1 : 0);
        if (row->patch)
            assert_string_equal(effect_text(&f, 0), row->patch);
    }
}

/* Labels and annotations are those of the target only where the copy is ours. */
CASE(test_metadata_of_the_canary)
{
    for (int ours = 0; ours < 2; ours++) {
        struct fixture f = fixture_new("{'spec':{" SERVICE "}}");
        fixture_put(&f, "services/podinfo-canary",
                    ours ? "{'metadata':{" OWNER ",'labels':{'theirs':'1'}},'spec':{}}"
                         : "{'metadata':{'labels':{'theirs':'1'}},'spec':{}}");
        struct target_info info =
            read_target(&f, "{'metadata':{'labels':{'app':'x'}},'spec':{'type':'ClusterIP'}}");
        assert_int_equal(fixture_run(&f, service()->own_services(f.tick, &info)), VERDICT_GO);
        struct json_object *labels = json_at(f.tick->plan->first->body, "metadata", "labels", NULL);
        if (ours)
            assert_string_equal(fixture_quoted(&f, json_text(f.arena, labels)), "{'app':'x'}");
        else
            assert_null(labels);
    }
}

/* With traffic on it, the canary's Service follows only to what was analysed or promoted. */
CASE(test_users_do_not_get_what_is_new)
{
    static const struct {
        int weight;
        const char *applied, *promoted; /* "" or "same" as the target */
        bool follows;
    } cases[] = {
        {20, "", "", false},
        {20, "same", "", true},
        {20, "", "same", true},
        {0, "", "", true},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new("{'spec':{" SERVICE "}}");
        fixture_put(&f, "services/podinfo-canary", "{'spec':{'selector':{'app':'blue'}}}");
        struct target_info info = read_target(&f, "{'spec':{'selector':{'app':'green'}}}");
        f.canary.status.canary_weight = row->weight;
        f.canary.status.last_applied_spec = *row->applied ? info.hash : "";
        f.canary.status.last_promoted_spec = *row->promoted ? info.hash : "";
        assert_int_equal(fixture_run(&f, service()->own_services(f.tick, &info)), VERDICT_GO);
        assert_int_equal(f.tick->plan->count, row->follows);
    }
}

/* Owner, addresses and what others wrote stay the primary's own. */
CASE(test_promote)
{
    struct fixture f = fixture_new("{'spec':{" SERVICE "}}");
    bool same = true;

    fixture_put(&f, "services/podinfo-primary",
                "{'metadata':{'resourceVersion':'9','labels':{'theirs':'1'}," OWNER "},'spec':{"
                "'type':'LoadBalancer','selector':{'app':'blue'}," ADDRESS(
                    "3") ",'ports':[{'name':"
                         "'http','port':80,'protocol':'TCP','targetPort':9898,'nodePort':30005}],"
                         "'healthCheckNodePort':30006,'externalTrafficPolicy':'Local'}}");
    struct target_info info = read_target(&f, TARGET);
    assert_false(service()->is_promoted(f.tick, &info));
    assert_int_equal(service()->compare(f.tick, &info, &same), VERDICT_GO);
    assert_false(same);
    assert_int_equal(fixture_run(&f, service()->promote(f.tick, &info)), VERDICT_GO);
    assert_string_equal(effect_text(&f, 0),
                        "{'metadata':{'annotations':{'keep/a':'1'},'labels':{'keep/l':'1'},"
                        "'resourceVersion':'9'},'spec':{'selector':{'app':'green'}}}");
    /* once more changes nothing */
    json_set(f.objects, "services/podinfo-primary",
             json_merge(f.arena, json_at(f.objects, "services/podinfo-primary", NULL),
                        f.tick->plan->first->body));
    info = read_target(&f, TARGET);
    assert_true(service()->is_promoted(f.tick, &info));
    assert_int_equal(fixture_run(&f, service()->promote(f.tick, &info)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, service()->ensure_primary(f.tick, &info)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
}

CASE(test_nothing_to_scale)
{
    struct fixture f = fixture_new("{'spec':{" SERVICE "}}");
    struct target_info info = read_target(&f, TARGET);
    const char *why;

    service()->scale_to_zero(f.tick, &info);
    service()->scale_from_zero(f.tick, &info, 3);
    service()->restore(f.tick, &info, 3);
    assert_int_equal(f.tick->plan->count, 0);
    assert_int_equal(service()->ready(f.tick, &info, SIDE_CANARY, &why), READY);
    assert_true(service()->serves(&info, SIDE_CANARY));
    assert_false(service()->serves(&info, SIDE_PRIMARY));
    assert_false(service()->has_replicas);
}
