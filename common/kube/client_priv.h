/* What the files of common/kube share about a client; nobody else includes this. */
#ifndef KUBE_CLIENT_PRIV_H
#define KUBE_CLIENT_PRIV_H

#include "kube/client.h"

/* Of the many watches of one client only a few list at once; see watch.c. */
struct watch_gate {
    int listing;
    struct watch *first, *last;
};

struct watch_gate *kube_client_gate(struct kube_client *client);

#endif
