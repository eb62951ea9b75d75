/* The load tester's HTTP routes (proto/openapi/loadtester.yaml). The argument of every handler is a
 * struct tester_api. */
#ifndef LOADTESTER_API_H
#define LOADTESTER_API_H

#include <regex.h>

#include "loadtester/runner.h"
#include "net/server.h"

struct tester_api {
    struct runner *runner;
    const regex_t *namespaces; /* tasks of other namespaces are refused; NULL: all may */
};

extern const struct http_route tester_routes[];

#endif
