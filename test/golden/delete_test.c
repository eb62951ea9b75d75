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
    world_free(w);
    return writes;
}

/* Of the writes that a deletion may be cut off before. */
enum { EVERY = 2 * WORLD_EVERY };

static void test_deleted_after_each_write(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *phases = json_own(arena, json_object_new_object());
    static const char *const wanted[] = {
        "none",      "Initializing", "Initialized", "Waiting", "Progressing", "WaitingPromotion",
        "Promoting", "Finalising",   "Succeeded",   "Failed"};
    int deletions = 0;

    for (size_t s = 0; s < deletion_n_stories; s++) {
        int all, writes, ignored;
        world_free(deletion_begin(&deletion_stories[s], -1, &all));
        for (int until = 0; until <= all; until++) {
            struct world *w =
                deletion_begin(&deletion_stories[s], until < all ? until : -1, &ignored);
            note_phase(phases, w);
            writes = end_story(&deletion_stories[s], world_copy(w), -1);
            deletions++;
            for (int crash = until % EVERY; crash < writes; crash += EVERY, deletions++)
                end_story(&deletion_stories[s], world_copy(w), crash);
            world_free(w);
        }
    }
    print_message("%d deletions, most of them cut off\n", deletions);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!json_at(phases, wanted[i], NULL))
            fail_msg("no story was deleted in phase %s", wanted[i]);
    }
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(test_deleted_after_each_write))
