#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "kube/fake_api.h"
#include "kube/kube_internal.h"
#include "net/child/child.h"
#include "test/kinds.h"
#include "test/unit.h"

/* Token files and exec plugins, alone and as the client uses them. */

#define V1 "client.authentication.k8s.io/v1"

/* Accepts only the token in api->arg. */
static void answer_token(struct fake_api *api, struct http_conn_request *req,
                         const struct fake_seen *seen)
{
    if (seen->authorization && strcmp(seen->authorization, api->arg) == 0)
        http_reply_json(req, 200, "{}");
    else
        fake_status(req, 401, "Unauthorized");
}

static struct kube_call *get(struct fake_api *api, struct fake_result *out)
{
    struct kube_request request = {
        .verb = KUBE_GET, .resource = &kube_pods, .namespace_ = "a", .name = "p"};

    return kube_send(api->client, &request, fake_done, out);
}

static void get_and_wait(struct fake_api *api, struct fake_result *out)
{
    *out = (struct fake_result){0};
    get(api, out);
    FAKE_WAIT(api, out->calls);
}

static void never(void *arg)
{
    fail();
}

CASE(a_401_reads_the_token_file_again)
{
    struct fake_api *api = fake_start(answer_token, "Bearer one");
    struct fake_result out = {0};

    api->config.auth = KUBE_AUTH_TOKEN_FILE;
    api->config.token_file = unit_put("token", "one\n");
    fake_connect(api, NULL);
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_OK);
    assert_int_equal(api->count, 1);

    unit_put("token", "two");
    api->arg = "Bearer two";
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_OK);
    assert_int_equal(api->count, 3);
    assert_string_equal(api->seen[1].authorization, "Bearer one");
    assert_string_equal(api->seen[2].authorization, "Bearer two");

    /* unchanged: no retry */
    api->arg = "Bearer three";
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_DENIED);
    assert_int_equal(out.status, 401);
    assert_int_equal(api->count, 4);

    /* changed but rejected too: one refresh per call */
    unit_put("token", "four");
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_DENIED);
    assert_int_equal(api->count, 6);

    /* gone: the old token is kept */
    unlink(api->config.token_file);
    api->arg = "Bearer four";
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_OK);
    fake_stop(api);
}

CASE(a_rotated_token_file_is_noticed)
{
    struct loop *loop = loop_new(10000);
    struct kube_config config = {.auth = KUBE_AUTH_TOKEN_FILE,
                                 .token_file = unit_put("token", "one \n")};
    struct credentials *c = credentials_new(loop, &config, never, NULL);
    struct credentials_view view = {0};
    struct errinfo ei = {0};

    assert_int_equal(credentials_get(c, &view, &ei), CREDENTIALS_READY);
    assert_string_equal(view.authorization, "Bearer one");
    uint64_t generation = view.generation;
    unit_put("token", "two");
    assert_int_equal(credentials_get(c, &view, &ei), CREDENTIALS_READY);
    assert_string_equal(view.authorization, "Bearer one"); /* just checked */
    credentials_set_check_interval(c, 0);
    assert_int_equal(credentials_get(c, &view, &ei), CREDENTIALS_READY);
    assert_string_equal(view.authorization, "Bearer two");
    assert_true(view.generation > generation);
    assert_true(credentials_refused(c, generation)); /* an old generation: retry with the new one */
    assert_false(credentials_refused(c, view.generation));
    unit_put("token", "bad\ttoken\nof two lines");
    assert_int_equal(credentials_get(c, &view, &ei), CREDENTIALS_READY);
    assert_string_equal(view.authorization, "Bearer two");
    credentials_free(c);
    loop_free(loop);
}

CASE(a_token_file_that_is_bad_from_the_start)
{
    static const char *const contents[] = {NULL, "", " \n", "two\nlines"};
    EACH_ROW (row, contents) {
        struct fake_api *api = fake_start(answer_token, "Bearer one");
        struct fake_result out = {0};
        api->config.auth = KUBE_AUTH_TOKEN_FILE;
        api->config.token_file = unit_put("token", *row ? *row : "");
        if (!*row)
            unlink(api->config.token_file);
        fake_connect(api, NULL);
        get_and_wait(api, &out);
        assert_int_equal(out.err, ERR_DENIED);
        assert_non_null(strstr(out.text, api->config.token_file));
        assert_null(strstr(out.text, "lines"));
        assert_int_equal(api->count, 0);
        unit_put("token", "one"); /* read again for each call until it is valid */
        get_and_wait(api, &out);
        assert_int_equal(out.err, ERR_OK);
        fake_stop(api);
    }
}

/* A plugin in sh: counts its runs in the file "runs", then runs body with $n. */
static void use_plugin(struct fake_api *api, const char *body)
{
    const char *script = arena_printf(api->arena,
                                      "n=$(cat %s/runs 2>/dev/null || echo 0); n=$((n+1)); "
                                      "echo $n >%s/runs\n%s\n",
                                      unit_folder(), unit_folder(), body);
    const char **argv = arena_array(api->arena, 3, sizeof(*argv));

    argv[0] = "/bin/sh";
    argv[1] = unit_put("plugin", script);
    api->config.auth = KUBE_AUTH_EXEC;
    api->config.exec_argv = argv;
    api->config.exec_api_version = V1;
    api->config.exec_install_hint = "install the plugin";
}

static int plugin_runs(struct arena *arena)
{
    char *text = NULL;

    if (file_read(arena, unit_path("runs"), 100, &text, NULL, NULL) != ERR_OK)
        return 0;
    return (int)strtol(text, NULL, 10);
}

#define ANSWER(status)                                                                             \
    "echo noise >/dev/null; echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1               \
    "\",\"status\":{" status "}}'"

CASE(one_run_serves_many_calls)
{
    struct fake_api *api = fake_start(answer_token, "Bearer t1");
    struct fake_result out = {0};

    use_plugin(api, ANSWER("\"token\":\"t'$n'\""));
    fake_connect(api, NULL);
    for (int i = 0; i < 10; i++)
        get(api, &out);
    FAKE_WAIT(api, out.calls == 10);
    assert_int_equal(out.err, ERR_OK);
    assert_int_equal(plugin_runs(api->arena), 1);
    assert_int_equal(api->count, 10);
    fake_stop(api);
}

CASE(a_401_runs_the_plugin_again_once)
{
    struct fake_api *api = fake_start(answer_token, "Bearer t2");
    struct fake_result out = {0};

    use_plugin(api, ANSWER("\"token\":\"t'$n'\""));
    fake_connect(api, NULL);
    for (int i = 0; i < 3; i++)
        get(api, &out);
    FAKE_WAIT(api, out.calls == 3);
    assert_int_equal(out.err, ERR_OK);
    assert_int_equal(plugin_runs(api->arena), 2);
    assert_int_equal(api->count, 6);

    /* rejected again: the plugin is not run for each call */
    api->arg = "Bearer other";
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_DENIED);
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_DENIED);
    assert_int_equal(plugin_runs(api->arena), 2);
    fake_stop(api);
}

CASE(an_expired_answer_is_renewed_but_not_for_each_call)
{
    struct fake_api *api = fake_start(answer_token, "Bearer t1");
    struct fake_result out = {0};

    use_plugin(api, ANSWER("\"token\":\"t'$n'\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\""));
    fake_connect(api, NULL);
    for (int i = 0; i < 5; i++)
        get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_OK);
    assert_int_equal(plugin_runs(api->arena), 1);
    api->arg = "Bearer t2";
    int64_t start = clock_monotonic_ms();
    FAKE_WAIT(api, clock_monotonic_ms() - start > 1100);
    get_and_wait(api, &out);
    assert_int_equal(out.err, ERR_OK);
    assert_int_equal(plugin_runs(api->arena), 2);
    fake_stop(api);
}

CASE(what_can_go_wrong_with_a_plugin)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        {"exit 3", "exit status 3; install the plugin"},
        {"kill -9 $$", "ended by signal 9"},
        {"echo s3cret", "the plugin's output is not JSON (7 bytes)"},
        {ANSWER("\"token\":\"s3\\\\ncret\""), "status.token: expected one line of text"},
        {ANSWER(""), "neither token nor clientCertificateData"},
        {NULL, "/nowhere/plugin"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake_api *api = fake_start(answer_token, "Bearer t1");
        static const char *const nowhere[] = {"/nowhere/plugin", NULL};
        struct fake_result out = {0};
        struct fake_result second = {0};
        use_plugin(api, cases[i].body ? cases[i].body : "");
        if (!cases[i].body)
            api->config.exec_argv = nowhere;
        fake_connect(api, NULL);
        get_and_wait(api, &out);
        get_and_wait(api, &second); /* the failure is kept for a moment */
        if (out.err != ERR_DENIED || !strstr(out.text, cases[i].want) ||
            strstr(out.text, "s3cret") || strcmp(out.text, second.text) != 0)
            fail_msg("case %zu: %s: %s", i, err_name(out.err), out.text);
        if (cases[i].body)
            assert_int_equal(plugin_runs(api->arena), 1);
        assert_int_equal(api->count, 0);
        unlink(unit_path("runs"));
        fake_stop(api);
    }
}

CASE(calls_that_wait_for_a_slow_plugin)
{
    enum { CANCEL, TIME_OUT, FREE_CLIENT };
    for (int way = CANCEL; way <= FREE_CLIENT; way++) {
        struct fake_api *api = fake_start(answer_token, "Bearer t1");
        struct fake_result out = {0};
        struct kube_request request = {.verb = KUBE_GET,
                                       .resource = &kube_pods,
                                       .namespace_ = "a",
                                       .name = "p",
                                       .timeout_ms = way == TIME_OUT ? 100 : 0};
        use_plugin(api, "exec sleep 60");
        fake_connect(api, NULL);
        struct kube_call *call = kube_send(api->client, &request, fake_done, &out);
        FAKE_WAIT(api, plugin_runs(api->arena) == way + 1);
        if (way == CANCEL) {
            kube_cancel(call);
        } else if (way == FREE_CLIENT) {
            kube_client_free(api->client);
            api->client = NULL;
        }
        FAKE_WAIT(api, out.calls);
        assert_int_equal(out.err, way == TIME_OUT ? ERR_RETRY : ERR_CANCELLED);
        assert_int_equal(out.calls, 1);
        fake_stop(api); /* would not end in time if the plugin remained */
    }
}

static void answered(void *arg)
{
    *(bool *)arg = true;
}

CASE(a_plugin_may_give_a_certificate)
{
    struct fake_api *api = fake_start(answer_token, NULL);
    struct credentials_view view = {0};
    struct errinfo ei = {0};
    bool done = false;

    use_plugin(api, ANSWER("\"clientCertificateData\":\"CERT\",\"clientKeyData\":\"KEY\""));
    api->config.tls = (struct http_tls){.ca_file = "/ca", .cert_file = "/old", .key_file = "/old"};
    struct credentials *c = credentials_new(api->loop, &api->config, answered, &done);
    assert_int_equal(credentials_get(c, &view, &ei), CREDENTIALS_PENDING);
    assert_int_equal(credentials_get(c, &view, &ei), CREDENTIALS_PENDING);
    FAKE_WAIT(api, done);
    assert_int_equal(credentials_get(c, &view, &ei), CREDENTIALS_READY);
    assert_null(view.authorization);
    assert_string_equal(view.tls->cert_pem, "CERT");
    assert_string_equal(view.tls->key_pem, "KEY");
    assert_null(view.tls->cert_file);
    assert_string_equal(view.tls->ca_file, "/ca");
    credentials_free(c);
    fake_stop(api);
}

UNIT_FIRST(child_main)

#define V1_EXEC "client.authentication.k8s.io/v1"

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
                                 .exec_api_version = V1_EXEC,
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
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1_EXEC
                        "\",\"spec\":{\"interactive\":false}}");
    config.exec_cluster_info = true;
    env = config_exec_env(arena, &config);
    assert_string_equal(find(env, "KUBERNETES_EXEC_INFO"),
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1_EXEC
                        "\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://h\","
                        "\"tls-server-name\":\"inner\",\"certificate-authority-data\":\"UEVN\","
                        "\"config\":{\"audience\":\"me\"}}}}");
    config.exec_env = NULL;
    assert_string_equal(find(config_exec_env(arena, &config), "HOME"), "/root");
    unsetenv("KUBERNETES_EXEC_INFO");
}

CASE(answers)
{
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1_EXEC "\",\"status\":"
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
         ERR_DENIED, NULL, NULL, "expected apiVersion " V1_EXEC ", found client.authentication", 0},
        {"{\"kind\":\"Pod\"}", ERR_DENIED, NULL, NULL, "expected an ExecCredential, found Pod", 0},
        {"{}", ERR_DENIED, NULL, NULL, "expected an ExecCredential, found none", 0},
        {"", ERR_DENIED, NULL, NULL, "not JSON (0 bytes)", 0},
        {"s3cret", ERR_DENIED, NULL, NULL, "not JSON (6 bytes)", 0},
    };
    struct kube_config config = {.exec_api_version = V1_EXEC};
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
