/*
 * Canaries that are deleted: in each phase, after each single write of a release, and cut off
 * before each single write of the reversion. The world checks after each write that whoever gets
 * traffic answers; at the end the app must serve by itself and nothing refer to what has gone.
 */
#include <string.h>

#include "deletion.h"
#include "test/unit.h"

static void note_phase(struct json_object *phases, struct world *w)
{
    const char *phase = world_phase(w);

    json_set_bool(phases, *phase ? phase : "none", true);
}

/* Deletes it there; the reversion is cut off before its write number `crash`. Returns how many it
 * has. */
static int end_story(const struct story *story, struct world *w, int crash)
{
    bool was_routed = world_get(w, "httproutes/podinfo") != NULL;

    world_settle(w);
    w->effects = 0;
    w->crash_at = crash;
    world_delete(w);
    deletion_run(w);
    deletion_check(w, was_routed && !story->bare);
    if (was_routed)
        assert_non_null(world_get(w, "httproutes/podinfo"));
    int writes = w->effects;
    if (was_routed && crash < 0 &&
        !strstr(w->told, "stay Service podinfo, HTTPRoute podinfo; delete what nobody uses"))
        fail_msg("nobody is told what stays:\n%s", w->told);
    world_free(w);
    return writes;
}

/* Of the writes that a deletion may be cut off before. */
enum { EVERY = 2 * WORLD_EVERY };

CASE(test_deleted_after_each_write)
{
    size_t count;
    const struct story *stories = story_read(arena, "deleted", &count);
    struct json_object *phases = json_own(arena, json_object_new_object());
    static const char *const wanted[] = {
        "none",      "Initializing", "Initialized", "Waiting", "Progressing", "WaitingPromotion",
        "Promoting", "Finalising",   "Succeeded",   "Failed"};
    int deletions = 0;

    for (size_t s = 0; s < count; s++) {
        int all, writes, ignored;
        world_free(deletion_begin(&stories[s], -1, &all));
        for (int until = 0; until <= all; until++) {
            struct world *w = deletion_begin(&stories[s], until < all ? until : -1, &ignored);
            note_phase(phases, w);
            writes = end_story(&stories[s], world_copy(w), -1);
            deletions++;
            for (int crash = until % EVERY; crash < writes; crash += EVERY, deletions++)
                end_story(&stories[s], world_copy(w), crash);
            world_free(w);
        }
    }
    print_message("%d deletions, most of them cut off\n", deletions);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!json_at(phases, wanted[i], NULL))
            fail_msg("no story was deleted in phase %s", wanted[i]);
    }
}

/*
 * A Canary that was moved to another target, or there and back, still owns routes of the other
 * name, for the same hosts. The mesh may send requests by them: they go a while before their
 * Services.
 */
CASE(test_routes_of_a_former_name_go_first)
{
    static const char *const moves[][2] = {
        {"{'spec':{'targetRef':{'name':'other'}}}", NULL},
        {"{'spec':{'targetRef':{'name':'other'}}}", "{'spec':{'targetRef':{'name':'podinfo'}}}"},
        {"{'spec':{'service':{'name':'other'}}}", NULL},
        {"{'spec':{'service':{'name':'other'}}}", "{'spec':{'service':{'name':null}}}"},
    };

    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        struct world *w = world_new(NULL);
        const char *left = moves[i][1] ? "other" : "podinfo";
        const char *key = arena_printf(w->arena, "httproutes/%s", left);
        int64_t routed_ms = 0;

        deletion_add_target(w, "other");
        world_initialise(w);
        for (int k = 0; k < 2 && moves[i][k]; k++) {
            world_settle(w);
            world_patch_canary(w, moves[i][k]);
            world_run(w);
        }
        assert_non_null(world_get(w, key));
        world_delete(w);
        for (int k = 0; k < 40 && !w->gone; k++) {
            routed_ms = world_get(w, key) ? w->now_ms : routed_ms;
            world_step(w);
        }
        assert_true(w->gone);
        assert_null(w->lost_route);
        assert_true(w->now_ms - routed_ms >= 60 * 1000);
        world_free(w);
    }
}
