/* targets: two Canaries of one target are noticed, in whatever order they come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "engine/targets.h"

static void the_first_is_named_to_all_others(void **state)
{
    (void)state;
    struct targets *targets = targets_new();
    assert_null(targets_claim(targets, "test/Deployment/a", "one.test"));
    assert_null(targets_claim(targets, "test/DaemonSet/a", "four.test"));
    assert_string_equal(targets_claim(targets, "test/Deployment/a", "two.test"), "one.test");
    assert_string_equal(targets_claim(targets, "test/Deployment/a", "three.test"), "one.test");
    targets_release(targets, "test/Deployment/a", "one.test");
    assert_non_null(targets_claim(targets, "test/Deployment/a", "one.test"));
    targets_free(targets);
}

static void a_released_target_is_free(void **state)
{
    (void)state;
    struct targets *targets = targets_new();
    assert_null(targets_claim(targets, "t", "one"));
    assert_string_equal(targets_claim(targets, "t", "two"), "one");
    targets_release(targets, "t", "two");
    targets_release(targets, "t", "two");
    targets_release(targets, "t", "one");
    targets_release(targets, NULL, "one");
    assert_null(targets_claim(targets, "t", "three"));
    targets_release(targets, "t", "three");
    targets_free(targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_named_to_all_others),
        cmocka_unit_test(a_released_target_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
