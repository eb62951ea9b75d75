#include "cluster/context.h"

#include "base/clock.h"
#include "base/log.h"
#include "object/meta.h"

void context_queue(struct cluster *cluster, work_fn fn, const char *ns, const char *name)
{
    context_queue_after(cluster, fn, ns, name, 0);
}

void context_queue_after(struct cluster *cluster, work_fn fn, const char *ns, const char *name,
                         int64_t delay_ms)
{
    if (!cluster->draining)
        work_add_after(cluster->work, fn, cluster, ns, name, delay_ms);
}

struct json_object *context_get(struct cluster *cluster, struct arena *arena, enum kind kind,
                                const char *ns, const char *name)
{
    struct json_object *obj = objstore_get(cluster->store, cluster->kinds[kind], ns, name);
    return obj ? json_own(arena, json_object_get(obj)) : NULL;
}

size_t context_list(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    struct json_object ***items)
{
    return objstore_list(cluster->store, arena, cluster->kinds[kind], ns, items);
}

static struct objcall call_new(struct arena *arena)
{
    return (struct objcall){.arena = arena, .manager = "flagger-sandbox", .fail = {.arena = arena}};
}

/* What is gone or was changed meanwhile comes back through the watch: no reason to complain. */
static bool succeeded(enum err err, const struct objcall *call, const char *what, const char *ns,
                      const char *name)
{
    if (err != ERR_OK && err != ERR_NOT_FOUND && err != ERR_CONFLICT)
        log_warn("write_failed", NULL, call->fail.message ? call->fail.message : err_name(err),
                 LOG_STR("write", what), LOG_STR("namespace", ns), LOG_STR("name", name));
    return err == ERR_OK;
}

bool context_create(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    struct json_object *obj, struct json_object **out)
{
    struct objcall call = call_new(arena);
    enum err err = objstore_create(cluster->store, &call, cluster->kinds[kind], ns, obj, out);
    return succeeded(err, &call, "create", ns, meta_name(obj));
}

bool context_merge(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                   const char *name, struct json_object *patch)
{
    struct objcall call = call_new(arena);
    enum err err = objstore_merge(cluster->store, &call, cluster->kinds[kind], ns, name,
                                  OBJSUB_NONE, patch, NULL);
    return succeeded(err, &call, "patch", ns, name);
}

bool context_status(struct cluster *cluster, struct arena *arena, const struct objkind *kind,
                    const char *ns, const char *name, struct json_object *status)
{
    struct json_object *live = objstore_get(cluster->store, kind, ns, name);
    if (!live)
        return false;
    if (json_same(json_at(live, "status", NULL), status))
        return true;
    struct json_object *copy = json_copy(arena, live);
    json_set(copy, "status", status);
    struct objcall call = call_new(arena);
    enum err err = objstore_update(cluster->store, &call, kind, ns, OBJSUB_STATUS, copy, NULL);
    return succeeded(err, &call, "status", ns, name);
}

static void delete_with(struct cluster *cluster, struct arena *arena, enum kind kind,
                        const char *ns, const char *name, int64_t grace)
{
    struct objcall call = call_new(arena);
    const struct objdelete options = {.propagation = OBJ_BACKGROUND, .grace_seconds = grace};
    bool gone;
    enum err err = objstore_delete(cluster->store, &call, cluster->kinds[kind], ns, name, &options,
                                   NULL, &gone);
    succeeded(err, &call, "delete", ns, name);
}

void context_remove(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    const char *name)
{
    delete_with(cluster, arena, kind, ns, name, 0);
}

void context_delete(struct cluster *cluster, struct arena *arena, enum kind kind, const char *ns,
                    const char *name)
{
    delete_with(cluster, arena, kind, ns, name, -1);
}

const char *context_now(struct arena *arena)
{
    return meta_time(arena, clock_wall_ms());
}
