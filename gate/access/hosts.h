/*
 * Names in the Host header that are this gate's own. A page of another site can make its own name
 * lead to the address of the gate (DNS rebinding): to the browser both are then one site, and only
 * the Host header shows the difference.
 *
 * Own names are
 *   - addresses, localhost, names without a dot, names below .svc and .svc.cluster.local, which no
 *     page can have;
 *   - for a pod also SERVICE.NAMESPACE and names below .svc of its cluster's domain
 *     (hosts_options);
 *   - the host of --public-url, and the names of --hosts.
 */
#ifndef GATE_HOSTS_H
#define GATE_HOSTS_H

#include <stdbool.h>

#include "base/arena.h"

struct hosts_options {
    const char *public_url; /* "" if none */
    const char *names;      /* separated by commas; NULL or "" if none */
    /* Text of /etc/resolv.conf: its search list names the namespace of a pod. */
    const char *resolv_conf;
    /* Host name of the machine; that of a pod begins with the name of its Deployment. */
    const char *pod;
};

/* Owned by the arena. */
struct hosts;
struct hosts *hosts_new(struct arena *arena, const struct hosts_options *options);
/* host: a Host header, with or without port. NULL is own: browsers always send the header. */
bool hosts_own(const struct hosts *hosts, const char *host);

#endif
