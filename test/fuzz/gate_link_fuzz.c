/* A signed link: any bytes as a token, and any bytes as the payload of a token that is signed with
 * the right key, so that the reader of the payload is reached. */
#include <assert.h>
#include <string.h>

#include "fuzz.h"
#include "gate/links/link.h"

enum { NOW = 1795300000 };
static const struct link_key key = {.text = "the key of the fuzz target: known", .len = 33};

/* One link has one token: what was read is signed again to the same letters. */
static enum link_verdict check(struct arena *arena, const char *token)
{
    struct link link;
    const char *again = NULL;
    enum link_verdict verdict = link_verify(arena, &key, 1, token, NOW, &link);
    if (verdict == LINK_GOOD || verdict == LINK_EXPIRED) {
        assert((verdict == LINK_GOOD) == (NOW < link.expires_s));
        assert(*link.namespace_ && *link.name && link.for_ms >= 0);
        assert(link.action != LINK_APPROVE || *link.revision);
        enum err err = link_sign(arena, &key, &link, &again, NULL);
        assert(err == ERR_OK && strcmp(token, again) == 0);
        (void)err;
    }
    return verdict;
}

FUZZ_TARGET(arena, data, size)
{
    check(arena, arena_strndup(arena, (const char *)data, size));
    enum link_verdict verdict = check(arena, link_seal(arena, &key, data, size));
    assert(verdict != LINK_FORGED);
    (void)verdict;
}
