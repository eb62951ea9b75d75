/* Base64 (RFC 4648, standard alphabet with padding), as Secrets and kubeconfig files carry it. */
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

#endif
