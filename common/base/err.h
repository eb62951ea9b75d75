/*
 * Errors: an enum for the reaction, and an errinfo for the explanation.
 *
 * A call that can fail returns `enum err` and takes a `struct errinfo *` which it fills if, and
 * only if, it fails. Each layer may prepend its context with err_wrap(); the top logs the text
 * once. The text is one clear sentence for a person: the problem, the place (field path, file:line,
 * URL), and what was expected. It never contains a secret.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stdint.h>

enum err {
#define ERR(name, text) ERR_##name,
#include "base/err.def"
#undef ERR
};

#define MUST_USE               __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

struct errinfo {
    char text[512];         /* UTF-8, truncated at a character boundary */
    int status;             /* HTTP status behind the error, 0 if none */
    int64_t retry_after_ms; /* the server's Retry-After, 0 if none */
};

/* The text of err.def, e.g. "not found". */
const char *err_name(enum err err);

/* Fills *ei (which may be NULL) and returns err, so that a caller can `return err_set(ei,
 * ERR_INVALID, ...)`. status and retry_after_ms become 0: set them afterwards. An argument may be
 * the old ei->text. */
enum err err_set(struct errinfo *ei, enum err err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "<context>: " in front of ei->text and returns err unchanged. */
enum err err_wrap(struct errinfo *ei, enum err err, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
