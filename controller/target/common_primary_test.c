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

    primary_rewrite_affinity(f.tick, json_sub(template, "spec"), "podinfo", "podinfo-primary");
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
