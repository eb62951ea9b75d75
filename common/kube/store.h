/*
 * A cache of one resource, filled by a watch, by namespace and name: for each object that its owner
 * wants, a small digest and the compressed object (kube/kept_object.h); for all others, only their
 * existence. One callback reports each change.
 *
 * Objects that the owner has read or written may be newer than the watch; store_learn() takes them,
 * and older events of the watch are skipped. The store never goes back to an older version, and
 * deleted objects do not come back: resourceVersions of a resource grow, and the watch has reported
 * everything up to its own position. If the server's versions are not numbers, only the watch
 * counts.
 */
#ifndef KUBE_STORE_H
#define KUBE_STORE_H

#include "kube/kept_object.h"
#include "kube/resource.h"
#include "kube/watch.h"

/* Every digest begins with this; the store fills and frees it. */
struct digest {
    const char *namespace_;
    const char *name;
    uint64_t uid;     /* name_hash() of the uid */
    uint64_t version; /* version_mark() of the resourceVersion */
    /* private: */
    struct compressed_object *packed; /* NULL if the content is unknown, or not kept */
    uint32_t round;                   /* number of the list that it was last seen in */
    bool gone;                        /* known to be deleted, before the watch reports it */
};

struct store_spec {
    struct watch_spec watch; /* its no_keys is not used */
    /* Size of the owner's digest, which begins with struct digest; 0 for just that. */
    size_t size;
    /* Fills the owner's fields, which are zeroed; may be NULL. */
    void (*fill)(void *arg, struct digest *digest, struct json_object *object);
    /* Frees what fill() has allocated; may be NULL. */
    void (*free_extra)(struct digest *digest);
    /* Called for each object and each change of it: false keeps only its existence. NULL wants
     * all. */
    bool (*wants)(void *arg, const char *namespace_, const char *name);
    /* Strips an object before compression; returns a new reference. NULL: no object is compressed.
     * A watch of metadata brings no content, which then comes from store_learn(). */
    struct json_object *(*strip)(void *arg, struct json_object *object);
    /* Shared with other stores; must outlive them. NULL: the store makes its own. */
    struct object_compressor *compressor;
    /* before is NULL for a new object, after for a deleted one; both are NULL when synced. May free
     * the store. */
    void (*changed)(void *arg, const struct digest *before, const struct digest *after);
    /* Called when a list is complete, or has failed; may be NULL. Must not free the store. */
    void (*settled)(void *arg);
    void *arg;
};

struct store;
struct store *store_new(struct loop *loop, struct kube_client *client,
                        const struct store_spec *spec);
void store_free(struct store *store);

enum store_known {
    STORE_ABSENT, /* the object does not exist, if the store is synced */
    STORE_EXISTS, /* it exists, and no more is known */
    STORE_KEPT,   /* *out is its digest */
};
/* *out is NULL unless STORE_KEPT, and borrowed until the next loop iteration. */
enum store_known store_find(const struct store *store, const char *namespace_, const char *name,
                            const struct digest **out);
/* The digest, NULL unless STORE_KEPT. */
const struct digest *store_get(const struct store *store, const char *namespace_, const char *name);
/*
 * The object of a digest, owned by the arena. ERR_NOT_FOUND if its content is not kept, and must be
 * read from the API. ERR_RETRY if there is no room for the tree now.
 */
enum err store_unpack(const struct store *store, const struct digest *digest, struct arena *arena,
                      struct json_object **out, struct errinfo *ei) MUST_USE;

/*
 * The content, if it was kept, of an object just before its deletion; only for the last STORE_LAST
 * deletions. ERR_NOT_FOUND if unknown. ERR_RETRY like store_unpack().
 */
enum { STORE_LAST = 128 };
enum err store_last(const struct store *store, const char *namespace_, const char *name,
                    struct arena *arena, struct json_object **out, struct errinfo *ei) MUST_USE;

/* Takes the whole object from an answer of the API. Calls changed() if it is newer. */
void store_learn(struct store *store, struct json_object *object);
/* Takes the deletion of the object with this uid from an answer of the API. */
void store_learn_gone(struct store *store, const char *namespace_, const char *name, uint64_t uid);

/* Iterates over the digests that are kept, in no order, like table_next(). */
const struct digest *store_next(const struct store *store, size_t *index);
size_t store_count(const struct store *store); /* objects that exist */
/* Objects with a digest. */
size_t store_kept(const struct store *store);
bool store_synced(const struct store *store);
const char *store_trouble(const struct store *store);
void store_snapshot(const struct store *store, struct watch_snapshot *out);

#endif
