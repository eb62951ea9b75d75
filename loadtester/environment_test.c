/* environment: what tasks see of ours. */

#include "loadtester/environment.h"
#include "test/unit.h"

CASE(only_what_is_named_is_passed)
{
    char *ours[] = {"PATH=/bin",    "SECRET=x", "HELM_DRIVER=secret",
                    "AWS_SECRET=y", "LC_ALL=C", "PATHOLOGICAL=1",
                    "KUBECONFIG=",  "broken",   NULL};
    const char *const more[] = {"AWS_*", "broken", NULL};
    const char *const all[] = {"*", NULL};
    const char *const *env = environment_for_tasks(arena, ours, NULL);
    const char *const usual[] = {"PATH=/bin", "HELM_DRIVER=secret", "LC_ALL=C",
                                 "KUBECONFIG=", NULL};
    for (size_t i = 0; usual[i] || env[i]; i++)
        assert_string_equal(env[i], usual[i]);
    env = environment_for_tasks(arena, ours, more);
    assert_string_equal(env[2], "AWS_SECRET=y");
    assert_string_equal(env[5], "broken");
    assert_null(env[6]);
    env = environment_for_tasks(arena, ours, all);
    assert_string_equal(env[7], "broken");
    assert_null(env[8]);
}
