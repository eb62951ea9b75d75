/*
 * One simulated cluster: Canaries that differ in their names and in whether somebody holds them, kept as a
 * few bytes each and written out as objects when they are asked for. Nobody releases anything there.
 */
#ifndef CLUSTERS_MEMBER_H
#define CLUSTERS_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

struct canary {
    uint32_t version;
    char *holder, *manager; /* flagger.app/held-by, and -manager; NULL if none */
    bool suspended;
};

struct member {
    int number;
    uint32_t version; /* the newest of all */
    struct canary *canaries;
    int count;
};

void member_init(struct member *member, int number, int canaries);
void member_fini(struct member *member);
/* The number in "app-017", or -1: there is none. */
int member_find(const struct member *member, const char *name);
/* The object. */
void member_write(const struct member *member, int canary, struct buf *out);
/* Takes what a merge patch says of spec.suspend and our annotations. False: it is of another version. */
bool member_patch(struct member *member, int canary, struct json_object *patch);

#endif
