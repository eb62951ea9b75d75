#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/context.h"
#include "object/form.h"

/* Cuts ":PORT" off text; false when what is there is no port. missing 0: it must be there. */
static bool cut_port(char *text, int missing, int *port)
{
    char *colon = strrchr(text, ':'), *end;
    *port = missing;
    if (!colon)
        return missing > 0;
    long number = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || number < 1 || number > 65535)
        return false;
    *colon = '\0';
    *port = (int)number;
    return true;
}

enum err register_parse(struct arena *arena, const char *text, struct registration *out,
                        struct errinfo *ei)
{
    char *copy = arena_strdup(arena, text), *equals = strchr(copy, '=');
    struct in_addr addr;

    *out = (struct registration){.name = copy};
    if (!equals)
        goto bad;
    *equals = '\0';
    out->address = equals + 1;
    if (!cut_port(copy, 80, &out->port) || !cut_port(equals + 1, 0, &out->to_port))
        goto bad;
    if (strcmp(out->address, "localhost") == 0)
        out->address = "127.0.0.1";
    char *dot = strchr(copy, '.');
    if (!dot || dot == copy || !dot[1] || strchr(dot + 1, '.') ||
        inet_pton(AF_INET, out->address, &addr) != 1)
        goto bad;
    *dot = '\0';
    out->ns = dot + 1;
    return ERR_OK;
bad:
    return err_set(ei, ERR_INVALID,
                   "--register %s: expected NAME.NAMESPACE[:PORT]=ADDRESS:PORT, such as "
                   "flagger-loadtester.test=127.0.0.1:8080",
                   text);
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
