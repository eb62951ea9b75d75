/*
 * A watched set of small digests, by namespace and name. The owner's digest function turns each
 * object into a heap block; the tree is never kept. One callback tells of each change.
 */
#ifndef KUBE_STORE_H
#define KUBE_STORE_H

#include "kube/watch.h"

/* Every digest begins with this; the store fills and frees it. */
struct digest {
    const char *namespace_;
    const char *name;
    const char *uid;
    const char *resource_version;
    int64_t generation;
    bool deleting; /* deletionTimestamp is set */
};

struct store_spec {
    struct watch_spec watch;
    /*
     * A heap block of at least struct digest, zeroed where unused (NULL: plain struct digest). The
     * store fills in the digest part afterwards.
     */
    struct digest *(*make)(void *arg, struct json_object *object);
    /* Frees what make() put behind the digest; may be NULL. */
    void (*free_extra)(struct digest *digest);
    /* before NULL: new; after NULL: gone. Both NULL: synced. */
    void (*changed)(void *arg, const struct digest *before, const struct digest *after);
    void *arg;
};

struct store;
struct store *store_new(struct loop *loop, struct kube_client *client,
                        const struct store_spec *spec);
void store_free(struct store *store);
const struct digest *store_get(const struct store *store, const char *namespace_,
                               const char *name); /* NULL: none */
size_t store_count(const struct store *store);
bool store_synced(const struct store *store);
const char *store_trouble(const struct store *store);
void store_look(const struct store *store, struct watch_look *out);

#endif
