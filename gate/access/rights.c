#include "gate/access/rights.h"

#include <string.h>

enum { MAX_NAMESPACE = 63 };

static const char *const role_words[] = {
#define ROLE(name, word) [ROLE_##name] = (word),
#include "gate/access/role.def"
#undef ROLE
};

const char *role_word(enum role role)
{
    return role_words[role];
}

static enum role role_find(const char *word, size_t len)
{
    for (enum role role = ROLE_CHECK; role <= ROLE_ADMIN; role++) {
        if (strlen(role_words[role]) == len && strncmp(word, role_words[role], len) == 0)
            return role;
    }
    return ROLE_NONE;
}

/* A misspelt namespace would be a bound that nobody notices. */
static bool are_namespaces(const char *text)
{
    for (;;) {
        size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (len == 0 || len > MAX_NAMESPACE || text[0] == '-' || text[len - 1] == '-')
            return false;
        if (!text[len])
            return true;
        if (text[len] != ',')
            return false;
        text += len + 1;
    }
}

bool rights_read(const char *word, struct rights *out)
{
    size_t len = word ? strcspn(word, ":") : 0;

    *out = (struct rights){.role = ROLE_NONE};
    if (!word || (word[len] && !are_namespaces(word + len + 1)))
        return false;
    out->role = role_find(word, len);
    out->namespaces = word[len] ? word + len + 1 : NULL;
    return out->role != ROLE_NONE;
}

bool rights_cover(const char *namespaces, const char *namespace_)
{
    size_t len = strlen(namespace_);

    if (!namespaces)
        return true;
    for (const char *at = namespaces; len > 0; at++) {
        size_t here = strcspn(at, ",");
        if (here == len && strncmp(at, namespace_, len) == 0)
            return true;
        at += here;
        if (!*at)
            break;
    }
    return false;
}
