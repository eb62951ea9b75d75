#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "kube/config.h"
#include "test/unit.h"

static int set_up(void **state)
{
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    return 0;
}

static int tear_down(void **state)
{
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

CASE(a_pod)
{
    struct kube_config config;
    struct errinfo ei = {0};

    unit_put("token", "t\n");
    unit_put("ca.crt", "-----BEGIN CERTIFICATE-----\n");
    unit_put("namespace", "flagger-system\n");
    assert_int_equal(config_in_cluster(arena, unit_folder(), &config, &ei), ERR_OK);
    assert_string_equal(config.server, "https://10.0.0.1:443");
    assert_string_equal(config.namespace_, "flagger-system");
    assert_string_equal(config.context, "");
    assert_int_equal(config.auth, KUBE_AUTH_TOKEN_FILE);
    assert_string_equal(config.token_file, unit_path("token"));
    assert_string_equal(config.tls.ca_file, unit_path("ca.crt"));
    assert_false(config.tls.insecure);

    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    assert_int_equal(config_in_cluster(arena, unit_folder(), &config, &ei), ERR_OK);
    assert_string_equal(config.server, "https://[fd00::1]:443");
    unit_put("namespace", " \n");
    assert_int_equal(config_in_cluster(arena, unit_folder(), &config, &ei), ERR_OK);
    assert_string_equal(config.namespace_, "default");
}

CASE(what_is_missing_is_named)
{
    struct kube_config config;
    struct errinfo ei = {0};

    assert_int_equal(config_in_cluster(arena, unit_folder(), &config, &ei), ERR_DENIED);
    assert_non_null(strstr(ei.text, "/token: the service account's token cannot be read"));
    unit_put("token", "t");
    assert_int_equal(config_in_cluster(arena, unit_folder(), &config, &ei), ERR_DENIED);
    assert_non_null(strstr(ei.text, "/ca.crt: "));
    unit_put("ca.crt", "x");
    assert_int_equal(config_in_cluster(arena, unit_folder(), &config, &ei), ERR_OK);
    assert_string_equal(config.namespace_, "default");
    unsetenv("KUBERNETES_SERVICE_PORT");
    assert_int_equal(config_in_cluster(arena, unit_folder(), &config, &ei), ERR_NOT_FOUND);
    assert_non_null(strstr(ei.text, "this is no pod"));
}
