#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "kube/config_parts.h"
#include "test/unit.h"

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/kube_in_cluster_test.XXXXXX");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const files[] = {"token", "ca.crt", "namespace"};
    EACH_ROW (row, files)
        unlink(arena_printf(unit_arena, "%s/%s", dir, *row));
    rmdir(dir);
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void put(const char *name, const char *text)
{
    assert_int_equal(
        file_write(arena_printf(unit_arena, "%s/%s", dir, name), text, strlen(text), 0600, NULL),
        ERR_OK);
}

CASE(a_pod)
{
    struct kube_config config;
    struct errinfo ei = {0};

    put("token", "t\n");
    put("ca.crt", "-----BEGIN CERTIFICATE-----\n");
    put("namespace", "flagger-system\n");
    assert_int_equal(config_in_cluster(arena, dir, &config, &ei), ERR_OK);
    assert_string_equal(config.server, "https://10.0.0.1:443");
    assert_string_equal(config.namespace_, "flagger-system");
    assert_string_equal(config.context, "");
    assert_int_equal(config.auth, KUBE_AUTH_TOKEN_FILE);
    assert_string_equal(config.token_file, arena_printf(arena, "%s/token", dir));
    assert_string_equal(config.tls.ca_file, arena_printf(arena, "%s/ca.crt", dir));
    assert_false(config.tls.insecure);

    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    assert_int_equal(config_in_cluster(arena, dir, &config, &ei), ERR_OK);
    assert_string_equal(config.server, "https://[fd00::1]:443");
    put("namespace", " \n");
    assert_int_equal(config_in_cluster(arena, dir, &config, &ei), ERR_OK);
    assert_string_equal(config.namespace_, "default");
}

CASE(what_is_missing_is_named)
{
    struct kube_config config;
    struct errinfo ei = {0};

    assert_int_equal(config_in_cluster(arena, dir, &config, &ei), ERR_DENIED);
    assert_non_null(strstr(ei.text, "/token: the service account's token cannot be read"));
    put("token", "t");
    assert_int_equal(config_in_cluster(arena, dir, &config, &ei), ERR_DENIED);
    assert_non_null(strstr(ei.text, "/ca.crt: "));
    put("ca.crt", "x");
    assert_int_equal(config_in_cluster(arena, dir, &config, &ei), ERR_OK);
    assert_string_equal(config.namespace_, "default");
    unsetenv("KUBERNETES_SERVICE_PORT");
    assert_int_equal(config_in_cluster(arena, dir, &config, &ei), ERR_NOT_FOUND);
    assert_non_null(strstr(ei.text, "this is no pod"));
}
