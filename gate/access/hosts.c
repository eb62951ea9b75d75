#include "gate/access/hosts.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/option.h"

enum { MAX_HOST = 255 };

struct hosts {
    const char *const *names; /* NULL-ended */
    const char *public;       /* without a port; "" if none */
    const char *namespace_;   /* namespace of the pod; "" if unknown */
    const char *domain;       /* ".svc.cluster.local" as this cluster calls it; "" if unknown */
    const char *pod;
};

/* Strips the port, the brackets of an IPv6 address and a final dot. False if it is not a host. */
static bool read_host(const char *text, char host[MAX_HOST + 1])
{
    const char *start = *text == '[' ? text + 1 : text;
    size_t len = strcspn(start, *text == '[' ? "]" : ":/");
    const char *rest = start + len;

    if (*text == '[' && (rest[0] != ']' || (rest[1] && !strchr(":/", rest[1]))))
        return false;
    if (len > 0 && start[len - 1] == '.')
        len--;
    if (len == 0 || len > MAX_HOST)
        return false;
    memcpy(host, start, len);
    host[len] = '\0';
    return true;
}

static const char *copy_host(struct arena *arena, const char *text)
{
    char host[MAX_HOST + 1];

    return read_host(text, host) ? arena_strdup(arena, host) : "";
}

/* "search NAMESPACE.svc.DOMAIN ..." */
static void read_search(struct arena *arena, const char *resolv_conf, struct hosts *hosts)
{
    static const char search[] = "search", svc[] = ".svc.";

    for (const char *line = resolv_conf; line && *line; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n"), word = sizeof(search) - 1;
        if (strncmp(line, search, word) == 0) {
            const char *name = line + word + strspn(line + word, " \t");
            name = arena_strndup(arena, name, strcspn(name, " \t\n"));
            const char *dot = strchr(name, '.');
            if (dot && strncmp(dot, svc, sizeof(svc) - 1) == 0) {
                hosts->namespace_ = arena_strndup(arena, name, (size_t)(dot - name));
                hosts->domain = dot;
            }
        }
        line += len;
    }
}

struct hosts *hosts_new(struct arena *arena, const struct hosts_options *options)
{
    struct hosts *hosts = ARENA_NEW(arena, struct hosts);
    const char *host = options->public_url ? strstr(options->public_url, "://") : NULL;

    *hosts = (struct hosts){.names = option_split(arena, options->names),
                            .public = host ? copy_host(arena, host + 3) : "",
                            .namespace_ = "",
                            .domain = "",
                            .pod = options->pod ? options->pod : ""};
    read_search(arena, options->resolv_conf, hosts);
    return hosts;
}

static bool ends_with(const char *host, const char *end)
{
    size_t len = strlen(host), end_len = strlen(end);

    return end_len > 0 && len > end_len && strcasecmp(host + len - end_len, end) == 0;
}

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* "-6f7d9c5b4-x2x7k" of a Deployment's pod, "-0" of a StatefulSet's. */
static bool is_pod_suffix(const char *text)
{
    const char *last = strrchr(text, '-');

    if (*text != '-')
        return false;
    return last == text ? text[1] && text[1 + strspn(text + 1, "0123456789")] == '\0'
                        : strchr(text + 1, '-') == last && strlen(last) == sizeof("-x2x7k") - 1;
}

/* flagger-gate.flagger, in the pod flagger-gate-6f7d9c5b4-x2x7k of the namespace flagger. The
 * namespace alone is not enough: it may be named like a public domain, in which anyone can register
 * a name. */
static bool is_service(const struct hosts *hosts, const char *host)
{
    const char *dot = strchr(host, '.');
    size_t len = dot ? (size_t)(dot - host) : 0;

    return len > 0 && *hosts->namespace_ && strcasecmp(dot + 1, hosts->namespace_) == 0 &&
           strncasecmp(hosts->pod, host, len) == 0 && is_pod_suffix(hosts->pod + len);
}

bool hosts_own(const struct hosts *hosts, const char *text)
{
    char host[MAX_HOST + 1];

    if (!text)
        return true;
    if (!read_host(text, host))
        return false;
    if (!strchr(host, '.') || is_address(host) || ends_with(host, ".localhost") ||
        ends_with(host, ".svc") || ends_with(host, ".svc.cluster.local") ||
        ends_with(host, hosts->domain) || is_service(hosts, host) ||
        (*hosts->public && strcasecmp(host, hosts->public) == 0))
        return true;
    for (const char *const *name = hosts->names; *name; name++)
        if (strcasecmp(host, *name) == 0)
            return true;
    return false;
}
