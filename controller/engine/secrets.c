#include "engine/secrets.h"

#include <string.h>

#include "base/json.h"
#include "engine/cache.h"

struct kept {
    struct kept *next;
    char *key;                /* "namespace/name" */
    struct json_object *tree; /* holds a reference */
};

struct secrets {
    struct engine_context *context;
    struct kept *kept; /* most recently used first */
    int count;
};

struct secret_read {
    struct secrets *secrets;
    char *key;
    struct object_read *read;
    read_done_fn done;
    void *arg;
};

struct secrets *secrets_new(struct engine_context *context)
{
    struct secrets *secrets = heap_alloc(sizeof(*secrets));
    *secrets = (struct secrets){.context = context};
    return secrets;
}

static void kept_free(struct kept *kept)
{
    json_object_put(kept->tree);
    free(kept->key);
    free(kept);
}

void secrets_free(struct secrets *secrets)
{
    if (!secrets)
        return;
    while (secrets->kept) {
        struct kept *kept = secrets->kept;
        secrets->kept = kept->next;
        kept_free(kept);
    }
    free(secrets);
}

/* Removes it from the list. */
static struct kept *take(struct secrets *secrets, const char *key)
{
    for (struct kept **link = &secrets->kept; *link; link = &(*link)->next) {
        struct kept *kept = *link;
        if (strcmp(kept->key, key) != 0)
            continue;
        *link = kept->next;
        secrets->count--;
        return kept;
    }
    return NULL;
}

static void put_first(struct secrets *secrets, struct kept *kept)
{
    kept->next = secrets->kept;
    secrets->kept = kept;
    secrets->count++;
    if (secrets->count <= SECRETS_MAX)
        return;
    struct kept **link = &secrets->kept;
    while ((*link)->next)
        link = &(*link)->next;
    kept_free(*link);
    *link = NULL;
    secrets->count--;
}

bool secrets_keep(const struct secrets *secrets, const char *namespace_, const char *name)
{
    size_t len = strlen(namespace_);
    for (const struct kept *kept = secrets->kept; kept; kept = kept->next)
        if (strncmp(kept->key, namespace_, len) == 0 && kept->key[len] == '/' &&
            strcmp(kept->key + len + 1, name) == 0)
            return true;
    return false;
}

static bool is_current(const struct kept *kept, const struct cached_object *seen)
{
    const char *version = json_str_at(kept->tree, "metadata", "resourceVersion", NULL);
    return version && version_mark(version) == seen->digest.version;
}

bool secrets_cached(struct secrets *secrets, const char *namespace_, const char *name,
                    struct json_object **tree)
{
    const struct cached_object *seen;
    cache_add(secrets->context->cache, &kube_secrets);
    if (!cache_get(secrets->context->cache, &kube_secrets, namespace_, name, &seen))
        return false;
    *tree = NULL;
    char *key = heap_printf("%s/%s", namespace_, name);
    struct kept *kept = take(secrets, key);
    free(key);
    if (kept && seen && is_current(kept, seen)) {
        put_first(secrets, kept);
        *tree = kept->tree;
        return true;
    }
    if (kept)
        kept_free(kept);
    return !seen;
}

static void on_read(void *arg, enum err err, struct json_object *tree, const struct errinfo *info)
{
    struct secret_read *read = arg;
    struct secrets *secrets = read->secrets;
    if (err == ERR_NOT_FOUND) /* Secrets are served by every API server */
        err = ERR_OK;
    if (err == ERR_OK) {
        struct kept *old = take(secrets, read->key);
        if (old)
            kept_free(old);
        if (tree) {
            struct kept *kept = heap_alloc(sizeof(*kept));
            *kept = (struct kept){.key = heap_strdup(read->key), .tree = json_object_get(tree)};
            put_first(secrets, kept);
            cache_learn(secrets->context->cache, &kube_secrets, tree);
        }
    }
    read->done(read->arg, err, tree, info);
    free(read->key);
    free(read);
}

struct secret_read *secrets_read(struct secrets *secrets, const char *namespace_, const char *name,
                                 read_done_fn done, void *arg)
{
    struct secret_read *read = heap_alloc(sizeof(*read));
    *read = (struct secret_read){.secrets = secrets,
                                 .key = heap_printf("%s/%s", namespace_, name),
                                 .done = done,
                                 .arg = arg};
    read->read =
        object_read_start(secrets->context, &kube_secrets, namespace_, name, NULL, on_read, read);
    return read;
}

void secret_read_free(struct secret_read *read)
{
    if (!read)
        return;
    object_read_free(read->read);
    free(read->key);
    free(read);
}
