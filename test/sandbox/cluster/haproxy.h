/*
 * The gateway's configuration of HAProxy, and what can be changed without writing a new one. Pure.
 *
 * Each rule is a backend, each of its backendRefs a server: the address of a Service with the
 * weight of the reference. Weights are changed over the stats socket, everything else by a reload.
 * The copies of a rule with mirrors are sent by a script of Lua in HAProxy.
 */
#ifndef CLUSTER_HAPROXY_H
#define CLUSTER_HAPROXY_H

#include "base/buf.h"
#include "cluster/route.h"

enum { HAPROXY_CONFIG_MAX = 4 * 1024 * 1024, HAPROXY_MAX_WEIGHT = 256 };

struct haproxy_in {
    const struct route_table *table;
    const char *directory; /* of the socket and mirror.lua; short */
    const char *address;   /* port 80 of it; NULL: not */
    int port;              /* on 127.0.0.1; 0: not */
    const char *mark; /* shown as description, to tell which configuration is live; NULL: none */
    bool no_weights;  /* leaves weights and mark out: equal texts need no reload */
};

/* What mirror.lua must hold. */
extern const char haproxy_mirror[];

void haproxy_config(const struct haproxy_in *in, struct arena *arena, struct buf *out);
/* Commands "set server B/S weight N" for every server, one to a line. */
void haproxy_weights(const struct route_table *table, struct arena *arena, struct buf *out);
/* The weight HAProxy gets for backend `index` of a rule: in the smallest numbers of the proportion
 * when these fit into 256, else rounded. */
int haproxy_weight(const struct route_rule *rule, size_t index);
/* The short name of a rule in names of sockets; owned by the arena. */
const char *haproxy_rule_key(struct arena *arena, const struct route_rule *rule);

#endif
