#include "kube/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "kube/kept_object.h"

/* A deleted object as last seen. */
struct last {
    char *name; /* "NAMESPACE/NAME"; NULL if unused */
    struct compressed_object *packed;
};

struct store {
    struct store_spec spec; /* its watch part is not used after store_new() */
    struct watch *watch;
    struct table table;
    struct object_presence others; /* exist but are not wanted */
    struct object_presence listed; /* the same, for the list in progress */
    struct object_compressor *compressor;
    size_t n_packed, n_gone;
    struct last last[STORE_LAST]; /* deleted objects; a ring buffer */
    size_t last_at;               /* index of the next one */
    uint32_t round;
    bool listing, synced;
    int reporting; /* calls of changed() in progress */
    bool dead;     /* store_free() was called in one of them */
};

static void key_of(const void *item, const char **first, const char **second)
{
    const struct digest *digest = item;

    *first = digest->namespace_;
    *second = digest->name;
}

/* --- digests */

struct texts {
    const char *namespace_, *name;
    uint64_t uid, version;
};

static const char *text_at(struct json_object *metadata, const char *key)
{
    const char *text = json_str_at(metadata, key, NULL);

    return text ? text : "";
}

static struct texts texts_of(struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);

    return (struct texts){.namespace_ = text_at(metadata, "namespace"),
                          .name = text_at(metadata, "name"),
                          .uid = name_hash(NULL, text_at(metadata, "uid")),
                          .version = version_mark(text_at(metadata, "resourceVersion"))};
}

static const char *copy_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

/* One block: the owner's digest, followed by its two texts. */
static struct digest *digest_blank(size_t size, struct texts texts)
{
    size_t all = size + strlen(texts.namespace_) + strlen(texts.name) + 2;
    struct digest *digest = heap_alloc(all);
    char *at = (char *)digest + size;

    memset(digest, 0, size);
    digest->namespace_ = copy_text(&at, texts.namespace_);
    digest->name = copy_text(&at, texts.name);
    digest->uid = texts.uid;
    digest->version = texts.version;
    return digest;
}

static struct digest *digest_new(const struct store *store, struct json_object *object)
{
    size_t size = store->spec.size ? store->spec.size : sizeof(struct digest);
    struct digest *digest = digest_blank(size, texts_of(object));

    digest->round = store->round;
    if (store->spec.fill)
        store->spec.fill(store->spec.arg, digest, object);
    return digest;
}

static void digest_free(void (*free_extra)(struct digest *digest), struct digest *digest)
{
    if (!digest)
        return;
    if (free_extra && !digest->gone)
        free_extra(digest);
    compressed_object_free(digest->packed);
    free(digest);
}

static struct digest *find(const struct store *store, struct texts texts)
{
    return table_get(&store->table, texts.namespace_, texts.name);
}

static void count(struct store *store, const struct digest *digest, size_t one)
{
    if (digest && digest->packed)
        store->n_packed += one;
    if (digest && digest->gone)
        store->n_gone += one;
}

/* Returns the replaced digest. */
static struct digest *insert(struct store *store, struct digest *digest)
{
    struct digest *before = table_put(&store->table, digest);

    count(store, before, (size_t)-1);
    count(store, digest, 1);
    return before;
}

static struct digest *take_out(struct store *store, struct texts texts)
{
    struct digest *digest = table_take(&store->table, texts.namespace_, texts.name);

    count(store, digest, (size_t)-1);
    return digest;
}

/* --- contents */

static void renew_dictionary(struct store *store)
{
    struct compressed_object ***all =
        heap_array(store->n_packed + STORE_LAST, sizeof(struct compressed_object **));
    struct digest *digest;
    size_t count = 0;

    for (size_t i = 0; (digest = table_next(&store->table, &i));)
        if (digest->packed)
            all[count++] = &digest->packed;
    for (size_t i = 0; i < STORE_LAST; i++)
        if (store->last[i].packed)
            all[count++] = &store->last[i].packed;
    if (store->spec.compressor)
        object_compressor_train_once(store->compressor, all, count);
    else
        object_compressor_retrain(store->compressor, all, count);
    free(all);
}

/* The digest must be in the table. */
static void keep_content(struct store *store, struct digest *digest, struct json_object *object)
{
    if (digest->packed || !store->spec.strip)
        return;
    struct json_object *strip = store->spec.strip(store->spec.arg, object);
    digest->packed = object_compress(store->compressor, strip);
    json_object_put(strip);
    store->n_packed += digest->packed != NULL;
    if (digest->packed && object_compressor_grows(store->compressor, store->n_packed))
        renew_dictionary(store);
}

enum err store_unpack(const struct store *store, const struct digest *digest, struct arena *arena,
                      struct json_object **out, struct errinfo *ei)
{
    if (!digest->packed)
        return err_set(ei, ERR_NOT_FOUND, "the content is not kept");
    return object_decompress(store->compressor, digest->packed, arena, out, ei);
}

static char *last_name(const char *namespace_, const char *name)
{
    size_t size = strlen(namespace_) + strlen(name) + 2;
    char *out = heap_alloc(size);

    snprintf(out, size, "%s/%s", namespace_, name);
    return out;
}

static void last_fini(struct last *last)
{
    free(last->name);
    compressed_object_free(last->packed);
    *last = (struct last){0};
}

/* Takes the content of a digest that is no longer in the table. */
static void keep_last(struct store *store, struct digest *digest)
{
    struct last *last = &store->last[store->last_at];

    if (!digest->packed)
        return;
    last_fini(last);
    *last = (struct last){.name = last_name(digest->namespace_, digest->name),
                          .packed = digest->packed};
    digest->packed = NULL;
    store->last_at = (store->last_at + 1) % STORE_LAST;
}

enum err store_last(const struct store *store, const char *namespace_, const char *name,
                    struct arena *arena, struct json_object **out, struct errinfo *ei)
{
    const char *wanted = arena_printf(arena, "%s/%s", namespace_, name);

    for (size_t i = 1; i <= STORE_LAST; i++) {
        const struct last *last = &store->last[(store->last_at + STORE_LAST - i) % STORE_LAST];
        if (last->name && strcmp(last->name, wanted) == 0)
            return object_decompress(store->compressor, last->packed, arena, out, ei);
    }
    return err_set(ei, ERR_NOT_FOUND, "no object of this name was seen to go");
}

/* --- changes */

static void destroy(struct store *store)
{
    struct digest *digest = NULL;

    watch_free(store->watch);
    for (size_t i = 0; (digest = table_next(&store->table, &i));)
        digest_free(store->spec.free_extra, digest);
    table_fini(&store->table);
    object_presence_fini(&store->others);
    object_presence_fini(&store->listed);
    for (size_t i = 0; i < STORE_LAST; i++)
        last_fini(&store->last[i]);
    if (!store->spec.compressor)
        object_compressor_free(store->compressor);
    free(store);
}

/* Calls changed(), and frees `before`, which is no longer in the table. Returns false if changed()
 * has freed the store. */
static bool report(struct store *store, struct digest *before, const struct digest *after)
{
    store->reporting++;
    if (store->spec.changed)
        store->spec.changed(store->spec.arg, before, after);
    store->reporting--;
    digest_free(store->spec.free_extra, before);
    if (!store->dead)
        return true;
    if (store->reporting == 0)
        destroy(store);
    return false;
}

/* Reports the deletion of a digest that is no longer in the table. Returns the same as report(). */
static bool forget(struct store *store, struct digest *digest)
{
    keep_last(store, digest);
    if (!digest->gone)
        return report(store, digest, NULL);
    digest_free(NULL, digest);
    return true;
}

static bool is_wanted(const struct store *store, struct texts texts)
{
    return !store->spec.wants || store->spec.wants(store->spec.arg, texts.namespace_, texts.name);
}

static bool is_other(const struct store *store, const char *namespace_, const char *name)
{
    return object_presence_has(&store->others, namespace_, name) ||
           object_presence_has(&store->listed, namespace_, name);
}

static bool remove_other(struct store *store, struct texts texts)
{
    bool one = object_presence_remove(&store->others, texts.namespace_, texts.name);

    return object_presence_remove(&store->listed, texts.namespace_, texts.name) || one;
}

/* Stores the object's new state. `content`: the object is complete. Returns false if the store was
 * freed. */
static bool replace(struct store *store, struct json_object *object, bool content, bool listed)
{
    struct texts texts = texts_of(object);
    struct digest *before = find(store, texts);

    /* Another object of the same name was deleted before. */
    if (before && before->uid != texts.uid && !forget(store, take_out(store, texts)))
        return false;
    remove_other(store, texts);
    struct digest *after = digest_new(store, object);
    after->round = listed ? store->round : store->round - 1;
    before = insert(store, after);
    if (content)
        keep_content(store, after, object);
    return report(store, before, after);
}

/* Keeps only the existence of an object that is not wanted. */
static void drop(struct store *store, struct texts texts)
{
    object_presence_add(store->listing ? &store->listed : &store->others, texts.namespace_,
                        texts.name);
    digest_free(store->spec.free_extra, take_out(store, texts));
}

/* Handles an object from the watch. */
static void on_shown(struct store *store, struct json_object *object, bool content)
{
    struct texts texts = texts_of(object);
    uint64_t version = version_number(texts.version);
    struct digest *known = find(store, texts);

    if (known && version > 0 && version < version_number(known->version))
        return; /* a newer version is known */
    bool same = known && known->uid == texts.uid;
    if (same && known->gone) {
        known->round = store->round;
        return;
    }
    if (!is_wanted(store, texts)) {
        drop(store, texts);
        return;
    }
    if (same && known->version == texts.version) {
        known->round = store->round;
        if (content)
            keep_content(store, known, object);
        return;
    }
    replace(store, object, content, true);
}

/* Handles a deletion from the watch. */
static void on_shown_gone(struct store *store, struct json_object *object)
{
    struct texts texts = texts_of(object);
    uint64_t version = version_number(texts.version);
    struct digest *known = find(store, texts);
    bool other = remove_other(store, texts);

    if (known && version > 0 && version < version_number(known->version))
        return; /* its successor is already known */
    if (known)
        known = take_out(store, texts);
    else if (other && is_wanted(store, texts))
        known = digest_new(store, object); /* it was read directly, and the store had no content */
    if (known)
        forget(store, known);
}

static void list_begins(struct store *store)
{
    store->listing = true;
    store->round++;
    object_presence_fini(&store->listed);
    object_presence_init(&store->listed);
}

static bool is_stale(const struct digest *digest, uint32_t round, uint64_t position)
{
    return digest->round != round && version_number(digest->version) <= position;
}

/* Removes objects missing from the list, unless they were created after it. */
static bool sweep(struct store *store)
{
    uint64_t position = version_number(version_mark(watch_position(store->watch)));
    void (*free_extra)(struct digest * digest) = store->spec.free_extra;
    struct digest *digest, **stale;
    size_t n = 0;
    bool alive = true;

    for (size_t i = 0; (digest = table_next(&store->table, &i));)
        n += is_stale(digest, store->round, position);
    if (n == 0)
        return true;
    stale = heap_array(n, sizeof(struct digest *));
    n = 0;
    for (size_t i = 0; (digest = table_next(&store->table, &i));)
        if (is_stale(digest, store->round, position))
            stale[n++] = digest;
    for (size_t i = 0; i < n; i++)
        take_out(store, (struct texts){stale[i]->namespace_, stale[i]->name, 0, 0});
    for (size_t i = 0; i < n; i++) {
        if (alive)
            alive = forget(store, stale[i]);
        else
            digest_free(free_extra, stale[i]);
    }
    free(stale);
    return alive;
}

static void list_ends(struct store *store)
{
    struct object_presence listed = store->listed;

    store->listing = false;
    object_presence_fini(&store->others);
    store->others = listed;
    object_presence_init(&store->listed);
    store->synced = true;
    if (sweep(store) && report(store, NULL, NULL) && store->spec.settled)
        store->spec.settled(store->spec.arg);
}

static void on_event(void *arg, enum watch_event event, struct json_object *object)
{
    struct store *store = arg;

    switch (event) {
    case WATCH_PUT:
        on_shown(store, object, !store->spec.watch.metadata_only);
        break;
    case WATCH_OUTLINE:
        on_shown(store, object, false);
        break;
    case WATCH_GONE:
        on_shown_gone(store, object);
        break;
    case WATCH_LISTING:
        list_begins(store);
        break;
    case WATCH_SYNCED:
        list_ends(store);
        break;
    case WATCH_FAILED:
        if (store->spec.settled)
            store->spec.settled(store->spec.arg);
        break;
    }
}

/* --- changes known to the owner */

void store_learn(struct store *store, struct json_object *object)
{
    struct texts texts = texts_of(object);
    uint64_t version = version_number(texts.version);
    struct digest *known = find(store, texts);

    if (version == 0 || !is_wanted(store, texts))
        return;
    if (known && known->uid == texts.uid) {
        if (known->gone)
            return;
        if (known->version == texts.version)
            keep_content(store, known, object);
    }
    if (known ? version_number(known->version) >= version
              : !is_other(store, texts.namespace_, texts.name) &&
                    version <= version_number(version_mark(watch_position(store->watch))))
        return; /* the watch has a newer version, or its deletion */
    replace(store, object, true, false);
}

void store_learn_gone(struct store *store, const char *namespace_, const char *name, uint64_t uid)
{
    struct digest *known = table_get(&store->table, namespace_, name);

    if (!known || known->gone || known->uid != uid)
        return;
    struct texts texts = {known->namespace_, known->name, uid, known->version};
    struct digest *mark = digest_blank(sizeof(*mark), texts);
    mark->round = known->round;
    mark->gone = true;
    struct digest *before = insert(store, mark);
    keep_last(store, before);
    report(store, before, NULL);
}

/* --- public functions */

struct store *store_new(struct loop *loop, struct kube_client *client,
                        const struct store_spec *spec)
{
    struct store *store = heap_alloc(sizeof(*store));

    *store =
        (struct store){.spec = *spec,
                       .compressor = spec->compressor ? spec->compressor : object_compressor_new(),
                       .round = 1};
    store->spec.watch.no_keys = true;
    table_init(&store->table, key_of);
    object_presence_init(&store->others);
    object_presence_init(&store->listed);
    store->watch = watch_new(loop, client, &store->spec.watch, on_event, store);
    return store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    if (store->reporting > 0)
        store->dead = true;
    else
        destroy(store);
}

enum store_known store_find(const struct store *store, const char *namespace_, const char *name,
                            const struct digest **out)
{
    const struct digest *known = table_get(&store->table, namespace_, name);

    *out = known && !known->gone ? known : NULL;
    if (known)
        return known->gone ? STORE_ABSENT : STORE_KEPT;
    return is_other(store, namespace_, name) ? STORE_EXISTS : STORE_ABSENT;
}

const struct digest *store_get(const struct store *store, const char *namespace_, const char *name)
{
    const struct digest *digest;

    store_find(store, namespace_, name, &digest);
    return digest;
}

const struct digest *store_next(const struct store *store, size_t *index)
{
    const struct digest *digest;

    do
        digest = table_next(&store->table, index);
    while (digest && digest->gone);
    return digest;
}

size_t store_count(const struct store *store)
{
    return store->table.count - store->n_gone + store->others.count;
}

size_t store_kept(const struct store *store)
{
    return store->table.count - store->n_gone;
}

bool store_synced(const struct store *store)
{
    return store->synced;
}

const char *store_trouble(const struct store *store)
{
    return watch_trouble(store->watch);
}

void store_snapshot(const struct store *store, struct watch_snapshot *out)
{
    watch_snapshot(store->watch, out);
}
