#include "target/common_past.h"

#include "tick/fixture_test.h"

/* Template of a target named podinfo. */
static const char *const templates[] = {
    "{'metadata':{'labels':{'app':'web'}},'spec':{'containers':[{'name':'a','image':'a:1'}]}}",
    "{'metadata':{'labels':{'app':'web','x.toolkit.fluxcd.io/a':'1'},'annotations':{"
    "'x.toolkit.fluxcd.io/b':'1'}},'spec':{'containers':[{'name':'a','envFrom':[{'configMapRef':{"
    "'name':'c'}}]}],'volumes':[{'name':'v','secret':{'secretName':'s'}}]}}",
    "{'metadata':{'labels':{'app':'web'},'annotations':{'note':'1'}},'spec':{"
    "'nodeSelector':{'disk':'ssd'},"
    "'topologySpreadConstraints':[{'labelSelector':{'matchLabels':{'app':'podinfo'}}}]}}",
};

static struct json_object *created(struct fixture *f, const char *plural)
{
    for (struct effect *effect = f->tick->plan->first; effect; effect = effect->next) {
        if (effect->kind == EFFECT_CREATE && strcmp(effect->resource->plural, plural) == 0)
            return effect->body;
    }
    fail_msg("no %s is created", plural);
    return NULL;
}

/* The hash of the target comes back from the primary that was made of it. */
static void expect_hash(const struct target *target, const char *template)
{
    const char *plural = target->resource->plural;
    struct fixture f = fixture_new(NULL);
    struct target_info info = {0};

    fixture_put(&f, "configmaps/c", "{'metadata':{'name':'c'},'data':{}}");
    fixture_put(&f, "secrets/s", "{'metadata':{'name':'s'},'type':'Opaque'}");
    fixture_put(&f, arena_printf(f.arena, "%s/podinfo", plural),
                arena_printf(f.arena,
                             "{'metadata':{'name':'podinfo'},'spec':{'selector':{'matchLabels':{"
                             "'app':'web'}},'template':%s}}",
                             template));
    assert_int_equal(fixture_run(&f, target->read(f.tick, &info)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, target->ensure_primary(f.tick, &info)), VERDICT_GO);
    info.primary = created(&f, plural);
    assert_string_equal(target->primary_hash(f.tick, &info), info.hash);
    char own[SPECHASH_TEXT];
    assert_int_equal(target->revision(f.arena, info.object, own, NULL), ERR_OK);
    assert_string_equal(own, info.hash);
    json_set_str(json_at(info.primary, "spec", "template", "metadata", "labels", NULL), "more",
                 "1");
    assert_string_not_equal(target->primary_hash(f.tick, &info), info.hash);
}

CASE(test_hash_of_the_primary)
{
    EACH_ROW (row, templates) {
        expect_hash(target_find("apps/v1", "Deployment"), *row);
        expect_hash(target_find("apps/v1", "DaemonSet"), *row);
    }
}

#define AT(time) "'time':'" time "','fieldsV1':{'f:spec':{'f:template':{}}}"

CASE(test_age_of_the_template)
{
    /* asked for 2026-01-02T00:00:00Z */
    static const struct {
        const char *object;
        bool untouched;
    } cases[] = {
        {"{}", false},
        {"{'metadata':{'managedFields':[{" AT("2026-01-01T23:59:59Z") "}]}}", true},
        {"{'metadata':{'managedFields':[{" AT("2026-01-02T00:00:00Z") "}]}}", false},
        {"{'metadata':{'managedFields':[{" AT("2026-01-01T00:00:00Z") "},{" AT(
             "2026-01-03T00:00:00Z") "}]}}",
         false},
        {"{'metadata':{'managedFields':[{" AT("2026-01-01T00:00:00Z") "},{'time':"
                                                                      "'2026-01-03T00:00:00Z',"
                                                                      "'fieldsV1':{'f:spec':{"
                                                                      "'f:replicas':{}}}}]}}",
         true},
        {"{'metadata':{'managedFields':[{" AT("soon") "}]}}", false},
        {"{'metadata':{'generation':2,'managedFields':[{" AT(
             "2026-01-01T00:00:00Z") "}]},'status':{'observedGeneration':1}}",
         false},
        {"{'status':{'conditions':[{'type':'Progressing','lastUpdateTime':"
         "'2026-01-01T00:00:00Z'}]}}",
         true},
        {"{'status':{'conditions':[{'type':'Progressing','lastUpdateTime':"
         "'2026-01-03T00:00:00Z'}]}}",
         false},
        {"{'status':{'conditions':[{'type':'Available','lastUpdateTime':"
         "'2026-01-01T00:00:00Z'}]}}",
         false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f = fixture_new(NULL);
        struct target_info info = {.object = fixture_json(f.arena, cases[i].object)};
        if (past_untouched_since(f.tick, &info, 1767312000000) != cases[i].untouched)
            fail_msg("case %zu", i);
    }
}
