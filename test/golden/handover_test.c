/*
 * Two Canaries of one target: the one that comes later touches nothing, and when the first is
 * deleted it goes on with what is there. The world checks after each write that whoever gets
 * traffic answers.
 */
#include <string.h>

#include "deletion.h"
#include "test/unit.h"

/* Deletes it at that point and goes on under another name; either is cut off before write `crash`.
 * Returns how many writes there were. */
static int hand_over(struct world *w, int crash)
{
    world_settle(w);
    w->effects = 0;
    w->crash_at = crash;
    w->successor = "web.test";
    world_delete(w);
    deletion_run(w);
    deletion_succeed(w, "web", "{}");
    world_settle(w);
    world_run(w);
    deletion_check_heir(w);
    int writes = w->effects;
    world_free(w);
    return writes;
}

/* Of the moments in which it may begin. */
enum { EVERY = 3 * WORLD_EVERY };

CASE(test_handed_over_at_any_time)
{
    size_t count;
    const struct story *stories = story_read(arena, "deleted", &count);
    int handovers = 0, all, writes, ignored;

    for (size_t s = 0; s < count; s++) {
        const struct story *story = &stories[s];
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

static void delete_here(struct world *w, bool routed)
{
    w->successor = NULL;
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
    size_t count;
    const struct story *stories = story_read(arena, "deleted", &count);
    int ignored;

    for (size_t s = 0; s < count; s++) {
        const struct story *story = &stories[s];
        if (story->image && strstr(story->image, "canary-only"))
            continue;
        for (int write = 0, writes = 1; write <= writes; write += WORLD_EVERY) {
            struct world *w = deletion_begin(story, -1, &ignored);
            bool routed = world_get(w, "httproutes/podinfo") && !story->bare;
            w->successor = "web.test";
            world_delete(w);
            deletion_run(w);
            deletion_succeed(w, "web", "{}");
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
