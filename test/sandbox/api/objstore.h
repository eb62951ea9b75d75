/*
 * The objects of the sandbox, in memory: what etcd, the registry, the garbage collector and the
 * namespace controller do in a cluster. REST and the in-process controllers work on it through the
 * same calls.
 *
 * Ownership: a stored tree is never changed after it was stored; a write stores a new tree. Trees
 * that come out are borrowed: valid until the next call that changes the store, or some thousand
 * that read, unless the comment says otherwise; to keep one longer take a reference with
 * json_object_get(). MUST NOT be modified: copy with json_copy() first. Trees that go in are
 * copied. Everything runs on the loop's thread. What is not in use is kept as text: 700,000 objects
 * take a gigabyte.
 *
 * Each change gets the next resourceVersion of the one global counter and one entry in the event
 * log. Watchers are told in order, from the loop, never from within a store call.
 */
#ifndef SANDBOX_OBJSTORE_H
#define SANDBOX_OBJSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/objfail.h"
#include "api/objkind.h"
#include "base/arena.h"
#include "base/json.h"
#include "net/loop.h"

struct objstore;

/* log_events: how many events can be resumed from before they are compacted; 0: 2048. Makes the
 * namespaces default and kube-system. */
struct objstore *objstore_new(struct loop *loop, size_t log_events);
void objstore_free(struct objstore *store); /* after the loop has ended */

/* By group and plural ("apps", "deployments"); NULL when there is no such kind or it is not served.
 */
const struct objkind *objstore_kind(struct objstore *store, const char *group, const char *plural);
/* By group and kind ("apps", "Deployment"). */
const struct objkind *objstore_kind_named(struct objstore *store, const char *group,
                                          const char *kind);
/* Calls fn for each kind, built-in ones first. */
void objstore_kinds(struct objstore *store, void (*fn)(void *arg, const struct objkind *kind),
                    void *arg);

/*
 * One call: where results go, on whose behalf, and why it failed.
 *
 *     struct objcall call = {.arena = arena, .manager = "deployment-controller"};
 *     if (objstore_merge(store, &call, pods, "test", "podinfo-1", OBJSUB_STATUS, patch, NULL) !=
 * ERR_OK) log_warn("pod_status", NULL, call.fail.message);
 */
struct objcall {
    struct arena *arena;
    const char *manager; /* field manager in managedFields; NULL: "unknown" */
    bool dry_run;        /* everything but storing */
    bool strict;         /* unknown fields of a custom kind are an error */
    bool quiet;          /* unknown fields make no warnings */
    const char *version; /* version of the trees that go in and out; NULL: the storage version */
    /* results */
    /* Array of texts about unknown fields and deprecations, or NULL. */
    struct json_object *warnings;
    struct objfail fail;
};

enum objsub { OBJSUB_NONE, OBJSUB_STATUS };

/* The object in storage version, or NULL. ns NULL or "" for cluster-wide kinds. */
struct json_object *objstore_get(struct objstore *store, const struct objkind *kind, const char *ns,
                                 const char *name);
/* Of any kind; NULL if there is none. */
struct json_object *objstore_by_uid(struct objstore *store, const char *uid);

/*
 * The objects in order of namespace and name; ns NULL is all namespaces. Returns the number; *items
 * is an array of the arena, whose trees it keeps alive. Not filtered.
 */
size_t objstore_list(struct objstore *store, struct arena *arena, const struct objkind *kind,
                     const char *ns, struct json_object ***items);

/*
 * Writes. On success *out (may be NULL) is the stored tree, kept alive by call->arena; with dry_run
 * the tree that would be stored. An update that changes nothing keeps the resourceVersion and makes
 * no event.
 *
 * Preconditions: metadata.resourceVersion and metadata.uid of the tree, where they are set;
 * ERR_CONFLICT otherwise. Metadata.namespace may be absent when ns is given.
 */
enum err objstore_create(struct objstore *store, struct objcall *call, const struct objkind *kind,
                         const char *ns, struct json_object *obj,
                         struct json_object **out) MUST_USE;
enum err objstore_update(struct objstore *store, struct objcall *call, const struct objkind *kind,
                         const char *ns, enum objsub sub, struct json_object *obj,
                         struct json_object **out) MUST_USE;
/* JSON merge patch of the object as it is. */
enum err objstore_merge(struct objstore *store, struct objcall *call, const struct objkind *kind,
                        const char *ns, const char *name, enum objsub sub,
                        struct json_object *patch, struct json_object **out) MUST_USE;

enum objpropagation { OBJ_BACKGROUND, OBJ_FOREGROUND, OBJ_ORPHAN };
struct objdelete {
    enum objpropagation propagation;
    const char *uid; /* preconditions, or NULL */
    const char *resource_version;
    /* < 0: the object's own (pods: terminationGracePeriodSeconds); 0: at once. */
    int64_t grace_seconds;
};
/*
 * Removes the object, or sets deletionTimestamp while finalizers or a graceful end are outstanding;
 * removing the last finalizer removes it. options NULL: background, no preconditions, grace 0.
 * *out: the last state, see create; *gone: whether it was removed.
 */
enum err objstore_delete(struct objstore *store, struct objcall *call, const struct objkind *kind,
                         const char *ns, const char *name, const struct objdelete *options,
                         struct json_object **out, bool *gone) MUST_USE;
/*
 * Objects of this kind end gracefully from now on: a delete with a grace period above 0 only sets
 * deletionTimestamp and deletionGracePeriodSeconds, and somebody (the workload controller, for
 * pods) must delete it again with grace_seconds 0 when it has ended.
 */
void objstore_graceful(struct objstore *store, const struct objkind *kind);

/*
 * Admission: called before an object of the kind is stored, after defaulting and before validation,
 * with the new tree (which may be changed) and the old one (NULL on create; obj NULL on delete).
 * Refuses by filling fail with objfail_set() or objfail_cause(). Hooks run in the order they were
 * added, also for dry runs. kind NULL: every kind.
 */
typedef void (*objadmit_fn)(void *arg, struct objfail *fail, const struct objkind *kind,
                            enum objop op, bool dry_run, struct json_object *obj,
                            struct json_object *old);
void objstore_on_admit(struct objstore *store, const struct objkind *kind, objadmit_fn fn,
                       void *arg);

/* ---- watching ---- */

enum objevent_type {
    OBJ_ADDED,
    OBJ_MODIFIED,
    OBJ_DELETED,
    OBJ_SYNCED /* initial state told; trees NULL */
};
struct objevent {
    enum objevent_type type;
    uint64_t resource_version;
    const struct objkind *kind;
    /* The new state; for DELETED the last one, with the version of its deletion. */
    struct json_object *object;
    struct json_object *before; /* NULL for ADDED */
    struct objstate *state;     /* for objevent_text() */
};
/* The new state as it is stored, as JSON; borrowed for the call. Not for SYNCED. */
const char *objevent_text(const struct objevent *event, size_t *len);
struct objwatch;
typedef void (*objwatch_fn)(void *arg, const struct objevent *event);

/*
 * Tells of every object there is as ADDED, then SYNCED, then each change in order. group and plural
 * name a kind that need not exist yet (a CRD may come later); both NULL: every kind. Trees are
 * borrowed for the call. fn may call the store and may stop any watch.
 */
struct objwatch *objstore_watch(struct objstore *store, const char *group, const char *plural,
                                objwatch_fn fn, void *arg);
/* Only changes after the given version; NULL when that version was compacted (410). 0: from now on.
 */
struct objwatch *objstore_watch_from(struct objstore *store, const char *group, const char *plural,
                                     uint64_t version, objwatch_fn fn, void *arg);
void objwatch_stop(struct objwatch *watch); /* fn is not called any more; NULL is allowed */

/* The version up to which fn was told of everything; what a bookmark may carry. 0: the initial
 * state is still due. */
uint64_t objwatch_version(const struct objwatch *watch);

/* The version of the last change; what a list carries. */
uint64_t objstore_version(const struct objstore *store);
/* The oldest version that can be resumed from. */
uint64_t objstore_oldest_version(const struct objstore *store);
/* Forgets the event log: resuming from before now is 410. */
void objstore_compact(struct objstore *store);

/* The tree in another version of its kind: a copy owned by the arena, or obj itself when it is that
 * already. */
struct json_object *objstore_as_version(struct arena *arena, const struct objkind *kind,
                                        struct json_object *obj, const char *version);

/* ---- objects in a file, one as JSON in each line ---- */

enum err objstore_save(struct objstore *store, const char *path, struct errinfo *ei) MUST_USE;
/*
 * Puts them in exactly as they are: nothing is checked but kind, name and uid, no watch is told,
 * and lists that were begun before expire. After a failure the lines before it stay.
 * ERR_NOT_FOUND when there is no file.
 */
enum err objstore_load(struct objstore *store, const char *path, struct errinfo *ei) MUST_USE;

#endif
