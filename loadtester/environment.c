#include "loadtester/environment.h"

#include <stdbool.h>
#include <string.h>

static const char *const usual[] = {
    "PATH",         "HOME",
    "USER",         "LOGNAME",
    "SHELL",        "LANG",
    "LANGUAGE",     "LC_*",
    "TZ",           "TMPDIR",
    "TERM",         "HOSTNAME",
    "HTTP_PROXY",   "HTTPS_PROXY",
    "NO_PROXY",     "ALL_PROXY",
    "http_proxy",   "https_proxy",
    "no_proxy",     "all_proxy",
    "KUBECONFIG",   "KUBERNETES_SERVICE_*",
    "HELM_*",       "SSL_CERT_FILE",
    "SSL_CERT_DIR", "XDG_*",
    NULL,
};

static bool matches(const char *pattern, const char *name, size_t len)
{
    size_t n = strlen(pattern);

    if (n > 0 && pattern[n - 1] == '*')
        return len >= n - 1 && strncmp(pattern, name, n - 1) == 0;
    return len == n && strncmp(pattern, name, n) == 0;
}

static bool is_listed(const char *const *list, const char *variable)
{
    size_t len = strcspn(variable, "=");

    for (size_t i = 0; list && list[i]; i++)
        if (matches(list[i], variable, len))
            return true;
    return false;
}

const char *const *environment_for_tasks(struct arena *arena, char *const *ours,
                                         const char *const *pass)
{
    size_t n = 0, kept = 0;

    while (ours[n])
        n++;
    const char **env = arena_array(arena, n + 1, sizeof(*env));
    for (size_t i = 0; i < n; i++)
        if (is_listed(usual, ours[i]) || is_listed(pass, ours[i]))
            env[kept++] = ours[i];
    env[kept] = NULL;
    return env;
}
