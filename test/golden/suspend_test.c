/* A Canary that is suspended: what is edited meanwhile has not begun (moves_test.c resumes it). */
#include "deletion.h"
#include "test/unit.h"
#include "world.h"

/* Deleted while it is suspended: what was edited meanwhile has not begun. */
static void test_deleted_while_suspended(void **state)
{
    static const char *const patches[] = {"{'spec':{'targetRef':{'name':'other'}}}",
                                          "{'spec':{'service':{'name':'web'}}}",
                                          "{'spec':{'provider':'kubernetes'}}"};

    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        struct world *w = world_new(NULL); /* its Service has the name of its target */
        world_initialise(w);
        world_put(w, "deployments/other",
                  "{'metadata':{'name':'other'},'spec':{'replicas':1,'selector':{'matchLabels':{"
                  "'app':'other'}},'template':{'metadata':{'labels':{'app':'other'}},'spec':{"
                  "'containers':[{'name':'podinfod','image':'other:1','ports':[{'name':'http',"
                  "'containerPort':9898}]}]}}}}");
        world_patch_canary(w, "{'spec':{'suspend':true}}");
        world_tick(w);
        world_patch_canary(w, patches[i]);
        world_tick(w);
        world_delete(w);
        world_settle(w);
        deletion_run(w);
        assert_true(w->gone);
        assert_string_equal(deletion_apex(w), "podinfo");
        assert_null(json_at(world_get(w, "services/podinfo"), "metadata", "ownerReferences", NULL));
        world_free(w);
    }
}

UNIT_MAIN(cmocka_unit_test(test_deleted_while_suspended))
