/* gauges: what a Canary leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/expo.h"
#include "engine/gauges.h"

static void a_deleted_canary_leaves_no_sample(void **state)
{
    (void)state;
    struct canary canary = {
        .name = "web", .namespace_ = "test", .target = {.kind = "Deployment", .name = "podinfo"}};
    struct canary other = canary;
    other.name = "other";
    other.target.name = "other";
    gauges_status(&canary, PHASE_Progressing);
    gauges_weights(&canary, 90, 10);
    gauges_analysis(&canary, "request-success-rate", 99);
    gauges_analysis(&canary, "request-duration", 100);
    gauges_analysis(&other, "request-duration", 100);
    gauges_tick_seconds(&canary, 0.1);
    gauges_outcome(&canary, true, "completed");
    gauges_outcome(&canary, false, "completed");
    gauges_forget("web", "podinfo", "test");
    struct buf out;
    buf_init(&out, 65536);
    expo_write(&out);
    assert_null(strstr(out.data, "web"));
    assert_null(strstr(out.data, "podinfo"));
    assert_non_null(strstr(out.data, "request-duration"));
    buf_fini(&out);
    expo_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_deleted_canary_leaves_no_sample)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
