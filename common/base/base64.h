/*
 * Base64 (RFC 4648): with the standard alphabet and padding, for Secrets and kubeconfig files, and
 * with the URL alphabet without padding, for signed links.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Owned by the arena. */
const char *base64_encode(struct arena *arena, const void *data, size_t len);
/* White space between the characters is allowed. *out is NUL-terminated; len may be NULL. */
enum err base64_decode(struct arena *arena, const char *text, char **out, size_t *len,
                       struct errinfo *ei) MUST_USE;

/* Only [A-Za-z0-9_-]. Owned by the arena. */
const char *base64url_encode(struct arena *arena, const void *data, size_t len);
/* Accepts only what base64url_encode() writes: no white space, no padding, and no other spelling of
 * the same bytes. */
enum err base64url_decode(struct arena *arena, const char *text, size_t text_len, char **out,
                          size_t *len, struct errinfo *ei) MUST_USE;

#endif
