/*
 * Why a call on the object store failed, in the words of a Kubernetes Status: HTTP code, reason,
 * message and causes. Texts live in the arena that the failure was started with. The first failure
 * stays; causes add up.
 */
#ifndef SANDBOX_OBJFAIL_H
#define SANDBOX_OBJFAIL_H

#include <json-c/json.h>

#include "base/arena.h"
#include "base/err.h"
#include "object/cause.h"

struct objfail {
    struct arena *arena;
    int code;            /* 0: no failure */
    const char *reason;  /* "NotFound", "Conflict", ... */
    const char *message; /* one sentence, never NULL when code is set */
    /* details */
    const char *group, *kind, *name, *uid;
    struct causes causes;
    int retry_after_s;
};

/* Fills *fail and returns the enum err that belongs to code. */
enum err objfail_set(struct objfail *fail, int code, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/*
 * Adds a cause of a 422 Invalid; field is a path such as
 * "spec.template.spec.containers[0].name".
 */
#define objfail_cause(fail, ...)                                                                   \
    do {                                                                                           \
        (fail)->causes.arena = (fail)->arena;                                                      \
        cause_add(&(fail)->causes, __VA_ARGS__);                                                   \
    } while (0)
/* Turns collected causes into `Kind.group "name" is invalid: [...]`; ERR_OK when there are none. */
enum err objfail_invalid(struct objfail *fail, const char *group, const char *kind,
                         const char *name);
/* The failure as an errinfo; for callers that only log. */
enum err objfail_info(const struct objfail *fail, struct errinfo *ei);
/* The enum err for an HTTP status of the API. */
enum err objfail_err(int code);
/* The metav1.Status object, owned by the failure's arena. */
struct json_object *objfail_status(const struct objfail *fail);

#endif
