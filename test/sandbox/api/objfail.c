#include "api/objfail.h"

#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "object/form.h"

enum err objfail_err(int code)
{
    switch (code) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 429:
        return ERR_RETRY;
    default:
        return code >= 500 ? ERR_RETRY : ERR_INVALID;
    }
}

enum err objfail_set(struct objfail *fail, int code, const char *reason, const char *fmt, ...)
{
    if (fail->code != 0)
        return objfail_err(fail->code);
    va_list args;
    va_start(args, fmt);
    fail->message = arena_vprintf(fail->arena, fmt, args);
    va_end(args);
    fail->code = code;
    fail->reason = reason;
    return objfail_err(code);
}

enum err objfail_invalid(struct objfail *fail, const char *group, const char *kind,
                         const char *name)
{
    if (fail->code != 0)
        return objfail_err(fail->code);
    if (fail->causes.count == 0)
        return ERR_OK;
    fail->group = group;
    fail->kind = kind;
    fail->name = name;
    return objfail_set(fail, 422, "Invalid", "%s%s%s \"%s\" is invalid: %s", kind,
                       *group ? "." : "", group, name ? name : "", cause_text(&fail->causes));
}

enum err objfail_info(const struct objfail *fail, struct errinfo *ei)
{
    if (fail->code == 0)
        return ERR_OK;
    enum err err = err_set(ei, objfail_err(fail->code), "%s", fail->message);
    if (ei) {
        ei->status = fail->code;
        ei->retry_after_ms = (int64_t)fail->retry_after_s * 1000;
    }
    return err;
}

struct json_object *objfail_status(const struct objfail *fail)
{
    struct json_object *details = NULL;
    if (fail->name || fail->kind || fail->causes.list || fail->retry_after_s > 0)
        details = form(fail->arena, "{name: %s, group: %s, kind: %s, uid: %s, causes: %p}",
                       fail->name, fail->group && *fail->group ? fail->group : NULL, fail->kind,
                       fail->uid, fail->causes.list);
    if (fail->retry_after_s > 0)
        json_set_int(details, "retryAfterSeconds", fail->retry_after_s);
    return form(fail->arena,
                "{kind: Status, apiVersion: v1, metadata: {}, status: Failure, message: %s, "
                "reason: %s, details: %p, code: %d}",
                fail->message, fail->reason, details, fail->code);
}
