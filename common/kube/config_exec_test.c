#include "kube/config_exec.h"
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

#define V1 "client.authentication.k8s.io/v1"

static const char *find(const char *const *env, const char *name)
{
    const char *found = NULL;
    size_t len = strlen(name);

    for (; *env; env++) {
        if (strncmp(*env, name, len) != 0 || (*env)[len] != '=')
            continue;
        assert_null(found); /* never twice */
        found = *env + len + 1;
    }
    return found;
}

CASE(the_plugin_is_told)
{
    static const char *const vars[] = {"REGION=north", "HOME=/plugin", NULL};
    struct kube_config config = {.server = "https://h",
                                 .exec_api_version = V1,
                                 .exec_env = vars,
                                 .exec_cluster_config = "{\"audience\":\"me\"}",
                                 .tls = {.ca_pem = "PEM", .server_name = "inner"}};
    setenv("HOME", "/root", 1);
    setenv("OURS", "stays", 1);
    setenv("KUBERNETES_EXEC_INFO", "old", 1);
    const char *const *env = config_exec_env(arena, &config);
    assert_string_equal(find(env, "REGION"), "north");
    assert_string_equal(find(env, "HOME"), "/plugin");
    assert_string_equal(find(env, "OURS"), "stays");
    assert_string_equal(find(env, "KUBERNETES_EXEC_INFO"),
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                        "\",\"spec\":{\"interactive\":false}}");
    config.exec_cluster_info = true;
    env = config_exec_env(arena, &config);
    assert_string_equal(find(env, "KUBERNETES_EXEC_INFO"),
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                        "\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://h\","
                        "\"tls-server-name\":\"inner\",\"certificate-authority-data\":\"UEVN\","
                        "\"config\":{\"audience\":\"me\"}}}}");
    config.exec_env = NULL;
    assert_string_equal(find(config_exec_env(arena, &config), "HOME"), "/root");
    unsetenv("KUBERNETES_EXEC_INFO");
}

CASE(answers)
{
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":"
    static const struct {
        const char *output;
        enum err err;
        const char *token, *cert, *text;
        int64_t expires_ms;
    } cases[] = {
        {HEAD "{\"token\":\"abc\"}}\n", ERR_OK, "abc", NULL, NULL, 0},
        {HEAD "{\"token\":\"abc\",\"expirationTimestamp\":\"1970-01-01T00:00:07Z\"}}", ERR_OK,
         "abc", NULL, NULL, 7000},
        {HEAD "{\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\"}}", ERR_OK, NULL, "C", NULL,
         0},
        {HEAD "{\"clientCertificateData\":\"C\"}}", ERR_DENIED, NULL, NULL, "must come together",
         0},
        {HEAD "{\"token\":\"\"}}", ERR_DENIED, NULL, NULL, "neither token nor", 0},
        {HEAD "{}}", ERR_DENIED, NULL, NULL, "neither token nor", 0},
        {HEAD "{\"token\":\"abc\",\"expirationTimestamp\":\"soon\"}}", ERR_DENIED, NULL, NULL,
         "status.expirationTimestamp: expected an RFC 3339 time", 0},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
         "\"status\":{\"token\":\"abc\"}}",
         ERR_DENIED, NULL, NULL, "expected apiVersion " V1 ", found client.authentication", 0},
        {"{\"kind\":\"Pod\"}", ERR_DENIED, NULL, NULL, "expected an ExecCredential, found Pod", 0},
        {"{}", ERR_DENIED, NULL, NULL, "expected an ExecCredential, found none", 0},
        {"", ERR_DENIED, NULL, NULL, "not JSON (0 bytes)", 0},
        {"s3cret", ERR_DENIED, NULL, NULL, "not JSON (6 bytes)", 0},
    };
    struct kube_config config = {.exec_api_version = V1};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct exec_credential out;
        struct errinfo ei = {0};
        assert_int_equal(
            config_exec_parse(arena, &config, cases[i].output, strlen(cases[i].output), &out, &ei),
            cases[i].err);
        if (cases[i].err != ERR_OK) {
            if (!strstr(ei.text, cases[i].text))
                fail_msg("case %zu: %s", i, ei.text);
            assert_null(strstr(ei.text, "s3cret"));
            continue;
        }
        assert_int_equal(out.expires_ms, cases[i].expires_ms);
        assert_true(cases[i].token ? strcmp(out.token, cases[i].token) == 0 : !out.token);
        assert_true(cases[i].cert ? strcmp(out.cert_pem, cases[i].cert) == 0 : !out.cert_pem);
    }
}
