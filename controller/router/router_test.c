#include "router/router.h"

#include <stdio.h>

#include "metric/family.h"
#include "tick/fixture_test.h"

CASE(test_every_row_is_whole)
{
    assert_non_null(router_table[0]);
    for (size_t i = 0; router_table[i]; i++) {
        const struct router *router = router_table[i];
        assert_non_null(router->providers[0]);
        assert_non_null(router->resources[0]);
        assert_true(*router->about);
        assert_non_null(router->check);
        assert_non_null(router->reconcile);
        assert_non_null(router->get);
        assert_non_null(router->settled);
        assert_non_null(router->set);
        assert_non_null(router->revert);
        assert_non_null(router->disown);
        assert_non_null(metric_family_find(router->metric_family));
        for (size_t p = 0; router->providers[p]; p++)
            assert_ptr_equal(router_find(router->providers[p]), router);
    }
}

CASE(test_names)
{
    static const struct {
        const char *provider, *version; /* version of the last resource; NULL if not served */
    } cases[] = {
        {"kubernetes", "v1"},
        {"gatewayapi:v1", "v1"},
        {"gatewayapi:v1.2", "v1"},
        {"gatewayapi:v1beta1", "v1beta1"},
        {"gatewayapi", NULL},
        {"istio", "v1"},
        {"istio:v1", NULL},
        {"", NULL},
        {NULL, NULL},
        {"kubernetes:service", NULL},
    };

    EACH_ROW (row, cases) {
        const struct router *router = router_find(row->provider);
        if (!row->version) {
            assert_null(router);
            continue;
        }
        assert_non_null(router);
        size_t last = 0;
        while (router->resources[last + 1])
            last++;
        assert_string_equal(router->resources[last]->version, row->version);
    }
}

/* The first of the versions that a cluster serves is used: the newest, unless the provider names
 * one. */
CASE(test_versions)
{
    static const struct {
        const char *provider, *versions; /* versions of the last resource */
    } cases[] = {
        {"istio", "v1 v1beta1 v1alpha3"},
        {"gatewayapi:v1", "v1 v1beta1"},
        {"gatewayapi:v1beta1", "v1beta1 v1"},
        {"traefik", "v1alpha1 v1alpha1"},
        {"linkerd", "v1alpha1"}, /* with weights as strings */
        {"osm", "v1alpha2 v1alpha4 v1alpha3"},
        {"smi:v1alpha2", "v1alpha2 v1alpha4 v1alpha3"},
        {"smi:v1alpha3", "v1alpha3 v1alpha4 v1alpha2"},
    };

    EACH_ROW (row, cases) {
        const struct kube_resource *const *at = router_find(row->provider)->resources;
        while (at[1])
            at++;
        char text[64];
        size_t len = (size_t)snprintf(text, sizeof(text), "%s", (*at)->version);
        for (const struct kube_version *also = (*at)->also; also && also->group; also++)
            len += (size_t)snprintf(text + len, sizeof(text) - len, " %s", also->version);
        assert_string_equal(text, row->versions);
    }
}
