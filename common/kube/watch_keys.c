#include "kube/watch_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static void key_of(const void *item, const char **first, const char **second)
{
    const struct watch_key *key = item;

    *first = key->namespace_;
    *second = key->name;
}

void watch_keys_init(struct watch_keys *keys)
{
    *keys = (struct watch_keys){0};
    table_init(&keys->table, key_of);
}

void watch_keys_fini(struct watch_keys *keys)
{
    void *key = NULL;

    for (size_t i = 0; (key = table_next(&keys->table, &i));)
        free(key);
    table_fini(&keys->table);
}

void watch_keys_begin(struct watch_keys *keys)
{
    keys->round++;
}

/* One block: the struct and its three texts. */
static struct watch_key *key_new(const char *namespace_, const char *name, const char *uid)
{
    size_t sizes[] = {strlen(namespace_) + 1, strlen(name) + 1, strlen(uid) + 1};
    struct watch_key *key = heap_alloc(sizeof(*key) + sizes[0] + sizes[1] + sizes[2]);
    char *at = (char *)(key + 1);

    key->namespace_ = memcpy(at, namespace_, sizes[0]);
    key->name = memcpy(at + sizes[0], name, sizes[1]);
    key->uid = memcpy(at + sizes[0] + sizes[1], uid, sizes[2]);
    return key;
}

struct watch_key *watch_keys_put(struct watch_keys *keys, const char *namespace_, const char *name,
                                 const char *uid)
{
    struct watch_key *key = table_get(&keys->table, namespace_, name);
    struct watch_key *replaced = NULL;

    if (!key || strcmp(key->uid, uid) != 0) {
        key = key_new(namespace_, name, uid);
        replaced = table_put(&keys->table, key);
    }
    key->round = keys->round;
    return replaced;
}

void watch_keys_remove(struct watch_keys *keys, const char *namespace_, const char *name)
{
    free(table_take(&keys->table, namespace_, name));
}

struct watch_key **watch_keys_take_stale(struct watch_keys *keys, size_t *count)
{
    struct watch_key **stale = NULL;
    struct watch_key *key = NULL;

    *count = 0;
    for (size_t i = 0; (key = table_next(&keys->table, &i));)
        *count += key->round != keys->round;
    if (*count == 0)
        return NULL;
    stale = heap_array(*count, sizeof(struct watch_key *));
    size_t at = 0;
    for (size_t i = 0; (key = table_next(&keys->table, &i));)
        if (key->round != keys->round)
            stale[at++] = key;
    for (at = 0; at < *count; at++)
        table_take(&keys->table, stale[at]->namespace_, stale[at]->name);
    return stale;
}
