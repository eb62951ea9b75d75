/*
 * PATCH bodies: RFC 6902 JSON patch and strategic merge patch. (RFC 7386 merge patch is
 * json_merge() of base/json.h.)
 *
 * The target is never changed; the result is a new tree owned by the arena. A failed patch leaves
 * no result.
 */
#ifndef OBJECT_PATCH_H
#define OBJECT_PATCH_H

#include <json-c/json.h>

#include "base/arena.h"
#include "base/err.h"

/* As the API server: more operations than this are refused. */
enum { PATCH_MAX_OPERATIONS = 10000 };

/*
 * Applies the operations (add, remove, replace, test) in order. ERR_INVALID names the operation and
 * its path: what is no patch has ei->status 400; what does not fit the target (a missing path, a
 * failed test) has 422.
 */
enum err patch_json(struct arena *arena, struct json_object *target, struct json_object *patch,
                    struct json_object **out, struct errinfo *ei) MUST_USE;

/*
 * Strategic merge with the merge keys of a built-in kind ("Pod") and the directives $patch (delete,
 * replace, merge), $setElementOrder/LIST, $deleteFromPrimitiveList/LIST and $retainKeys. target may
 * be NULL. ei->status is 400 for a malformed patch, 422 for one that does not fit the target.
 */
enum err patch_strategic(struct arena *arena, const char *kind, struct json_object *target,
                         struct json_object *patch, struct json_object **out,
                         struct errinfo *ei) MUST_USE;

#endif
