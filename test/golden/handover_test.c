/*
 * Two Canaries of one target: the one that comes later touches nothing, and when the first is
 * deleted it goes on with what is there. The world checks after each write that whoever gets
 * traffic answers.
 */
#include <string.h>

#include "deletion.h"
#include "test/unit.h"

#define RIVAL "spec.targetRef.name: Deployment/podinfo is looked after by Canary older.test"

/* The same spec under another name, as a GitOps tool creates it. */
static void succeed(struct world *w)
{
    struct json_object *spec = json_at(w->canary, "spec", NULL);

    assert_true(w->gone);
    w->canary = json_copy(
        w->arena, world_json(w, "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{"
                                "'name':'web','namespace':'test','uid':'c-2',"
                                "'resourceVersion':'900','generation':1}}"));
    json_set(w->canary, "spec", spec);
    w->gone = false;
    w->heir = NULL;
    w->closed = "";
    w->metrics = world_json(w, "{}");
}

/* All that has an owner has the new one; what has none was there before either, or is the target's.
 */
static void check_owners(struct world *w)
{
    static const char *const ours[] = {"services/podinfo", "services/podinfo-primary",
                                       "services/podinfo-canary", "httproutes/podinfo"};

    json_object_object_foreach(w->objects, key, object)
    {
        struct json_object *owners = json_at(object, "metadata", "ownerReferences", NULL);
        const char *uid = json_str_at(json_elem(owners, 0), "uid", NULL);
        if (json_len(owners) > 1 || (uid && strcmp(uid, "c-2") != 0) ||
            (!uid && strstr(key, "-primary")))
            fail_msg("%s belongs to the wrong one: %s", key, json_text_sorted(w->arena, object));
        if (json_at(object, "metadata", "annotations", "flagger.app/handed-over-by", NULL))
            fail_msg("%s is still marked", key);
    }
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        struct json_object *one = world_get(w, ours[i]);
        if (one && !json_at(one, "metadata", "ownerReferences", NULL))
            fail_msg("%s belongs to nobody", ours[i]);
    }
}

static void check_end(struct world *w)
{
    const char *phase = world_phase(w);

    assert_true(strcmp(phase, "Initialized") == 0 || strcmp(phase, "Succeeded") == 0);
    assert_string_equal(world_image(w, "podinfo"), world_image(w, "podinfo-primary"));
    if (world_get(w, "httproutes/podinfo"))
        assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    check_owners(w);
}

/* Deletes it at that point and goes on under another name; either is cut off before write `crash`.
 * Returns how many writes there were. */
static int hand_over(struct world *w, int crash)
{
    world_settle(w);
    w->effects = 0;
    w->crash_at = crash;
    w->heir = "web.test";
    world_delete(w);
    deletion_run(w);
    succeed(w);
    world_settle(w);
    world_run(w);
    check_end(w);
    int writes = w->effects;
    world_free(w);
    return writes;
}

/* Of the moments in which it may begin. */
enum { EVERY = 3 * WORLD_EVERY };

CASE(test_handed_over_at_any_time)
{
    int handovers = 0, all, writes, ignored;

    for (size_t s = 0; s < deletion_n_stories; s++) {
        const struct story *story = &deletion_stories[s];
        if (story->image && strstr(story->image, "canary-only"))
            continue; /* its primary never gets ready, whoever looks after it */
        world_free(deletion_begin(story, -1, &all));
        for (int until = (int)(s % EVERY); until <= all; until += EVERY) {
            struct world *w = deletion_begin(story, until < all ? until : -1, &ignored);
            writes = hand_over(world_copy(w), -1);
            handovers++;
            for (int crash = until % 5; crash < writes; crash += 5, handovers++)
                hand_over(world_copy(w), crash);
            world_free(w);
        }
    }
    print_message("%d handovers, most of them cut off\n", handovers);
}

/* At rest nothing is scaled and nothing is routed, in either Canary's time. */
CASE(test_at_rest_only_owners_change)
{
    struct world *w = world_new(NULL);

    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},"
              "'data':{'color':'red'}}");
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
    world_settle(w);
    world_initialise(w);
    w->heir = "web.test";
    world_delete(w);
    expect_tick(w, "patch services test/podinfo handed over\n"
                   "patch services test/podinfo-primary handed over\n"
                   "patch services test/podinfo-canary handed over\n"
                   "patch httproutes test/podinfo handed over\n"
                   "patch configmaps test/settings-primary handed over\n"
                   "patch deployments test/podinfo-primary handed over\n"
                   "status phase=Terminating [Promoted=Unknown]\n"
                   "event Normal Terminating: Terminating canary podinfo.test\n"
                   "again now\n");
    expect_tick(w, "patch canaries test/podinfo without finalizer\n"
                   "event Normal Terminating: Canary web.test goes on with podinfo.test\n"
                   "event Normal Terminating: Terminated canary podinfo.test\n"
                   "again never\n");
    succeed(w);
    expect_tick(w, "patch canaries test/web with finalizer\n"
                   "patch services test/podinfo taken over\n"
                   "patch services test/podinfo-primary taken over\n"
                   "patch services test/podinfo-canary taken over\n"
                   "patch httproutes test/podinfo taken over\n"
                   "patch configmaps test/settings-primary taken over\n"
                   "patch deployments test/podinfo-primary taken over\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    world_run(w);
    assert_int_equal(deletion_replicas(w, "podinfo"), 0);
    check_end(w);
    world_free(w);
}

/* The canary has a share of the traffic, and web.test is to have what the deleted Canary had. */
static struct world *deleted_in_mid_release(void)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (strcmp(world_weights(w), "60/40") != 0) {
        world_tick(w);
        world_settle(w);
        w->now_ms += 60000;
    }
    w->heir = "web.test";
    world_delete(w);
    return w;
}

/* However late, as long as the primary takes the traffic: the pause behind that is no reason to
 * make the target serve. */
CASE(test_late_it_goes_home_as_well)
{
    struct world *w = deleted_in_mid_release();

    w->now_ms += 24 * 60 * 60000;
    deletion_run(w);
    assert_true(w->gone);
    assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    world_free(w);
}

/* The target's revision is not the promoted one: the primary gets all traffic before it changes
 * hands, and the new Canary analyses the revision from the start. */
CASE(test_in_mid_release_the_traffic_goes_home_first)
{
    struct world *w = deleted_in_mid_release();

    world_tick(w);
    assert_string_equal(world_weights(w), "100/0");
    assert_false(w->gone);
    deletion_run(w);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
    assert_null(strstr(w->told, "a revision that was not promoted"));
    w->told = "";
    succeed(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_non_null(strstr(w->told, "Starting canary analysis"));
    check_end(w);
    world_free(w);
}

/* The other one went without a word (its finalizer was taken by hand): what it owned is taken over
 * before the collector has come. */
CASE(test_what_a_dead_canary_owns_is_taken_over)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    w->gone = true;
    succeed(w);
    assert_non_null(strstr(world_tick(w), "patch deployments test/podinfo-primary taken over\n"));
    world_run(w);
    check_end(w);
    world_free(w);
}

/* --- nobody is left */

static void delete_here(struct world *w, bool routed)
{
    w->heir = NULL;
    world_delete(w);
    world_settle(w);
    deletion_run(w);
    deletion_check(w, routed);
    world_free(w);
}

/* The one that goes on is deleted as well, before or after each of its first writes: a deletion
 * like any other. It has had the finalizer since it waited. */
CASE(test_the_other_one_is_deleted_at_once)
{
    int ignored;

    for (size_t s = 0; s < deletion_n_stories; s++) {
        const struct story *story = &deletion_stories[s];
        if (story->image && strstr(story->image, "canary-only"))
            continue;
        for (int write = 0, writes = 1; write <= writes; write += WORLD_EVERY) {
            struct world *w = deletion_begin(story, -1, &ignored);
            bool routed = world_get(w, "httproutes/podinfo") && !story->bare;
            w->heir = "web.test";
            world_delete(w);
            deletion_run(w);
            succeed(w);
            world_patch_canary(w, "{'metadata':{'finalizers':['finalizer.flagger.app']}}");
            w->effects = 0;
            w->crash_at = write;
            world_tick(w);
            writes = w->crashed ? write + 1 : write;
            w->crash_at = -1;
            delete_here(w, routed);
        }
    }
}

/* The other one goes while everything is handed over to it: what was given away is taken back. */
CASE(test_the_other_one_goes_first)
{
    static const char *const patches[] = {NULL, "{'spec':{'revertOnDeletion':false}}"};

    for (int i = 0; i < 2; i++) {
        for (int write = 0; write < 7; write++) {
            struct world *w = world_new(patches[i]);
            world_initialise(w);
            w->heir = "web.test";
            world_tick(w); /* with the finalizer */
            w->effects = 0;
            w->crash_at = write;
            world_delete(w);
            world_tick(w);
            w->crash_at = -1;
            w->heir = NULL;
            deletion_run(w);
            if (!patches[i])
                deletion_check(w, true);
            assert_null(world_get(w, "deployments/podinfo-primary"));
            assert_null(world_get(w, "services/podinfo-canary"));
            world_free(w);
        }
    }
}

/* The other one comes while the deletion is under way already, and the target serves again: what
 * is handed over leads to the primary, for the other one takes the target to zero. */
CASE(test_the_other_one_comes_late)
{
    for (int ticks = 1; ticks < 6; ticks++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        world_delete(w);
        for (int i = 0; i < ticks && !w->gone; i++) {
            world_settle(w);
            world_tick(w);
        }
        bool late = w->gone;
        w->heir = "web.test";
        deletion_run(w);
        assert_true(w->gone);
        if (!late)
            assert_string_equal(deletion_apex(w), "podinfo-primary");
        assert_true(ticks > 1 || !late);
        world_free(w);
    }
}

/* What goes back to the primary is known everywhere an interval after the gateway has taken it
 * over.
 */
CASE(test_the_gateway_takes_its_time)
{
    static const char says[] =
        "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':'infra'},'conditions':[{"
        "'type':'Accepted','status':'True','observedGeneration':%d}]}]}}";

    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (strcmp(world_weights(w), "80/20") != 0)
        deletion_step(w);
    int generation =
        (int)json_int_at(world_get(w, "httproutes/podinfo"), 0, "metadata", "generation", NULL);
    world_patch(w, "httproutes/podinfo", arena_printf(w->arena, says, generation));
    w->heir = "web.test";
    world_delete(w);
    for (int i = 0; i < 4; i++)
        world_tick(w);
    assert_string_equal(world_weights(w), "100/0");
    w->now_ms += 9000; /* the interval of a deletion is ten seconds */
    world_tick(w);
    world_patch(w, "httproutes/podinfo", arena_printf(w->arena, says, generation + 1));
    for (int i = 0; i < 4; i++)
        world_tick(w);
    w->now_ms += 10000;
    world_tick(w);
    assert_false(w->gone);
    w->now_ms += 1000;
    for (int i = 0; i < 4; i++)
        world_tick(w);
    assert_true(w->gone);
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    world_free(w);
}

/* With nobody to go on, it is undone as always. */
CASE(test_without_a_primary_the_target_serves)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch(w, "deployments/podinfo-primary", NULL);
    w->heir = "web.test";
    world_delete(w);
    deletion_run(w);
    assert_true(deletion_replicas(w, "podinfo") >= 1);
    assert_string_equal(deletion_apex(w), "podinfo");
    world_free(w);
}

/* --- the one that comes later */

CASE(test_who_comes_later_touches_nothing)
{
    struct world *w = world_new(NULL);

    world_patch_canary(w, "{'metadata':{'finalizers':null}}");
    w->rival = RIVAL;
    w->barred = true;
    /* but its own finalizer: it may be deleted in the moment in which it goes on */
    expect_tick(w, "patch canaries test/podinfo with finalizer\n"
                   "status [Accepted=False]\n"
                   "event Warning : " RIVAL "\n"
                   "again never\n");
    expect_tick(w, "again never\n");
    w->rival = NULL;
    w->barred = false;
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_null(strstr(world_state(w), "Accepted"));
    world_free(w);
}

/* Both were at work before anybody looked. */
CASE(test_a_running_one_that_is_barred_stops)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_weights(w), "80/20");
    w->rival = RIVAL;
    w->barred = true;
    w->heir = "older.test";
    w->now_ms += 60000;
    assert_null(strstr(world_tick(w), "patch"));
    w->now_ms += 24 * 3600000;
    expect_tick(w, "again never\n");
    /* and when it goes, it leaves what it has made to the other, as it stands */
    world_delete(w);
    deletion_run(w);
    assert_string_equal(world_weights(w), "80/20");
    assert_non_null(world_get(w, "deployments/podinfo-primary"));
    assert_int_equal(deletion_replicas(w, "podinfo"), 2);
    world_free(w);
}

/* An edit reaches for what another Canary has: the release goes on to be guarded. */
CASE(test_an_edit_towards_another_one_is_refused)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    w->now_ms += 60000;
    world_patch_canary(w, "{'spec':{'service':{'name':'taken'}}}");
    w->rival = "spec.service.name: Service/taken is looked after by Canary older.test";
    w->metrics = world_json(w, "{'metrics[0]':1}");
    for (int i = 0; i < 4; i++) {
        world_tick(w);
        world_settle(w);
        w->now_ms += 60000;
    }
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    assert_null(world_get(w, "services/taken"));
    world_free(w);
}
