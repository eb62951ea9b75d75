#include "target/common_configs.h"

#include "tick/fixture_test.h"

static const char pod[] =
    "{'volumes':[{'configMap':{'name':'c-vol'}},{'secret':{'secretName':'s-vol'}},{'projected':{"
    "'sources':[{'configMap':{'name':'c-proj','optional':true}},{'secret':{'name':'s-proj'}}]}}],"
    "'containers':[{'env':[{'valueFrom':{'configMapKeyRef':{'name':'c-env','key':'k'}}},{'value':"
    "'x'}],'envFrom':[{'secretRef':{'name':'s-from'}}]}],'initContainers':[{'envFrom':[{"
    "'configMapRef':{'name':'c-init'}}],'env':[{'valueFrom':{'secretKeyRef':{'name':'s-env','key':"
    "'k','optional':true}}}]}]}";

static void put_all(struct fixture *f)
{
    static const char *const maps[] = {"c-vol", "c-proj", "c-env", "c-init"};
    static const char *const secrets[] = {"s-vol", "s-proj", "s-from", "s-env"};

    for (size_t i = 0; i < 4; i++) {
        fixture_put(f, arena_printf(f->arena, "configmaps/%s", maps[i]), "{'data':{'a':'1'}}");
        fixture_put(f, arena_printf(f->arena, "secrets/%s", secrets[i]),
                    "{'type':'Opaque','data':{'a':'MQ=='}}");
    }
}

static const char *tracked(struct fixture *f, const struct target_info *info)
{
    const char *out = "";

    json_object_object_foreach(info->configs, key, value)
    {
        (void)value;
        out = arena_printf(f->arena, "%s%s ", out, key);
    }
    return out;
}

CASE(test_every_place_that_names_a_config)
{
    struct fixture f = fixture_new(NULL);
    struct json_object *spec = fixture_json(f.arena, pod);
    struct target_info info = {0};

    put_all(&f);
    assert_int_equal(fixture_run(&f, configs_read(f.tick, spec, &info)), VERDICT_GO);
    assert_string_equal(tracked(&f, &info),
                        "configmap/c-env configmap/c-init configmap/c-proj configmap/c-vol "
                        "secret/s-env secret/s-from secret/s-proj secret/s-vol ");
    configs_rename(f.tick, &info, spec);
    const char *renamed = json_text(f.arena, spec);
    static const char *const names[] = {"c-vol", "c-proj", "c-env", "c-init",
                                        "s-vol", "s-proj", "s-env", "s-from"};
    EACH_ROW (row, names)
        assert_non_null(strstr(renamed, arena_printf(f.arena, "\"%s-primary\"", *row)));
    assert_null(strstr(renamed, "primary-primary"));
}

CASE(test_what_is_not_tracked)
{
    static const struct {
        const char *key, *object; /* NULL: missing */
    } cases[] = {
        {"configmaps/c-vol",
         "{'metadata':{'annotations':{'flagger.app/config-tracking':'disabled'}},'data':{}}"},
        {"secrets/s-vol", "{'type':'kubernetes.io/dockerconfigjson'}"},
        {"configmaps/c-proj", NULL},
        {"secrets/s-env", NULL},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {0};
        struct json_object *spec = fixture_json(f.arena, pod);
        put_all(&f);
        json_object_object_del(f.objects, row->key);
        if (row->object)
            fixture_put(&f, row->key, row->object);
        assert_int_equal(fixture_run(&f, configs_read(f.tick, spec, &info)), VERDICT_GO);
        const char *name = strchr(row->key, '/');
        assert_null(strstr(tracked(&f, &info), name));
        assert_int_equal(json_object_object_length(info.configs), 7);
        configs_rename(f.tick, &info, spec);
        assert_null(
            strstr(json_text(f.arena, spec), arena_printf(f.arena, "%s-primary", name + 1)));
    }
}

CASE(test_mandatory_and_missing)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = {0};

    put_all(&f);
    json_object_object_del(f.objects, "secrets/s-from");
    assert_int_equal(fixture_run(&f, configs_read(f.tick, fixture_json(f.arena, pod), &info)),
                     VERDICT_GO);
    assert_string_equal(info.missing, "secret s-from.test get query error: not found");
    assert_string_equal(plan_print(f.tick), "again never\n");
}

CASE(test_tracking_is_off)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = {0};

    f.settings.config_tracking = false;
    assert_int_equal(fixture_run(&f, configs_read(f.tick, fixture_json(f.arena, pod), &info)),
                     VERDICT_GO);
    assert_null(info.configs);
    assert_null(info.config_refs);
}

/* Flagger's hash of {"a":"1"} and of no data; binaryData has a key of its own. */
CASE(test_hashes)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = {0};
    struct json_object *spec = fixture_json(
        f.arena, "{'volumes':[{'configMap':{'name':'a'}},{'configMap':{'name':'b'}}]}");
    char hash[CONFIG_HASH_TEXT];

    fixture_put(&f, "configmaps/a", "{'data':{'a':'1'}}");
    fixture_put(&f, "configmaps/b", "{'binaryData':{'x':'MQ=='}}");
    assert_int_equal(fixture_run(&f, configs_read(f.tick, spec, &info)), VERDICT_GO);
    confighash(f.arena, fixture_json(f.arena, "{'a':'1'}"), hash);
    assert_string_equal(json_str_at(info.configs, "configmap/a", NULL), hash);
    confighash(f.arena, NULL, hash);
    assert_string_equal(json_str_at(info.configs, "configmap/b", NULL), hash);
    assert_non_null(json_str_at(info.configs, "configmap/b" CONFIGS_BINARY, NULL));
}

CASE(test_copies)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = {0};
    struct json_object *spec = fixture_json(
        f.arena, "{'volumes':[{'configMap':{'name':'a'}},{'secret':{'secretName':'b'}}]}");

    fixture_put(&f, "configmaps/a",
                "{'metadata':{'labels':{'keep/x':'1','other':'2'}},'data':{'a':'1'},'binaryData':{"
                "'b':'MQ=='}}");
    fixture_put(&f, "secrets/b", "{'type':'Opaque','data':{'k':'MQ=='}}");
    fixture_put(&f, "secrets/b-primary",
                "{'metadata':{'resourceVersion':'5','ownerReferences':[{'kind':'Canary','name':"
                "'other','uid':'c-2','controller':true}]},'type':'Opaque','data':{'old':'MQ=='}}");
    assert_int_equal(fixture_run(&f, configs_read(f.tick, spec, &info)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, configs_copy(f.tick, &info)), VERDICT_GO);
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'apiVersion':'v1','binaryData':{'b':'MQ=='},'data':{'a':'1'},'kind':'ConfigMap',"
        "'metadata':{'labels':{'keep/x':'1'},'name':'a-primary','namespace':'test',"
        "'ownerReferences':[{'apiVersion':'flagger.app/v1beta1','blockOwnerDeletion':true,"
        "'controller':true,'kind':'Canary','name':'podinfo','uid':'c-1'}]}}");
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 1)),
        "{'data':{'k':'MQ==','old':null},'metadata':{'ownerReferences':[{'controller':true,"
        "'kind':'Canary','name':'other','uid':'c-2'},{'apiVersion':'flagger.app/v1beta1',"
        "'blockOwnerDeletion':true,'controller':false,'kind':'Canary','name':'podinfo','uid':'c-1'}"
        "],"
        "'resourceVersion':'5'}}");
}

/* What no patch can do: kind, key and the verbs that do it. */
CASE(test_copies_that_cannot_be_patched)
{
    static const struct {
        const char *key, *source, *copy, *verbs;
    } cases[] = {
        {"configmaps/a", "{'data':{'a':'2'}}", "{'immutable':true,'data':{'a':'1'}}", "DC"},
        {"configmaps/a", "{'immutable':true,'data':{'a':'2'}}",
         "{'immutable':true,'data':{'a':'1'}}", "DC"},
        {"configmaps/a", "{'immutable':true,'binaryData':{'a':'MQ=='}}",
         "{'immutable':true,'binaryData':{'a':'Mg=='}}", "DC"},
        {"configmaps/a", "{'data':{'a':'1'}}", "{'immutable':true,'data':{'a':'1'}}", "DC"},
        /* its labels and owners may still change */
        {"configmaps/a", "{'immutable':true,'data':{'a':'1'}}",
         "{'immutable':true,'data':{'a':'1'}}", "P"},
        /* it becomes immutable with what it then holds */
        {"configmaps/a", "{'immutable':true,'data':{'a':'2'}}", "{'data':{'a':'1'}}", "P"},
        {"secrets/a", "{'type':'kubernetes.io/basic-auth','data':{'a':'Mg=='}}",
         "{'type':'Opaque','data':{'a':'MQ=='}}", "DC"},
        {"secrets/a", "{'immutable':true,'type':'Opaque','data':{'a':'Mg=='}}",
         "{'immutable':true,'type':'Opaque','data':{'a':'MQ=='}}", "DC"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {0};
        struct json_object *spec = fixture_json(
            f.arena, strncmp(row->key, "secrets", 7) == 0
                         ? "{'volumes':[{'secret':{'secretName':'a'}}]}"
                         : "{'volumes':[{'projected':{'sources':[{'serviceAccountToken':{'path':"
                           "'t'}},{'downwardAPI':{}},{'configMap':{'name':'a'}}]}}]}");
        const char *verbs = "";
        fixture_put(&f, row->key, row->source);
        fixture_put(&f, arena_printf(f.arena, "%s-primary", row->key), row->copy);
        struct json_object *metadata =
            json_at(f.objects, arena_printf(f.arena, "%s-primary", row->key), "metadata", NULL);
        json_set_str(metadata, "uid", "u-1");
        json_set_str(metadata, "resourceVersion", "7");
        json_set_str(json_sub(metadata, "annotations"), "mine", "1");
        assert_int_equal(fixture_run(&f, configs_read(f.tick, spec, &info)), VERDICT_GO);
        assert_int_equal(fixture_run(&f, configs_copy(f.tick, &info)), VERDICT_GO);
        const struct effect *effect = f.tick->plan->first;
        for (; effect; effect = effect->next)
            verbs = arena_printf(f.arena, "%s%c", verbs,
                                 effect->kind == EFFECT_DELETE   ? 'D'
                                 : effect->kind == EFFECT_CREATE ? 'C'
                                                                 : 'P');
        assert_string_equal(verbs, row->verbs);
        if (*verbs == 'D') {
            struct json_object *fresh = f.tick->plan->first->next->body;
            assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                                "{'preconditions':{'resourceVersion':'7','uid':'u-1'}}");
            assert_null(json_at(fresh, "metadata", "uid", NULL));
            assert_null(json_at(fresh, "metadata", "resourceVersion", NULL));
            assert_string_equal(json_str_at(fresh, "metadata", "annotations", "mine", NULL), "1");
            assert_non_null(json_at(fresh, "metadata", "ownerReferences", NULL));
            assert_true(json_same(json_at(fresh, "data", NULL),
                                  json_at(f.objects, row->key, "data", NULL)));
            assert_true(json_same(json_at(fresh, "immutable", NULL),
                                  json_at(f.objects, row->key, "immutable", NULL)));
        }
    }
}

CASE(test_compares_the_copies)
{
    static const struct {
        const char *key, *object; /* NULL: missing */
        bool same, same_for_flagger;
    } cases[] = {
        {"configmaps/a-primary", "{'data':{'a':'1'},'binaryData':{'b':'MQ=='}}", true, true},
        {"configmaps/a-primary", "{'data':{'a':'1'},'binaryData':{'b':'Mg=='}}", false, false},
        {"configmaps/a-primary", "{'data':{'a':'1'}}", false, true},
        {"configmaps/a-primary", "{'data':{'a':'2'},'binaryData':{'b':'MQ=='}}", false, false},
        {"configmaps/a-primary", NULL, false, false},
        {"secrets/s-primary", "{'type':'kubernetes.io/tls','data':{'k':'MQ=='}}", false, false},
        {"secrets/s-primary", NULL, false, false},
    };

    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        bool flagger = i % 2; /* wrote the status */
        struct fixture f = fixture_new(flagger ? NULL : "{'status':{'serviceName':'podinfo'}}");
        struct target_info info = {0};
        struct json_object *spec = fixture_json(
            f.arena, "{'volumes':[{'configMap':{'name':'a'}},{'secret':{'secretName':'s'}}]}");
        bool same;
        fixture_put(&f, "configmaps/a", "{'data':{'a':'1'},'binaryData':{'b':'MQ=='}}");
        fixture_put(&f, "secrets/s", "{'type':'Opaque','data':{'k':'MQ=='}}");
        fixture_put(&f, "configmaps/a-primary", "{'data':{'a':'1'},'binaryData':{'b':'MQ=='}}");
        fixture_put(&f, "secrets/s-primary", "{'type':'Opaque','data':{'k':'MQ=='}}");
        json_object_object_del(f.objects, cases[i / 2].key);
        if (cases[i / 2].object)
            fixture_put(&f, cases[i / 2].key, cases[i / 2].object);
        assert_int_equal(fixture_run(&f, configs_read(f.tick, spec, &info)), VERDICT_GO);
        assert_int_equal(fixture_run(&f, configs_compare(f.tick, &info, &same)), VERDICT_GO);
        assert_int_equal(same, flagger ? cases[i / 2].same_for_flagger : cases[i / 2].same);
    }
}
