/*
 * Which names in the Host header are this gate's own. A page of another site can make its own name
 * lead to the address of the gate (DNS rebinding): to the browser both are then one site, and only
 * the Host header tells.
 *
 * Own are
 *   - addresses, localhost, names without a dot, names below .svc and .svc.cluster.local, which no
 *     page can have;
 *   - of a pod also SERVICE.NAMESPACE and names below .svc of its cluster's domain (hosts_options);
 *   - the host of --public-url, and what --hosts names.
 */
#ifndef GATE_HOSTS_H
#define GATE_HOSTS_H

#include <stdbool.h>

#include "base/arena.h"

struct hosts_options {
    const char *public_url;  /* "" if none */
    const char *names;       /* separated by commas; NULL or "" if none */
    const char *resolv_conf; /* text of /etc/resolv.conf: its search list says where a pod is */
    const char *pod;         /* the machine's name, of a pod that of its Deployment and more */
};

/* Owned by the arena. */
struct hosts;
struct hosts *hosts_new(struct arena *arena, const struct hosts_options *options);
/* host: a Host header, with or without its port; NULL, which no browser sends, is own. */
bool hosts_own(const struct hosts *hosts, const char *host);

#endif
