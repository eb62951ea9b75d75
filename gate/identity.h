/* Who asks, and what that one may do. */
#ifndef GATE_IDENTITY_H
#define GATE_IDENTITY_H

#include <stdbool.h>

#include "net/server.h"

enum role { ROLE_NONE, ROLE_CHECK, ROLE_OPERATE, ROLE_ADMIN };

struct identity {
    const char *name; /* "" when nobody had to say; lives as long as the request */
    enum role role;
    bool verified; /* the name was proven */
};

struct identities;

/* False: may not, and the request has been answered. */
bool identity_admit(struct identities *identities, struct http_conn_request *req, enum role needed,
                    struct identity *out);

#endif
