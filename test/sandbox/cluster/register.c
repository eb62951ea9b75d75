#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "cluster/context.h"
#include "object/form.h"

static bool is_port(int port)
{
    return port >= 1 && port <= 65535;
}

enum err register_parse(struct arena *arena, const char *text, struct registration *out,
                        struct errinfo *ei)
{
    char name[64], ns[64], address[64];
    struct in_addr addr;
    int port = 80, to_port = 0, end = 0;

    *out = (struct registration){.name = "", .ns = "", .address = ""};
    if (sscanf(text, "%63[^.:=].%63[^.:=]=%63[^:]:%d%n", name, ns, address, &to_port, &end) != 4)
        if (sscanf(text, "%63[^.:=].%63[^.:=]:%d=%63[^:]:%d%n", name, ns, &port, address, &to_port,
                   &end) != 5)
            end = 0;
    const char *ip = end > 0 && strcmp(address, "localhost") == 0 ? "127.0.0.1" : address;
    if (end == 0 || text[end] || !is_port(port) || !is_port(to_port) ||
        inet_pton(AF_INET, ip, &addr) != 1)
        return err_set(ei, ERR_INVALID,
                       "--register %s: expected NAME.NAMESPACE[:PORT]=ADDRESS:PORT, such as "
                       "flagger-loadtester.test=127.0.0.1:8080",
                       text);
    *out = (struct registration){.name = arena_strdup(arena, name),
                                 .ns = arena_strdup(arena, ns),
                                 .address = arena_strdup(arena, ip),
                                 .port = port,
                                 .to_port = to_port};
    return ERR_OK;
}

static struct json_object *named(struct arena *arena, const struct registration *r)
{
    return form(arena, "{metadata: {name: %s, labels: {sandbox.flagger.app/registered: 'true'}}}",
                r->name);
}

/* The last registration of a name counts. */
static bool put(struct cluster *cluster, struct arena *arena, enum kind kind,
                const struct registration *r, struct json_object *obj)
{
    if (context_get(cluster, arena, kind, r->ns, r->name))
        context_remove(cluster, arena, kind, r->ns, r->name);
    return context_create(cluster, arena, kind, r->ns, obj, NULL);
}

enum err cluster_register(struct cluster *cluster, const char *text, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct registration r;
    enum err err = register_parse(arena, text, &r, ei);
    if (err != ERR_OK)
        goto out;
    if (!context_get(cluster, arena, KIND_NAMESPACE, NULL, r.ns))
        context_create(cluster, arena, KIND_NAMESPACE, NULL,
                       form(arena, "{metadata: {name: %s}}", r.ns), NULL);
    struct json_object *service = named(arena, &r), *endpoints = named(arena, &r);
    json_set(service, "spec",
             form(arena, "{ports: [{name: http, port: %d, protocol: TCP, targetPort: %d}]}", r.port,
                  r.to_port));
    json_set(endpoints, "subsets",
             form(arena,
                  "[{addresses: [{ip: %s}], ports: [{name: http, port: %d, protocol: TCP}]}]",
                  r.address, r.to_port));
    if (!put(cluster, arena, KIND_SERVICE, &r, service) ||
        !put(cluster, arena, KIND_ENDPOINTS, &r, endpoints))
        err = err_set(ei, ERR_INVALID, "--register %s: the Service could not be made", text);
out:
    arena_free(arena);
    return err;
}
