/* A Canary that is deleted and whose spec cannot be read: it goes, and all else stays as it is. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

CASE(test_a_spec_that_cannot_be_read)
{
    struct world *w = world_new("{'spec':{'targetRef':null},'metadata':{'deletionTimestamp':"
                                "'2023-11-14T22:13:20Z'}}");
    struct canary canary;
    struct errinfo ei;

    assert_int_equal(revert_view(w->arena, w->canary, &canary, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "spec.targetRef"));
    canary = (struct canary){.name = "podinfo", .namespace_ = "test", .target.kind = ""};
    struct tick *tick = tick_new(w->arena, &canary, &w->settings, w->now_ms, true);
    assert_true(revert_unread(tick, w->canary, ei.text));
    assert_string_equal(
        plan_print(tick),
        arena_printf(w->arena,
                     "patch canaries test/podinfo without finalizer\n"
                     "event Warning : the target and the routes are left as they are, the spec "
                     "cannot be read: %s\nagain never\n",
                     ei.text));
    world_patch_canary(w, "{'metadata':{'deletionTimestamp':null}}");
    assert_false(revert_unread(tick, w->canary, ei.text));
    world_free(w);
}
