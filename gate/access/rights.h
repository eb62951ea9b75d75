/*
 * What the second word of a row of --token-file gives: a role, in every namespace or in some.
 *
 *     operate
 *     operate:test,prod
 *
 * Pure; nothing is copied.
 */
#ifndef GATE_RIGHTS_H
#define GATE_RIGHTS_H

#include <stdbool.h>

enum role {
#define ROLE(name, word) ROLE_##name,
#include "gate/access/role.def"
#undef ROLE
};

struct rights {
    enum role role;
    const char *namespaces; /* as in the row: "test,prod"; NULL: every one */
};

/* The word for a role, e.g. "operate". */
const char *role_word(enum role role);

/* False: there is no such role, or nobody may be given it, or what follows are no namespaces. */
bool rights_read(const char *word, struct rights *out);
/* Whether the namespace is among those of struct rights. */
bool rights_cover(const char *namespaces, const char *namespace_);

#endif
