#include "tick/edit.h"

#include "tick/fixture_test.h"

CASE(test_overlay)
{
    static const struct {
        const char *live, *wanted, *out;
    } cases[] = {
        {"{}", "{'a':1}", "{'a':1}"},
        {"{'a':1,'b':2}", "{'a':3}", "{'a':3,'b':2}"},
        {"{'a':1,'b':2}", "{'a':null}", "{'b':2}"},
        {"{'a':{'x':1,'y':2}}", "{'a':{'x':3}}", "{'a':{'x':3,'y':2}}"},
        {"{'a':'text'}", "{'a':{'x':3,'y':null}}", "{'a':{'x':3}}"},
        {"{'a':[{'x':1,'y':2}]}", "{'a':[{'x':3}]}", "{'a':[{'x':3,'y':2}]}"},
        {"{'a':[{'x':1},{'y':2}]}", "{'a':[{'x':3,'z':null}]}", "{'a':[{'x':3}]}"},
        {"{'a':[1,2]}", "{'a':[3,4]}", "{'a':[3,4]}"},
        {"{'a':[]}", "{'a':[]}", "{'a':[]}"},
    };
    struct fixture f = fixture_new(NULL);

    EACH_ROW (row, cases) {
        struct json_object *live = fixture_json(f.arena, row->live);
        const char *before = json_text(f.arena, live);
        struct json_object *out = edit_overlay(f.arena, live, fixture_json(f.arena, row->wanted));
        assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, out)), row->out);
        assert_string_equal(json_text(f.arena, live), before);
    }
}

CASE(test_metadata)
{
    struct fixture f = fixture_new(NULL);
    struct json_object *map = fixture_json(
        f.arena, "{'keep/a':'1','other':'2','kustomize.toolkit.fluxcd.io/name':'3',"
                 "'argocd.argoproj.io/tracking-id':'4','meta.helm.sh/release-name':'5'}");

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, edit_without_gitops(f.arena, map))),
        "{'keep/a':'1','other':'2'}");
    assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, edit_included(f.tick, map))),
                        "{'keep/a':'1'}");
    assert_int_equal(json_object_object_length(edit_included(f.tick, NULL)), 0);
    f.settings.include_label_prefixes = (const char *const[]){"*", NULL};
    map = fixture_json(f.arena, "{'app.kubernetes.io/instance':'1','app.kubernetes.io/name':'2'}");
    assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, edit_included(f.tick, map))),
                        "{'app.kubernetes.io/name':'2'}");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, edit_new(f.tick, &kube_services, "a"))),
        "{'apiVersion':'v1','kind':'Service','metadata':{'name':'a','namespace':'test',"
        "'ownerReferences':[{'apiVersion':'flagger.app/v1beta1','blockOwnerDeletion':true,"
        "'controller':true,'kind':'Canary','name':'podinfo','uid':'c-1'}]}}");
}

CASE(test_ownership)
{
    static const struct {
        const char *owners;
        bool owned;
    } cases[] = {
        {"[]", false},
        {"[{'kind':'Canary','name':'podinfo','controller':true}]", true},
        {"[{'kind':'Canary','name':'podinfo'}]", false},
        {"[{'kind':'Canary','name':'other','controller':true}]", false},
        {"[{'kind':'App','name':'podinfo','controller':true}]", false},
    };
    struct fixture f = fixture_new(NULL);

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
    EACH_ROW (row, cases) {
        const char *object =
            arena_printf(f.arena, "{'metadata':{'ownerReferences':%s}}", row->owners);
        assert_int_equal(edit_is_owned(f.tick, fixture_json(f.arena, object)), row->owned);
    }
}

CASE(test_released)
{
    static const struct {
        const char *live;
        bool managed;
        const char *out;
    } cases[] = {
        {"{'ownerReferences':[{'apiVersion':'flagger.app/v1beta1','kind':'Canary','name':'podinfo',"
         "'uid':'c-1'}]}",
         true, "{}"},
        {"{'ownerReferences':[{'apiVersion':'v1','kind':'Canary','name':'podinfo'},{'apiVersion':"
         "'flagger.app/v1alpha3','kind':'Canary','name':'podinfo','uid':'older'},{'apiVersion':"
         "'flagger.app/v1beta1','kind':'Canary','name':'other'}]}",
         true,
         "{'ownerReferences':[{'apiVersion':'v1','kind':'Canary','name':'podinfo'},{'apiVersion':"
         "'flagger.app/v1beta1','kind':'Canary','name':'other'}]}"},
        {"{'annotations':{'flagger.app/applied':'{}'}}", false, "{}"},
        {"{'annotations':{'mine':'1','helm.toolkit.fluxcd.io/driftDetection':'disabled',"
         "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'}}",
         true, "{'annotations':{'mine':'1'}}"},
        {"{'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'disabled'}}", true, "{}"},
        {"{'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'enabled'}}", true,
         "{'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'enabled'}}"},
        {"{'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'disabled'}}", false,
         "{'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'disabled'}}"},
    };
    struct fixture f = fixture_new(NULL);

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
    EACH_ROW (row, cases) {
        struct json_object *live =
            fixture_json(f.arena, arena_printf(f.arena, "{'metadata':%s}", row->live));
        const char *before = json_text(f.arena, live);
        struct json_object *out = edit_released(f.tick, live, row->managed);
        assert_string_equal(
            fixture_quoted(&f, json_text_sorted(f.arena, json_at(out, "metadata", NULL))),
            row->out);
        assert_string_equal(json_text(f.arena, live), before);
    }
}

CASE(test_finalizers)
{
    static const struct {
        const char *object;
        bool has;
        const char *with, *without;
    } cases[] = {
        {"{}", false, "['ours']", "[]"},
        {"{'metadata':{'finalizers':['ours']}}", true, "['ours']", "[]"},
        {"{'metadata':{'finalizers':['a','ours','b']}}", true, "['a','b','ours']", "['a','b']"},
        {"{'metadata':{'finalizers':['a',null]}}", false, "['a',null,'ours']", "['a',null]"},
    };
    struct fixture f = fixture_new(NULL);

    EACH_ROW (row, cases) {
        struct json_object *object = fixture_json(f.arena, row->object);
        assert_int_equal(edit_has_finalizer(object, "ours"), row->has);
        for (int wanted = 0; wanted < 2; wanted++)
            assert_string_equal(
                fixture_quoted(
                    &f, json_text(f.arena, edit_finalizers(f.arena, object, "ours", wanted))),
                wanted ? row->with : row->without);
    }
}
