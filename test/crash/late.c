#include "crash/late.h"

#include <string.h>

#include "api/restask.h"

bool late_apply(const struct late *late, struct arena *arena, struct objstore *store)
{
    struct restpath path = restpath_parse(arena, late->path);
    const struct objkind *kind = objstore_kind(store, path.group, path.plural);
    struct objcall call = {
        .arena = arena, .manager = "flagger-controller", .version = path.version};
    bool status = path.sub && strcmp(path.sub, "status") == 0;
    bool gone;

    if (!kind)
        return false;
    if (strcmp(late->verb, "create") == 0)
        return objstore_create(store, &call, kind, path.ns, late->body, NULL) == ERR_OK;
    if (strcmp(late->verb, "delete") == 0)
        return objstore_delete(store, &call, kind, path.ns, path.name, NULL, NULL, &gone) == ERR_OK;
    return objstore_merge(store, &call, kind, path.ns, path.name,
                          status ? OBJSUB_STATUS : OBJSUB_NONE, late->body, NULL) == ERR_OK;
}
