

#include "cluster/daemonset.h"
#include "test/unit.h"

static void fits(void **state)
{
    static const struct {
        const char *selector;
        bool fits;
    } cases[] = {
        {"null", true},
        {"{}", true},
        {"{'kubernetes.io/os':'linux'}", true},
        {"{'kubernetes.io/os':'windows'}", false},
        {"{'kubernetes.io/hostname':'sandbox-1'}", true},
        {"{'kubernetes.io/hostname':'sandbox-0'}", false},
        {"{'flagger.app/scale-to-zero':'true'}", false},
        {"{'kubernetes.io/os':'linux','disk':'ssd'}", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_object *selector = json_tokener_parse(cases[i].selector);
        assert_int_equal(daemonset_node_fits(selector, "sandbox-1"), cases[i].fits);
        json_object_put(selector);
    }
}

UNIT_MAIN(cmocka_unit_test(fits))
