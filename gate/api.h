/* The gate's HTTP routes (proto/openapi/gate.yaml). The argument of every handler is a struct
 * gate_api. */
#ifndef GATE_API_H
#define GATE_API_H

#include "gate/db.h"
#include "net/server.h"

struct gate_api {
    struct db *db;
};

extern const struct http_route gate_routes[];

#endif
