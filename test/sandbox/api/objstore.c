#include "api/objstore.h"

#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

enum { LOG_EVENTS = 2048 };

static void uid_key(const void *record, const char **first, const char **second)
{
    *first = ((const struct objrecord *)record)->uid;
    *second = NULL;
}

static void make_namespace(struct objstore *store, const char *name)
{
    struct objcall call = {.arena = arena_new(), .manager = "sandbox"};
    struct json_object *obj = json_own(call.arena, json_object_new_object());
    json_set_str(json_sub(obj, "metadata"), "name", name);
    if (objstore_create(store, &call, objstore_kind(store, "", "namespaces"), NULL, obj, NULL) !=
        ERR_OK)
        abort(); /* two constant names in an empty store */
    arena_free(call.arena);
}

struct objstore *objstore_new(struct loop *loop, size_t log_events)
{
    struct objstore *store = heap_alloc(sizeof(*store));
    *store = (struct objstore){.loop = loop};
    table_init(&store->uids, uid_key);
    TAILQ_INIT(&store->lately);
    objowner_init(store, objgc_round);
    store->log = objlog_new(store, log_events ? log_events : LOG_EVENTS);
    for (const struct objkind *kind = objkind_builtin(); kind->kind; kind++) {
        struct objset *set = objset_of_kind(store, kind);
        if (!set->kind)
            set->kind = kind;
    }
    make_namespace(store, "default");
    make_namespace(store, "kube-system");
    return store;
}

void objstore_free(struct objstore *store)
{
    if (!store)
        return;
    objlog_free(store->log);
    table_fini(&store->uids);
    while (store->sets) {
        struct objset *set = store->sets;
        store->sets = set->next;
        objset_free(store, set);
    }
    objowner_free(store);
    while (store->admits) {
        struct objadmit *admit = store->admits;
        store->admits = admit->next;
        free(admit);
    }
    objcrd_free(store);
    free(store);
}
