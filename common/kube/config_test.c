#include "kube/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/file.h"
#include "test/rows.h"
#include "test/unit.h"

#define PEM "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"

static int set_up(void **state)
{
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    return setenv("HOME", unit_folder(), 1);
}

UNIT_FIXTURE(.set_up = set_up);

static struct kube_config load(const char *list, const char *context, const char *master)
{
    struct kube_config config = {0};
    struct errinfo ei = {0};
    struct kube_config_source source = {.kubeconfig = list, .context = context, .master = master};
    if (kube_config_load(unit_arena, &source, &config, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return config;
}
static const char cluster_a[] = "apiVersion: v1\n"
                                "kind: Config\n"
                                "current-context: ca\n"
                                "contexts:\n"
                                "- name: ca\n"
                                "  context: {cluster: a, user: ua, namespace: test}\n"
                                "- name: cb\n"
                                "  context: {cluster: b, user: ub}\n"
                                "- name: nobody\n"
                                "  context: {cluster: a}\n"
                                "clusters:\n"
                                "- name: a\n"
                                "  cluster:\n"
                                "    server: https://a.example:6443/prefix/\n"
                                "    certificate-authority: certs/ca.crt\n"
                                "    tls-server-name: inner\n"
                                "    proxy-url: http://proxy:3128\n"
                                "users:\n"
                                "- name: ua\n"
                                "  user: {token: secret}\n";

CASE(one_file)
{
    const char *path = unit_put("a", cluster_a);
    struct kube_config config = load(path, NULL, NULL);

    assert_string_equal(config.server, "https://a.example:6443/prefix");
    assert_string_equal(config.namespace_, "test");
    assert_string_equal(config.context, "ca");
    assert_string_equal(config.tls.ca_file, unit_path("certs/ca.crt"));
    assert_string_equal(config.tls.server_name, "inner");
    assert_string_equal(config.proxy, "http://proxy:3128");
    assert_int_equal(config.auth, KUBE_AUTH_TOKEN);
    assert_string_equal(config.token, "secret");

    config = load(path, "nobody", "");
    assert_string_equal(config.namespace_, "default");
    assert_int_equal(config.auth, KUBE_AUTH_NONE);
    assert_string_equal(load(path, NULL, "https://other/").server, "https://other");
    assert_string_equal(load(path, NULL, "localhost:8080").server, "http://localhost:8080");
}

CASE(files_are_merged)
{
    unit_put("a", cluster_a);
    unit_put("b", "current-context: cb\n"
                  "contexts: [{name: ca, context: {cluster: b, user: ub}}]\n"
                  "clusters:\n"
                  "- {name: b, cluster: {server: 'https://b', insecure-skip-tls-verify: true}}\n"
                  "- {name: a, cluster: {server: 'https://loses'}}\n"
                  "users: [{name: ub, user: {username: u, password: p}}]\n");
    const char *list =
        arena_printf(arena, "%s/none:%s/a::%s/b", unit_folder(), unit_folder(), unit_folder());

    /* the first file that sets a name wins */
    assert_string_equal(load(list, NULL, NULL).server, "https://a.example:6443/prefix");
    struct kube_config config = load(list, "cb", NULL);
    assert_string_equal(config.server, "https://b");
    assert_true(config.tls.insecure);
    assert_int_equal(config.auth, KUBE_AUTH_BASIC);
    assert_string_equal(config.username, "u");
    assert_string_equal(config.password, "p");
    list = arena_printf(arena, "%s/b:%s/a", unit_folder(), unit_folder());
    config = load(list, NULL, NULL);
    assert_string_equal(config.context, "cb");

    setenv("KUBECONFIG", list, 1);
    assert_string_equal(load(NULL, NULL, NULL).context, "cb");
    assert_string_equal(load("", NULL, NULL).context, "cb");
    assert_string_equal(load(unit_path("a"), NULL, NULL).context, "ca");
    unsetenv("KUBECONFIG");
}

CASE(the_home_file_is_the_last)
{
    mkdir(unit_path(".kube"), 0700);
    struct kube_config config = load(NULL, NULL, "https://only.master");
    assert_string_equal(config.server, "https://only.master");
    assert_string_equal(config.namespace_, "default");
    unit_put(".kube/config", cluster_a);
    assert_string_equal(load(NULL, NULL, NULL).server, "https://a.example:6443/prefix");
}

CASE(certificates_inline_and_by_path)
{
    const char *pem = base64_encode(arena, PEM, strlen(PEM));
    const char *text = arena_printf(arena,
                                    "current-context: c\n"
                                    "contexts: [{name: c, context: {cluster: c, user: u}},\n"
                                    "           {name: d, context: {cluster: c, user: v}}]\n"
                                    "clusters: [{name: c, cluster: {server: 'https://c', "
                                    "certificate-authority-data: %s, certificate-authority: x}}]\n"
                                    "users: [{name: u, user: {client-certificate-data: %s, "
                                    "client-key-data: %s, token: t}},\n"
                                    "        {name: v, user: {client-certificate: /abs/crt, "
                                    "client-key: rel/key, tokenFile: tok, token: t}}]\n",
                                    pem, pem, pem);
    struct kube_config config = load(unit_put("a", text), NULL, NULL);
    assert_string_equal(config.tls.ca_pem, PEM);
    assert_null(config.tls.ca_file);
    assert_string_equal(config.tls.cert_pem, PEM);
    assert_string_equal(config.tls.key_pem, PEM);
    assert_int_equal(config.auth, KUBE_AUTH_TOKEN);
    config = load(unit_path("a"), "d", NULL);
    assert_string_equal(config.tls.cert_file, "/abs/crt");
    assert_string_equal(config.tls.key_file, unit_path("rel/key"));
    assert_int_equal(config.auth, KUBE_AUTH_TOKEN_FILE);
    assert_string_equal(config.token_file, unit_path("tok"));
}

CASE(plugins)
{
    struct kube_config config = load(
        unit_put(
            "a",
            "current-context: c\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}, {name: d, context: {cluster: c, "
            "user: v}}]\n"
            "clusters:\n"
            "- name: c\n"
            "  cluster:\n"
            "    server: https://c\n"
            "    extensions:\n"
            "    - {name: client.authentication.k8s.io/exec, extension: {audience: me}}\n"
            "users:\n"
            "- name: u\n"
            "  user:\n"
            "    exec:\n"
            "      apiVersion: client.authentication.k8s.io/v1beta1\n"
            "      command: ./bin/login\n"
            "      args: [get, token]\n"
            "      env: [{name: REGION, value: north}]\n"
            "      installHint: install it\n"
            "      provideClusterInfo: true\n"
            "      interactiveMode: IfAvailable\n"
            "- name: v\n"
            "  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: "
            "null}}\n"),
        NULL, NULL);
    assert_int_equal(config.auth, KUBE_AUTH_EXEC);
    assert_string_equal(config.exec_argv[0], unit_path("./bin/login"));
    assert_string_equal(config.exec_argv[1], "get");
    assert_string_equal(config.exec_argv[2], "token");
    assert_null(config.exec_argv[3]);
    assert_string_equal(config.exec_env[0], "REGION=north");
    assert_null(config.exec_env[1]);
    assert_string_equal(config.exec_api_version, "client.authentication.k8s.io/v1beta1");
    assert_string_equal(config.exec_install_hint, "install it");
    assert_true(config.exec_cluster_info);
    assert_string_equal(config.exec_cluster_config, "{\"audience\":\"me\"}");
    config = load(unit_path("a"), "d", NULL);
    assert_string_equal(config.exec_argv[0], "login");
    assert_null(config.exec_argv[1]);
    assert_null(config.exec_env[0]);
    assert_false(config.exec_cluster_info);
}

CASE(mistakes_are_named)
{
    struct json_object *rows = json_elem(rows_read(arena, "common/kube/config_mistakes.yaml"), 0);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i);
        bool missing = json_bool_at(row, false, "missing", NULL);
        struct kube_config config;
        struct errinfo ei = {0};
        struct kube_config_source source = {.kubeconfig =
                                                unit_put("a", json_str_at(row, "text", NULL)),
                                            .context = json_str_at(row, "context", NULL)};
        enum err err = kube_config_load(unit_arena, &source, &config, &ei);
        if (err != (missing ? ERR_NOT_FOUND : ERR_INVALID) ||
            !strstr(ei.text, json_str_at(row, "says", NULL)))
            fail_msg("row %zu: %s: %s", i + 1, err_name(err), ei.text);
    }
}

CASE(what_is_not_there)
{
    struct kube_config config;
    struct errinfo ei = {0};
    struct kube_config_source source = {0};

    assert_int_equal(kube_config_load(unit_arena, &source, &config, &ei), ERR_NOT_FOUND);
    assert_non_null(strstr(ei.text, "no Kubernetes configuration found"));
    source.kubeconfig = unit_path("none");
    assert_int_equal(kube_config_load(unit_arena, &source, &config, &ei), ERR_NOT_FOUND);
    assert_non_null(strstr(ei.text, "/none"));
    source.kubeconfig = arena_printf(arena, "%s/none:%s/nope", unit_folder(), unit_folder());
    assert_int_equal(kube_config_load(unit_arena, &source, &config, &ei), ERR_NOT_FOUND);
    assert_non_null(strstr(ei.text, "none of these kubeconfig files is there"));
    source = (struct kube_config_source){.master = "gopher://x"};
    assert_int_equal(kube_config_load(unit_arena, &source, &config, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "master: expected an http or https URL"));
}

CASE(flags_name_other_entries_than_the_context)
{
    static const char text[] = "current-context: c\n"
                               "contexts: [{name: c, context: {cluster: a, user: u}}]\n"
                               "clusters: [{name: a, cluster: {server: 'https://a'}},\n"
                               "           {name: b, cluster: {server: 'https://b'}}]\n"
                               "users: [{name: u, user: {token: t}},\n"
                               "        {name: v, user: {username: v, password: p}}]\n";
    struct kube_config_source source = {.kubeconfig = unit_put("a", text), .cluster = "b"};
    struct kube_config config;
    struct errinfo ei = {0};

    assert_int_equal(kube_config_load(arena, &source, &config, &ei), ERR_OK);
    assert_string_equal(config.server, "https://b");
    assert_string_equal(config.token, "t");
    source = (struct kube_config_source){.kubeconfig = source.kubeconfig, .user = "v"};
    assert_int_equal(kube_config_load(arena, &source, &config, &ei), ERR_OK);
    assert_string_equal(config.server, "https://a");
    assert_int_equal(config.auth, KUBE_AUTH_BASIC);
    source.token = "mine";
    assert_int_equal(kube_config_load(arena, &source, &config, &ei), ERR_OK);
    assert_int_equal(config.auth, KUBE_AUTH_TOKEN);
    assert_string_equal(config.token, "mine");
    source.cluster = "none";
    assert_int_equal(kube_config_load(arena, &source, &config, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "there is no cluster \"none\""));
}

static const char alone[] = "{current-context: c, contexts: [{name: c, context: {cluster: a, user: "
                            "u}}], clusters: [{name: a, cluster: {server: 'https://a'%s}}], users: "
                            "[{name: u, user: {token: t%s}}]}";

CASE(one_of_somebody_else_runs_and_reads_nothing)
{
    static const struct {
        const char *cluster, *user, *key;
    } refused[] = {
        {", certificate-authority: /etc/ca.crt", "", "certificate-authority"},
        {"", ", tokenFile: /etc/shadow", "tokenFile"},
        {"", ", client-certificate: /a, client-key: /b", "client-certificate"},
    };
    struct kube_config config;
    struct errinfo ei;

    const char *text = arena_printf(arena, alone, "", "");
    assert_int_equal(kube_config_read(arena, "Secret x", text, strlen(text), &config, &ei), ERR_OK);
    assert_string_equal(config.server, "https://a");
    assert_string_equal(config.token, "t");
    EACH_ROW (row, refused) {
        text = arena_printf(arena, alone, row->cluster, row->user);
        assert_int_equal(kube_config_read(arena, "Secret x", text, strlen(text), &config, &ei),
                         ERR_INVALID);
        assert_string_equal(ei.text,
                            arena_printf(arena,
                                         "Secret x: %s: expected certificates and a token in the "
                                         "kubeconfig itself, found what would be run or read on "
                                         "this machine",
                                         row->key));
    }
    text = "{current-context: c, contexts: [{name: c, context: {cluster: a, user: u}}], clusters: "
           "[{name: a, cluster: {server: 'https://a'}}], users: [{name: u, user: {exec: "
           "{apiVersion: client.authentication.k8s.io/v1, command: sh}}}]}";
    assert_int_equal(kube_config_read(arena, "Secret x", text, strlen(text), &config, &ei),
                     ERR_INVALID);
    assert_non_null(strstr(ei.text, "Secret x: exec: expected certificates"));
}
