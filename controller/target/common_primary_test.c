#include "target/common_primary.h"

#include "tick/edit.h"
#include "tick/fixture_test.h"

static struct target_info info_of(struct fixture *f, const char *deployment)
{
    struct target_info info = {.object = fixture_json(f->arena, deployment), .hash = "abc"};

    f->tick = tick_new(f->arena, &f->canary, &f->settings, 0, true);
    info.configs = edit_object(f->arena);
    info.template = edit_overlay(f->arena, NULL, json_at(info.object, "spec", "template", NULL));
    assert_true(primary_selector(f->tick, info.object, &info));
    return info;
}

CASE(test_template)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = info_of(
        &f,
        "{'metadata':{'labels':{'keep/a':'1','b':'2'}},'spec':{'selector':{'matchLabels':{'app':"
        "'web'}},'template':{'metadata':{'labels':{'app':'web','tier':'x',"
        "'kustomize.toolkit.fluxcd.io/name':'k'},'annotations':{'note':'1','flagger-id':'old'}},"
        "'spec':{'topologySpreadConstraints':[{'labelSelector':{'matchLabels':{'app':'podinfo',"
        "'tier':'podinfo'}}}],'affinity':{'podAntiAffinity':{"
        "'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{"
        "'matchExpressions':[{'key':'app','operator':'In','values':['x','podinfo','podinfo']},{"
        "'key':'tier','operator':'In','values':['podinfo']}]}}],"
        "'preferredDuringSchedulingIgnoredDuringExecution':[{'podAffinityTerm':{"
        "'labelSelector':{'matchLabels':{'name':'podinfo'}}}}]},'podAffinity':{"
        "'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{'matchLabels':{"
        "'app':'podinfo'}}}]}}}}}}");
    const char *before = json_text(f.arena, info.object);
    struct json_object *template = primary_template(f.tick, &info);

    primary_rewrite_affinity(f.tick, &info, json_sub(template, "spec"), true);
    assert_string_equal(json_str_at(template, "metadata", "annotations", PRIMARY_ID, NULL),
                        primary_id(f.tick, &info));
    json_object_object_del(json_at(template, "metadata", "annotations", NULL), PRIMARY_ID);
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, json_at(template, "metadata", NULL))),
        "{'annotations':{'note':'1'},'labels':{'app':'web-primary','tier':'x'}}");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, json_at(template, "spec", NULL))),
        "{'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
        "'labelSelector':{'matchLabels':{'app':'podinfo'}}}]},'podAntiAffinity':{"
        "'preferredDuringSchedulingIgnoredDuringExecution':[{'podAffinityTerm':{'labelSelector':{"
        "'matchLabels':{'name':'podinfo-primary'}}}}],"
        "'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{'matchExpressions':[{"
        "'key':'app','operator':'In','values':['x','podinfo-primary','podinfo']},{'key':'tier',"
        "'operator':'In','values':['podinfo']}]}}]}},'topologySpreadConstraints':[{"
        "'labelSelector':{'matchLabels':{'app':'podinfo-primary','tier':'podinfo'}}}]}");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, primary_labels(f.tick, &info))),
        "{'keep/a':'1'}");
    assert_string_equal(json_text(f.arena, info.object), before);
}

/* What a term selects of the target's pods it selects of the primary's, by whatever labels; what it
 * selects of others stays. */
CASE(test_terms_of_several_labels)
{
    static const struct {
        const char *term, *primary;
    } cases[] = {
        {"{'labelSelector':{'matchLabels':{'app':'shop','part':'api'}}}",
         "{'labelSelector':{'matchLabels':{'app':'shop-primary','part':'api'}}}"},
        {"{'labelSelector':{'matchLabels':{'app':'shop'}}}",
         "{'labelSelector':{'matchLabels':{'app':'shop-primary'}}}"},
        {"{'labelSelector':{'matchLabels':{'app':'shop','part':'worker'}}}", NULL},
        {"{'labelSelector':{'matchLabels':{'part':'api'}}}", NULL},
        {"{'labelSelector':{'matchExpressions':[{'key':'app','operator':'In','values':['a','shop']}"
         "]"
         ",'matchLabels':{'part':'api'}}}",
         "{'labelSelector':{'matchExpressions':[{'key':'app','operator':'In','values':['a','shop-"
         "primary']}],'matchLabels':{'part':'api'}}}"},
        {"{'labelSelector':{'matchExpressions':[{'key':'app','operator':'In','values':['shop']},{"
         "'key':'part','operator':'NotIn','values':['api']}]}}",
         NULL},
        {"{'labelSelector':{'matchLabels':{'app':'shop'}},'namespaces':['other']}", NULL},
        {"{'labelSelector':{'matchLabels':{'app':'shop'}},'namespaces':['other','test']}",
         "{'labelSelector':{'matchLabels':{'app':'shop-primary'}},'namespaces':['other','test']}"},
        {"{}", NULL},
    };
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};

    EACH_ROW (row, cases) {
        for (size_t k = 0; k < 2; k++) {
            struct fixture f = fixture_new(NULL);
            struct target_info info = info_of(
                &f, "{'spec':{'selector':{'matchLabels':{'app':'shop','part':'api'}},'template':{"
                    "'metadata':{'labels':{'app':'shop','part':'api'}}}}}");
            const char *spec = arena_printf(
                f.arena, "{'affinity':{'%s':{'requiredDuringSchedulingIgnoredDuringExecution':[",
                kinds[k]);
            const char *before = arena_printf(f.arena, "%s%s]}}}", spec, row->term);
            const char *after =
                arena_printf(f.arena, "%s%s]}}}", spec, row->primary ? row->primary : row->term);
            struct json_object *tree = fixture_json(f.arena, before);
            primary_rewrite_affinity(f.tick, &info, tree, true);
            assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, tree)), after);
            primary_rewrite_affinity(f.tick, &info, tree, false);
            assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, tree)), before);
        }
    }
}

/* Which labels Services of both sides select by, beside a primary of before. */
CASE(test_pods_of_a_side)
{
#define TEMPLATE(labels) "'template':{'metadata':{'labels':{" labels "}}}"
#define ONE              "'spec':{'selector':{'matchLabels':{'app':'shop-primary'}},"
    static const struct {
        const char *primary, *live, *selects;
    } cases[] = {
        {NULL, NULL, "{'app':'shop-primary','part':'api'}"},
        /* made by Flagger; its pods have the other label as well */
        {"{" ONE TEMPLATE("'app':'shop-primary','part':'api'") "},'status':{'replicas':2,"
                                                               "'updatedReplicas':2}}",
         NULL, "{'app':'shop-primary','part':'api'}"},
        /* ... not all of them yet */
        {"{" ONE TEMPLATE("'app':'shop-primary','part':'api'") "},'status':{'replicas':3,"
                                                               "'updatedReplicas':2}}",
         NULL, "{'app':'shop-primary'}"},
        {"{'metadata':{'generation':2}," ONE TEMPLATE(
             "'app':'shop-primary','part':'api'") "},"
                                                  "'status':{'replicas':2,'updatedReplicas':2,'"
                                                  "observedGeneration':1}}",
         NULL, "{'app':'shop-primary'}"},
        /* ... but all of those that run when it was selected by before */
        {"{" ONE TEMPLATE("'app':'shop-primary','part':'api'") "},'status':{'replicas':3,"
                                                               "'updatedReplicas':2}}",
         "{'app':'shop-primary','part':'api'}", "{'app':'shop-primary','part':'api'}"},
        /* ... none of them */
        {"{" ONE TEMPLATE("'app':'shop-primary'") "},'status':{'replicas':2,'updatedReplicas':2}}",
         NULL, "{'app':'shop-primary'}"},
        /* a target that was made anew with another value */
        {"{'spec':{'selector':{'matchLabels':{'app':'shop-primary','part':'web'}}," TEMPLATE(
             "'app':'shop-primary','part':'web'") "}}",
         NULL, "{'app':'shop-primary','part':'web'}"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info =
            info_of(&f, "{'spec':{'selector':{'matchLabels':{'app':'shop','part':'api'}},"
                        "'template':{'metadata':{'labels':{'app':'shop','part':'api'}}}}}");
        info.primary = row->primary ? fixture_json(f.arena, row->primary) : NULL;
        struct json_object *live = row->live ? fixture_json(f.arena, row->live) : NULL;
        assert_string_equal(
            fixture_quoted(&f, json_text_sorted(f.arena, primary_pods(f.tick, &info, true, live))),
            row->selects);
        assert_string_equal(
            fixture_quoted(&f, json_text_sorted(f.arena, primary_pods(f.tick, &info, false, live))),
            "{'app':'shop','part':'api'}");
    }
}

/* The primary that is there says by which label it is told from its target, whatever the settings
 * say now. */
CASE(test_label_of_a_live_primary)
{
    static const struct {
        const char *primary, *label;
    } cases[] = {
        {NULL, "app"},
        {"{'spec':{'selector':{'matchLabels':{'app':'shop-primary'}}}}", "app"},
        {"{'spec':{'selector':{'matchLabels':{'deploy':'shop-primary'}}}}", "deploy"},
        {"{'spec':{'selector':{'matchLabels':{'deploy':'shop-primary','app':'shop'}}}}", "deploy"},
        {"{'spec':{'selector':{'matchLabels':{'deploy':'other-primary'}}}}", "app"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {0};
        struct json_object *target = fixture_json(
            f.arena, "{'spec':{'selector':{'matchLabels':{'app':'shop','deploy':'shop'}}}}");
        f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
        info.primary = row->primary ? fixture_json(f.arena, row->primary) : NULL;
        assert_true(primary_selector(f.tick, target, &info));
        assert_string_equal(info.label, row->label);
    }
}

CASE(test_id_follows_from_what_is_promoted)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info =
        info_of(&f, "{'spec':{'selector':{'matchLabels':{'name':'x'}},'template':{}}}");
    const char *first = primary_id(f.tick, &info);

    assert_string_equal(info.label, "name");
    assert_int_equal(strlen(first), 36);
    assert_string_equal(primary_id(f.tick, &info), first);
    json_set_str(info.configs, "configmap/a", "1");
    const char *second = primary_id(f.tick, &info);
    assert_string_not_equal(second, first);
    info.hash[0] = 'x';
    assert_string_not_equal(primary_id(f.tick, &info), second);
}

CASE(test_ports)
{
    static const char spec[] =
        "{'containers':[{'name':'app','ports':[{'containerPort':9898,'name':'http'},{"
        "'containerPort':9797,'name':'metrics'},{'containerPort':80}]},{'name':'istio-proxy',"
        "'ports':[{'containerPort':15090}]}]}";
    static const struct {
        const char *patch, *ports;
    } cases[] = {
        {NULL, "metrics 9797 tcp-app-2 80 "},
        {"{'spec':{'service':{'targetPort':'metrics'}}}", "http 9898 tcp-app-2 80 "},
        {"{'spec':{'service':{'targetPort':null}}}", "http 9898 metrics 9797 "},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(row->patch);
        const char *text = "";
        f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
        struct json_object *ports = primary_ports(f.tick, fixture_json(f.arena, spec));
        for (size_t p = 0; p < json_len(ports); p++)
            text = arena_printf(f.arena, "%s%s %d ", text,
                                json_str_at(json_elem(ports, p), "name", NULL),
                                (int)json_int_at(json_elem(ports, p), 0, "port", NULL));
        assert_string_equal(text, row->ports);
    }
}
