/* A release tick by tick, as its plans read: from an empty namespace to the promotion, and back when it fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

static void test_initialise(void **state)
{
    struct world *w = world_new(NULL);

    (void)state;
    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    expect_tick(w, "create services test/podinfo -> app=podinfo-primary\n"
                   "create httproutes test/podinfo weights 100/0\n"
                   "again now\n");
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status phase=Initialized canaryWeight=0 failedChecks=0 iterations=0 "
                   "lastAppliedSpec=dccf7d545 trackedConfigs={} lastPromotedSpec=dccf7d545 "
                   "[Promoted=True]\n"
                   "event Normal Initialized: Initialization done! podinfo.test\n"
                   "alert info+: New Deployment detected, initialization completed.\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_initialise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
