/*
 * Three answers about a file: of `kubectl canary lint`, of `kubectl canary plan`, and of the API
 * server of the sandbox with the rules of the controller, which lint and plan are to foretell.
 */
#ifndef FUZZ_ANSWERS_H
#define FUZZ_ANSWERS_H

#include "base/json.h"

struct answers {
    const char *lint;   /* the first error; NULL: none */
    const char *plan;   /* its only line; NULL: it has a plan */
    const char *server; /* the refusal of server or rules, with its reason; NULL if none */
    bool excused;       /* lint and plan may say more than the server does at once */
    bool unknown;       /* the server refuses an object of others, and plays no release */
    int canaries;       /* that the server has taken */
};

struct server;
/* With the CRDs of proto/crd and of this folder. Exits if they cannot be read. */
struct server *server_new(const char *crds);
void server_free(struct server *server);

/* All three; texts are in the arena. False: the file is no YAML, and lint and plan say so too or
 * out->server says that they do not. */
bool answers_of(struct server *server, struct arena *arena, const char *text, struct answers *out);
/* Their disagreement, NULL if they agree. */
const char *answers_disagree(struct arena *arena, const struct answers *answers);

#endif
