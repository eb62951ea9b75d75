/* Kubeconfig files and the answers of credential plugins: what is taken can be used, what is not is
 * explained. */
#include <assert.h>
#include <string.h>

#include "fuzz.h"
#include "kube/config.h"
#include "kube/kube_internal.h"

static void check_config(const struct kube_config *config)
{
    assert(strncmp(config->server, "http", 4) == 0);
    assert(config->namespace_[0]);
    assert(!(config->tls.cert_pem || config->tls.cert_file) ==
           !(config->tls.key_pem || config->tls.key_file));
    assert(!config->tls.insecure || (!config->tls.ca_pem && !config->tls.ca_file));
    assert(config->auth != KUBE_AUTH_TOKEN || config->token[0]);
    assert(config->auth != KUBE_AUTH_TOKEN_FILE || config->token_file[0]);
    assert(config->auth != KUBE_AUTH_EXEC || config->exec_argv[0][0]);
}

FUZZ_TARGET(arena, data, size)
{
    struct kube_config config = {0};
    struct kube_config_source source = {0};
    struct exec_credential answer;
    struct errinfo ei = {0};
    const char *text = arena_strndup(arena, (const char *)data, size);

    if (config_parse(arena, "/dir/config", text, strlen(text), &source, &config, &ei) == ERR_OK)
        check_config(&config);
    else
        assert(ei.text[0]);
    config.exec_api_version = "client.authentication.k8s.io/v1";
    if (config_exec_parse(arena, &config, text, strlen(text), &answer, &ei) == ERR_OK)
        assert(answer.token || (answer.cert_pem && answer.key_pem));
}
