/*
 * The cookies of session affinity (router/OBJECTS.md): which ones go with a share of the
 * traffic, and what the status says of them. The routes are the truth; where they say nothing, the
 * status is asked.
 *
 * A client that was answered by the canary stays there for the rest of the release. When it is over
 * the cookie is taken back, so that it means nothing to the next release. Flagger draws the values
 * from a generator that is seeded with the time; here they follow from the Canary, the revision and
 * the cookie before, so that a tick that is repeated after a crash makes the same one again.
 */
#include "decide/release/affinity.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COOKIE_LETTERS = 10 };

static const char *make_cookie(struct release *r, const char *name, const char *of)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *seed = arena_printf(r->tick->arena, "%s\n%s\n%s", r->canary->uid, name, of);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    char value[COOKIE_LETTERS + 1] = "";

    if (EVP_Digest(seed, strlen(seed), digest, &size, EVP_sha256(), NULL) != 1 ||
        size < COOKIE_LETTERS) {
        fputs("affinity: SHA-256 is not available in this libcrypto\n", stderr);
        abort();
    }
    for (int i = 0; i < COOKIE_LETTERS; i++)
        value[i] = letters[digest[i] % (sizeof(letters) - 1)];
    return arena_printf(r->tick->arena, "%s=%s", name, value);
}

static const char *first(const char *a, const char *b)
{
    return a ? a : b;
}

/* Who sends it is held by the primary for one interval at most, so that releases may share it. */
static const char *primary_cookie(struct release *r)
{
    const char *name = r->canary->analysis.affinity.primary_cookie_name;
    const char *old = first(r->weights.cookies.primary, r->canary->status.primary_affinity_cookie);

    if (!name)
        return NULL;
    size_t len = strlen(name);
    bool is_same = old && strncmp(old, name, len) == 0 && old[len] == '=';
    return is_same ? old : make_cookie(r, name, "primary");
}

static const char *previous_cookie(const struct release *r)
{
    return first(r->weights.cookies.previous, r->canary->status.previous_affinity_cookie);
}

/* A name that is changed in the middle of a release counts from the next one on. */
static const char *current_cookie(const struct release *r)
{
    return first(r->weights.cookies.canary, r->canary->status.affinity_cookie);
}

struct cookies affinity_cookies(struct release *r, int canary)
{
    const struct canary_affinity *affinity = &r->canary->analysis.affinity;
    const char *current = current_cookie(r), *previous = previous_cookie(r);

    if (!affinity->cookie_name)
        return (struct cookies){.canary = NULL};
    if (canary == 0)
        return (struct cookies){.previous = first(current, previous)};
    if (!current)
        current = make_cookie(
            r, affinity->cookie_name,
            arena_printf(r->tick->arena, "%s\n%s", r->info.hash, previous ? previous : ""));
    /* Where the primary has no share, nobody is sent there by a cookie either: it may be broken. */
    return (struct cookies){.canary = current, .primary = canary < 100 ? primary_cookie(r) : NULL};
}
