/*
 * The gateway's configuration of HAProxy, and what can be changed without writing a new one. Pure.
 *
 * Each rule is a backend, each of its backendRefs a server: the address of a Service with the
 * weight of the reference. Weights are changed by a script of Lua in HAProxy, which sends the copies of a
 * rule with mirrors as well, everything else by a reload.
 */
#ifndef CLUSTER_HAPROXY_H
#define CLUSTER_HAPROXY_H

#include "base/buf.h"
#include "cluster/route.h"

enum {
    HAPROXY_CONFIG_MAX = 4 * 1024 * 1024,
    HAPROXY_MAX_WEIGHT = 256,
    /* After a reload, the process before answers one more request on each connection that has been
     * idle for less, by the routes it knows. */
    HAPROXY_IDLE_MS = 200,
};

struct haproxy_in {
    const struct route_table *table;
    const char *directory; /* of the socket and gateway.lua; short */
    const char *address;   /* port 80 of it; NULL: not */
    int port;              /* on 127.0.0.1; 0: not */
    const char *mark; /* a process with this configuration serves /.sandbox/MARK; NULL if none */
    bool no_weights;  /* leaves weights and mark out: equal texts need no reload */
};

/* What gateway.lua must hold. Its service takes weights, and says which servers are not there. */
extern const char haproxy_lua[];

void haproxy_config(const struct haproxy_in *in, struct arena *arena, struct buf *out);
/* "BACKEND/SERVER WEIGHT" for every server, one to a line. */
void haproxy_weights(const struct route_table *table, struct arena *arena, struct buf *out);
/* The weight HAProxy gets for backend `index` of a rule: in the smallest numbers of the proportion
 * when these fit into 256, else rounded. */
int haproxy_weight(const struct route_rule *rule, size_t index);

#endif
