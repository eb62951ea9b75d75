/*
 * What a watch has shown of a resource, by namespace and name: of each object that its owner wants a
 * small digest and the object itself as compressed bytes (kube/pack.h), of all others no more than
 * that they exist. One callback tells of each change.
 *
 * What the owner has read or written itself may be newer than what the watch has shown; then it is
 * taken (store_learn()), and what the watch brings of before is passed over. The store never goes
 * back to an older version, and what is gone does not come back: resourceVersions of a resource
 * grow, and the watch has told all that happened up to its own position. Of a server whose versions
 * are no numbers only the watch is believed.
 */
#ifndef KUBE_STORE_H
#define KUBE_STORE_H

#include "kube/name_set.h"
#include "kube/pack.h"
#include "kube/version.h"
#include "kube/watch.h"

/* Every digest begins with this; the store fills and frees it. */
struct digest {
    const char *namespace_;
    const char *name;
    uint64_t uid;     /* name_hash() of it */
    uint64_t version; /* version_mark() of the resourceVersion */
    /* private: */
    struct packed *packed; /* NULL: the content is not known, or not kept */
    uint32_t round;        /* the list that it was last seen in */
    bool gone;             /* we know that it was deleted, and the watch has not said so yet */
};

struct store_spec {
    struct watch_spec watch; /* its no_keys is not used */
    /* Of the owner's digest, which begins with struct digest; 0: it is just that. */
    size_t size;
    /* Fills what lies behind the digest, which is filled already, the rest zeroed; may be NULL. */
    void (*fill)(void *arg, struct digest *digest, struct json_object *object);
    /* Frees what fill() put there; may be NULL. */
    void (*free_extra)(struct digest *digest);
    /* Asked whenever an object is shown: is more to be kept of it than that it exists? NULL: of all
     * objects. It is asked again when the object changes. */
    bool (*wants)(void *arg, const char *namespace_, const char *name);
    /* What of an object is to be packed: a new reference. NULL: no object is packed. A watch of
     * metadata brings no content: what is packed then comes from store_learn(). */
    struct json_object *(*lean)(void *arg, struct json_object *object);
    /* Shared with stores of other clusters, and the owner's; NULL: the store has one of its own. It
     * must outlive the store. */
    struct packer *packer;
    /* before NULL: new; after NULL: gone. Both NULL: synced. It may free the store. */
    void (*changed)(void *arg, const struct digest *before, const struct digest *after);
    /* A list has been handed over whole, or has failed; may be NULL. It must not free the store. */
    void (*settled)(void *arg);
    void *arg;
};

struct store;
struct store *store_new(struct loop *loop, struct kube_client *client,
                        const struct store_spec *spec);
void store_free(struct store *store);

enum store_known {
    STORE_ABSENT, /* there is no such object, if the store is synced */
    STORE_EXISTS, /* there is one, and no more is known of it */
    STORE_KEPT,   /* *out is its digest */
};
/* *out is NULL unless STORE_KEPT, and borrowed until the loop turns. */
enum store_known store_find(const struct store *store, const char *namespace_, const char *name,
                            const struct digest **out);
/* The digest, NULL unless STORE_KEPT. */
const struct digest *store_get(const struct store *store, const char *namespace_, const char *name);
/*
 * The object of a digest, owned by the arena. ERR_NOT_FOUND: its content is not kept, it must be
 * read. ERR_RETRY: there is no room for the tree now.
 */
enum err store_unpack(const struct store *store, const struct digest *digest, struct arena *arena,
                      struct json_object **out, struct errinfo *ei) MUST_USE;

/*
 * The content of an object as it was before it was deleted, if that was kept; the store remembers
 * the last STORE_LAST of them. ERR_NOT_FOUND: it does not know. ERR_RETRY: as store_unpack().
 */
enum { STORE_LAST = 128 };
enum err store_last(const struct store *store, const char *namespace_, const char *name,
                    struct arena *arena, struct json_object **out, struct errinfo *ei) MUST_USE;

/* The whole object as the API has answered a read or a write of ours. changed() is called if that
 * is news. */
void store_learn(struct store *store, struct json_object *object);
/* The API has told us that the object with this uid is gone. */
void store_learn_gone(struct store *store, const char *namespace_, const char *name, uint64_t uid);

/* Goes over the digests that are kept, in no order, as table_next() does. */
const struct digest *store_next(const struct store *store, size_t *index);
size_t store_count(const struct store *store); /* objects that exist */
/* Objects of which more is kept than that they exist. */
size_t store_kept(const struct store *store);
bool store_synced(const struct store *store);
const char *store_trouble(const struct store *store);
void store_look(const struct store *store, struct watch_look *out);

#endif
