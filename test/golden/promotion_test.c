/*
 * A promotion is one thing: wherever it is cut off, and whatever changes before it goes on, in the
 * end the primary and the copies of its configs are of one revision, or a condition says that they
 * are not.
 */
#include <stdio.h>
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define PRIMARY "deployments/podinfo-primary"
#define COPY    "configmaps/settings-primary"
#define CUTS    4 /* intent, copy, primary, end */

static void color(struct world *w, const char *name)
{
    world_patch(w, "configmaps/settings", arena_printf(w->arena, "{'data':{'color':'%s'}}", name));
}

/* podinfo:1 is red, podinfo:2 blue, and its analysis ends with the next tick. */
static struct world *at_the_end(const char *patch)
{
    struct world *w = world_new(patch);

    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},'data':{"
              "'color':'red'}}");
    world_patch(w, world_key(w, "podinfo"),
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                "'settings'}}]}}}}");
    world_settle(w);
    world_initialise(w);
    world_push(w, "podinfo:2");
    color(w, "blue");
    world_settle(w);
    while (strcmp(world_weights(w), "50/50") != 0) {
        world_tick(w);
        world_settle(w);
        w->now_ms += 60000;
    }
    return w;
}

/* The promotion is cut off before its write of this number. */
static void cut_off(struct world *w, int write)
{
    w->crash_at = w->effects + write;
    for (int i = 0; i < 3 && !w->crashed; i++)
        world_tick(w);
    assert_true(w->crashed);
    w->crash_at = -1;
    w->crashed = false;
}

static const char *primary(struct world *w)
{
    return arena_printf(w->arena, "%s %s", world_image(w, "podinfo-primary"),
                        json_str_at(world_get(w, COPY), "data", "color", NULL));
}

static bool is_told(struct world *w)
{
    return strstr(json_text_sorted(w->arena, w->canary), "PrimaryWhole");
}

static void ends(struct world *w, const char *wanted, int cut)
{
    world_settle(w);
    world_run(w);
    if (strcmp(primary(w), wanted) != 0 || is_told(w) || strcmp(world_phase(w), "Succeeded") != 0)
        fail_msg("cut %d ends in %s with a primary of %s and not %s, told:\n%s", cut,
                 world_phase(w), primary(w), wanted, w->told);
    world_free(w);
}

/* Failed checks and a rollback hook are of the past: the analysis is over. */
static void test_checks_that_fail_after_it(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        struct world *w = at_the_end(NULL);
        cut_off(w, cut);
        if (cut > 0)
            w->metrics = world_json(w, "{'metrics[0]':1}");
        ends(w, "podinfo:2 blue", cut);
    }
}

static void test_another_revision_after_it(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        struct world *w = at_the_end(NULL);
        cut_off(w, cut);
        world_push(w, "podinfo:3");
        color(w, "green");
        ends(w, "podinfo:3 green", cut);
    }
}

static void test_another_config_after_it(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        struct world *w = at_the_end(NULL);
        cut_off(w, cut);
        color(w, "green");
        ends(w, "podinfo:2 green", cut);
    }
}

static void test_the_old_revision_after_it(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        struct world *w = at_the_end(NULL);
        cut_off(w, cut);
        world_push(w, "podinfo:1");
        color(w, "red");
        ends(w, "podinfo:1 red", cut);
    }
}

/* Its new configs stay: that is a revision of its own, which is analysed, also where the copies of
 * the configs are on the primary already. */
static void test_the_old_template_after_it(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        struct world *w = at_the_end(NULL);
        cut_off(w, cut);
        w->told = "";
        world_push(w, "podinfo:1");
        world_settle(w);
        world_run(w);
        assert_non_null(strstr(w->told, "New revision detected!"));
        ends(w, "podinfo:1 blue", cut);
    }
}

static void test_skipped_analysis(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        struct world *w = at_the_end(NULL);
        world_patch_canary(w, "{'spec':{'skipAnalysis':true}}");
        cut_off(w, cut);
        color(w, "green");
        ends(w, "podinfo:2 green", cut);
    }
}

/* The copy is written, the primary is not, and what was analysed is gone: the next revision is the
 * way out, and until it is there a condition says what the primary is. */
static void test_half_of_it_stays_and_is_told(void **state)
{
    struct world *w = at_the_end(NULL);

    cut_off(w, 2);
    assert_string_equal(primary(w), "podinfo:1 blue");
    world_push(w, "podinfo:3");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(primary(w), "podinfo:1 blue");
    assert_true(is_told(w));
    assert_non_null(strstr(w->told, "has a part of revision"));
    assert_string_equal(json_str_at(w->canary, "status", "lastPromotedSpec", NULL), "");
    /* also the spec of before is a revision to release then */
    w->metrics = world_json(w, "{}");
    world_push(w, "podinfo:1");
    color(w, "red");
    ends(w, "podinfo:1 red", 2);
}

/* The same, and the next revision comes before the one of before is done: the primary is still that
 * half. */
static void test_half_of_it_is_still_known(void **state)
{
    struct world *w = at_the_end(NULL);

    cut_off(w, 2);
    world_push(w, "podinfo:1");
    color(w, "red");
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_phase(w), "Progressing");
    assert_true(is_told(w));
    world_push(w, "podinfo:2");
    world_settle(w);
    world_tick(w);
    assert_string_equal(json_str_at(w->canary, "status", "lastPromotedSpec", NULL), "");
    ends(w, "podinfo:2 red", 2);
}

/* A config that is gone keeps the promotion from its end, and nothing is promoted without it. */
static void test_config_that_goes_missing(void **state)
{
    struct world *w = at_the_end(NULL);
    struct json_object *config = world_get(w, "configmaps/settings");
    const char *kept = json_text_sorted(w->arena, config);

    world_tick(w);
    assert_string_equal(world_phase(w), "Promoting");
    world_patch(w, "configmaps/settings", NULL);
    world_tick(w);
    world_tick(w);
    assert_string_equal(primary(w), "podinfo:1 red");
    world_put(w, "configmaps/settings", kept);
    ends(w, "podinfo:2 blue", 1);
}

/* Whoever deletes the primary while it is promoted, and puts the old spec back, has the old
 * revision: the status must not call it the new one. */
static void test_primary_that_is_deleted_meanwhile(void **state)
{
    static const char *const phases[] = {"Promoting", "Finalising"};

    for (int i = 0; i < 2; i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        const char *first = json_str_at(w->canary, "status", "lastPromotedSpec", NULL);
        world_push(w, "podinfo:2");
        for (int n = 0; n < 20 && !world_is_in(w, phases[i]); n++) {
            world_tick(w);
            world_settle(w);
            w->now_ms += 60000;
        }
        world_patch(w, PRIMARY, NULL);
        world_push(w, "podinfo:1");
        world_settle(w);
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
        assert_string_equal(json_str_at(w->canary, "status", "lastPromotedSpec", NULL), first);
        assert_string_equal(json_str_at(w->canary, "status", "lastAppliedSpec", NULL), first);
        world_free(w);
    }
}

/* ... and whoever changes the mind once more gets that: the primary, which has been made anew from
 * the old spec meanwhile, is promoted once more. */
static void test_primary_that_is_deleted_and_is_the_old_one(void **state)
{
    static const char *const phases[] = {"Promoting", "Finalising"};
    static const char *const next[] = {"podinfo:2", "podinfo:3"};

    for (int i = 0; i < 4; i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        world_push(w, "podinfo:2");
        for (int n = 0; n < 20 && !world_is_in(w, phases[i % 2]); n++) {
            world_tick(w);
            world_settle(w);
            w->now_ms += 60000;
        }
        world_patch(w, PRIMARY, NULL);
        world_push(w, "podinfo:1");
        world_tick(w);
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
        world_push(w, next[i / 2]);
        world_settle(w);
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(world_image(w, "podinfo-primary"), next[i / 2]);
        assert_string_equal(json_str_at(w->canary, "status", "lastPromotedSpec", NULL),
                            json_str_at(w->canary, "status", "lastAppliedSpec", NULL));
        world_free(w);
    }
}

UNIT_MAIN(cmocka_unit_test(test_checks_that_fail_after_it),
          cmocka_unit_test(test_another_revision_after_it),
          cmocka_unit_test(test_another_config_after_it),
          cmocka_unit_test(test_the_old_revision_after_it),
          cmocka_unit_test(test_the_old_template_after_it), cmocka_unit_test(test_skipped_analysis),
          cmocka_unit_test(test_half_of_it_stays_and_is_told),
          cmocka_unit_test(test_half_of_it_is_still_known),
          cmocka_unit_test(test_config_that_goes_missing),
          cmocka_unit_test(test_primary_that_is_deleted_meanwhile),
          cmocka_unit_test(test_primary_that_is_deleted_and_is_the_old_one))
