/* What the tests of the object store share: a loop and a store per case, objects from text,
 * waiting. */
#ifndef SANDBOX_TRYSTORE_H
#define SANDBOX_TRYSTORE_H

#include "api/objstore.h"
#include "base/clock.h"
#include "object/try.h"

struct trystore {
    struct loop *loop;
    struct objstore *store;
    struct arena *arena;
};

static inline struct trystore try_open(void)
{
    struct trystore t = {.loop = loop_new(1000), .arena = arena_new()};
    t.store = objstore_new(t.loop, 0);
    return t;
}

static inline void try_close(struct trystore *t)
{
    arena_free(t->arena);
    objstore_free(t->store);
    loop_free(t->loop);
}

/* struct trystore t TRY_CLOSED = try_open(): until the end of the block */
#define TRY_CLOSED __attribute__((cleanup(try_close)))

static inline const struct objkind *try_kind(struct trystore *t, const char *group,
                                             const char *plural)
{
    const struct objkind *kind = objstore_kind(t->store, group, plural);
    assert_non_null(kind);
    return kind;
}

static inline struct objcall try_call(struct trystore *t)
{
    return (struct objcall){.arena = t->arena, .manager = "test"};
}

/* Creates an object that must be accepted. */
static inline struct json_object *try_create(struct trystore *t, const struct objkind *kind,
                                             const char *ns, const char *text)
{
    struct objcall call = try_call(t);
    struct json_object *out = NULL;
    if (objstore_create(t->store, &call, kind, ns, try_json(t->arena, text), &out) != ERR_OK)
        fail_msg("%s: %s", text, call.fail.message);
    return out;
}

/* Merges a patch that must be accepted. */
static inline struct json_object *try_merge(struct trystore *t, const struct objkind *kind,
                                            const char *ns, const char *name, enum objsub sub,
                                            const char *patch)
{
    struct objcall call = try_call(t);
    struct json_object *out = NULL;
    if (objstore_merge(t->store, &call, kind, ns, name, sub, try_json(t->arena, patch), &out) !=
        ERR_OK)
        fail_msg("%s: %s", patch, call.fail.message);
    return out;
}

static inline void try_delete(struct trystore *t, const struct objkind *kind, const char *ns,
                              const char *name, enum objpropagation how)
{
    struct objcall call = try_call(t);
    struct objdelete options = {.propagation = how};
    if (objstore_delete(t->store, &call, kind, ns, name, &options, NULL, NULL) != ERR_OK)
        fail_msg("delete %s: %s", name, call.fail.message);
}

/* Turns the loop until everything that was posted is done. */
static inline void try_settle(struct trystore *t)
{
    int64_t end = clock_monotonic_ms() + 10000;
    while (uv_run(loop_uv(t->loop), UV_RUN_NOWAIT) != 0 && clock_monotonic_ms() < end) {
    }
}

/* A namespaced kind with two versions, status and scale; only "size" and "status" are known. */
static const char try_crd[] =
    "{'metadata':{'name':'toys.try.io'},'spec':{'group':'try.io','scope':'Namespaced','names':{'"
    "plural':'toys','kind':'Toy','shortNames':['ty'],'categories':['all']},'versions':[{'name':'"
    "v1alpha1','served':true,'storage':false,'deprecated':true,'schema':{'openAPIV3Schema':{'type':"
    "'object','x-kubernetes-preserve-unknown-fields':true}}},{'name':'v1','served':true,'storage':"
    "true,'subresources':{'status':{},'scale':{'specReplicasPath':'.spec.size','statusReplicasPath'"
    ":'.status.size'}},'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'"
    "object','required':['size'],'properties':{'size':{'type':'integer','minimum':0},'color':{'"
    "type':'string','default':'red'}}},'status':{'type':'object','x-kubernetes-preserve-unknown-"
    "fields':true}}}}}]}}";

#endif
