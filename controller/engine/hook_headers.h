/*
 * The request headers of a webhook that come from Secrets (headersFrom): each key is a header.
 * Pure.
 *
 * They are credentials: their values appear in no log line, no error and no event.
 */
#ifndef ENGINE_HOOK_HEADERS_H
#define ENGINE_HOOK_HEADERS_H

#include "base/json.h"
#include "net/client.h"

enum { HOOK_HEADERS_MAX = 32, HOOK_HEADERS_MAX_BYTES = 16 * 1024 };

struct hook_headers {
    struct http_header list[HOOK_HEADERS_MAX + 1]; /* ended by name NULL */
    int count;
    size_t bytes; /* of names and values */
};

/*
 * Adds the keys of a Secret; one that is there already (in any case) is replaced. Everything lives
 * in the arena. ERR_INVALID, told without the value: no key, a name that is no header or that the
 * request needs itself, a control character in a value, too many or too large.
 */
enum err hook_headers_add(struct hook_headers *headers, struct arena *arena, const char *name,
                          struct json_object *secret, struct errinfo *ei) MUST_USE;
/* The text with every header's value in it struck out: a service may answer with what it got. */
const char *hook_headers_redact(const struct hook_headers *headers, struct arena *arena,
                                const char *text);

#endif
