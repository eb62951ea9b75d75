/* The namespaces, names and uids of what a watch has reported: what a list must hold again, or has
 * vanished. */
#ifndef KUBE_WATCH_KEYS_H
#define KUBE_WATCH_KEYS_H

#include "base/table.h"

struct watch_key {
    const char *namespace_; /* "" for cluster-scoped objects; all three point behind the struct */
    const char *name;
    const char *uid;
    uint32_t round; /* the list that it was last seen in */
};

struct watch_keys {
    struct table table;
    uint32_t round;
};

void watch_keys_init(struct watch_keys *keys);
void watch_keys_fini(struct watch_keys *keys);
/* Begins a list: what is not put from here on is stale. */
void watch_keys_begin(struct watch_keys *keys);
/* Returns the key that the object replaces because its uid differs (the caller frees it with
 * free()), else NULL. */
struct watch_key *watch_keys_put(struct watch_keys *keys, const char *namespace_, const char *name,
                                 const char *uid);
void watch_keys_remove(struct watch_keys *keys, const char *namespace_, const char *name);
/* Takes out all stale keys. A heap array of heap keys, both the caller's; NULL and 0 if there are
 * none. */
struct watch_key **watch_keys_take_stale(struct watch_keys *keys, size_t *count);

#endif
