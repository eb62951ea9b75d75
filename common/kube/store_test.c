#include "kube/store.h"

#include "kube/fake_world.h"
#include "kube/kept_object.h"

/* The reported state, name by name; must agree with each `before`. */
struct mirror {
    struct object_compressor *compressor; /* NULL for its own */
    struct {
        char name[24];
        uint64_t version, uid; /* marks */
    } rows[WORLD_MAX];
    int count;
    int synced;
    int told;
    int made; /* live digests with an extra */
    int settled;
    bool wants_all;
    struct store *store;
    int free_at; /* the call in which the store is freed; 0 for never */
};

struct extra {
    struct digest digest;
    char *value;
};

static struct mirror *making;

static void fill(void *arg, struct digest *digest, struct json_object *object)
{
    ((struct extra *)digest)->value = heap_strdup(json_str_at(object, "data", "v", NULL));
    making->made++;
}

static struct json_object *strip(void *arg, struct json_object *object)
{
    return json_object_get(object);
}

/* Wants all objects except those whose names begin with an x. */
static bool wants(void *arg, const char *namespace_, const char *name)
{
    struct mirror *m = arg;

    return name[0] != 'x' || m->wants_all;
}

static void free_extra(struct digest *digest)
{
    free(((struct extra *)digest)->value);
    making->made--;
}

static int row_of(const struct mirror *m, const char *name)
{
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->rows[i].name, name) == 0)
            return i;
    return -1;
}

static void changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct mirror *m = arg;
    const struct digest *any = before ? before : after;

    m->told++;
    if (!any) {
        m->synced++;
    } else {
        int row = row_of(m, any->name);
        assert_int_equal(row >= 0, before != NULL);
        assert_string_equal(any->namespace_, "test");
        if (before) {
            assert_int_equal(before->version, m->rows[row].version);
            assert_int_equal(before->uid, m->rows[row].uid);
        }
        if (before && after)
            assert_int_equal(before->uid, after->uid);
        if (row < 0)
            row = m->count++;
        if (after) {
            assert_int_equal(version_mark(((const struct extra *)after)->value), after->version);
            snprintf(m->rows[row].name, sizeof(m->rows[row].name), "%s", after->name);
            m->rows[row].version = after->version;
            m->rows[row].uid = after->uid;
        } else {
            m->rows[row] = m->rows[--m->count];
        }
    }
    if (m->told == m->free_at) {
        store_free(m->store);
        m->store = NULL;
        if (before)
            assert_non_null(before->name); /* valid until we return */
    }
}

static void settled(void *arg)
{
    ((struct mirror *)arg)->settled++;
}

static struct store *start(struct world *w, struct mirror *m)
{
    making = m;
    m->store = store_new(
        w->api->loop, w->api->client,
        &(struct store_spec){
            .watch = {.resource = &kube_configmaps, .namespace_ = "test", .timing = world_quick},
            .size = sizeof(struct extra),
            .fill = fill,
            .free_extra = free_extra,
            .wants = wants,
            .strip = strip,
            .changed = changed,
            .settled = settled,
            .compressor = m->compressor,
            .arg = m});
    return m->store;
}

/* The kept content is that of the version. */
static bool holds(const struct mirror *m, const char *name, const char *version)
{
    struct arena *arena = arena_new();
    const struct digest *digest = store_get(m->store, "test", name);
    struct json_object *tree = NULL;
    bool same = digest && store_unpack(m->store, digest, arena, &tree, NULL) == ERR_OK &&
                strcmp(json_str_at(tree, "data", "v", NULL), version) == 0;

    arena_free(arena);
    return same;
}

/* The store and the reports agree with the world. */
static bool agrees(const struct world *w, const struct mirror *m)
{
    if (!store_synced(m->store) || (int)store_count(m->store) != world_count(w) ||
        m->count != world_count(w) || m->made != m->count)
        return false;
    for (int i = 0; i < WORLD_MAX; i++) {
        const struct world_object *object = &w->objects[i];
        char version[16];
        char uid[16];
        if (!object->uid)
            continue;
        snprintf(version, sizeof(version), "%d", object->version);
        snprintf(uid, sizeof(uid), "u%d", object->uid);
        const struct digest *digest = store_get(m->store, "test", object->name);
        int row = row_of(m, object->name);
        if (!digest || row < 0 || digest->version != version_mark(version) ||
            digest->uid != name_hash(NULL, uid) || m->rows[row].version != version_mark(version))
            return false;
        if (!holds(m, object->name, version))
            return false;
    }
    return true;
}

CASE(follows_the_world)
{
    struct world *w = world_start();
    struct mirror m = {0};

    for (const char *name = "a\0b\0c\0d\0e\0f\0g\0"; *name; name += 2)
        world_put(w, name);
    start(w, &m);
    assert_int_equal(m.told, 0);
    assert_false(store_synced(m.store));
    FAKE_WAIT(w->api, agrees(w, &m));
    assert_int_equal(m.told, 8);
    assert_int_equal(m.synced, 1);
    assert_null(store_trouble(m.store));
    assert_null(store_get(m.store, "other", "a"));
    assert_null(store_get(m.store, NULL, "a"));
    assert_int_equal(store_count(m.store), 7);

    world_put(w, "a");
    world_put(w, "h");
    world_delete(w, "b");
    FAKE_WAIT(w->api, agrees(w, &m));
    assert_int_equal(m.told, 11);
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
}

/* A list without changes reports only its completion. */
CASE(what_is_known_is_not_told_again)
{
    struct world *w = world_start();
    struct mirror m = {0};

    world_put(w, "a");
    world_put(w, "b");
    start(w, &m);
    FAKE_WAIT(w->api, agrees(w, &m) && w->streams);
    int told = m.told;
    world_compact(w);
    world_end_streams(w);
    FAKE_WAIT(w->api, m.synced == 2);
    assert_int_equal(m.told, told + 1);
    store_free(m.store);
    world_stop(w);
}

CASE(is_freed_in_any_callback)
{
    for (int at = 1; at <= 10; at++) {
        struct world *w = world_start();
        struct mirror m = {.free_at = at};
        for (const char *name = "a\0b\0c\0d\0e\0"; *name; name += 2)
            world_put(w, name);
        start(w, &m);
        FAKE_WAIT(w->api, !m.store || (m.told == 6 && w->streams));
        if (m.store) {
            world_put(w, "a");
            world_delete(w, "b");
            world_put(w, "b");
            world_delete(w, "c");
        }
        FAKE_WAIT(w->api, !m.store);
        LOOP_FOR(w->api->loop, 20);
        assert_int_equal(m.told, at);
        assert_int_equal(m.made, 0);
        world_stop(w);
    }
}

/* Runs a store with a fault at request n. Returns the number of requests. */
static int live(enum fault fault, int n)
{
    struct world *w = world_start();
    struct mirror m = {0};

    for (const char *name = "a\0b\0c\0d\0e\0f\0g\0h\0"; *name; name += 2)
        world_put(w, name);
    w->fault = fault;
    w->fault_at = n;
    start(w, &m);
    FAKE_WAIT(w->api, agrees(w, &m));
    world_put(w, "a");
    world_delete(w, "b");
    world_delete(w, "c");
    world_put(w, "c"); /* recreated under the same name */
    world_put(w, "i");
    FAKE_WAIT(w->api, agrees(w, &m));
    /* a gap whose history is lost */
    FAKE_WAIT(w->api, w->streams);
    w->mute = true;
    world_put(w, "d");
    world_delete(w, "e");
    world_delete(w, "f");
    world_put(w, "f");
    world_put(w, "j");
    world_compact(w);
    world_end_streams(w);
    w->mute = false;
    FAKE_WAIT(w->api, agrees(w, &m));
    world_put(w, "a");
    FAKE_WAIT(w->api, agrees(w, &m));
    FAKE_WAIT(w->api, !store_trouble(m.store));
    int requests = w->api->count;
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
    return requests;
}

CASE(every_request_may_fail)
{
    int total = live(FAULT_500, 0);

    assert_in_range(total, 8, 12);
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
        for (int n = 1; n <= total; n++)
            live(fault, n);
}

/* --- unwanted objects, and store_learn() */

static void learn(struct world *w, struct mirror *m, const char *name, int uid, int version)
{
    struct world_object object = {.uid = uid, .version = version};
    struct arena *arena = arena_new();
    struct json_object *tree = NULL;
    char text[256];

    snprintf(object.name, sizeof(object.name), "%s", name);
    world_json(&object, text);
    assert_int_equal(json_parse(arena, text, strlen(text), sizeof(text), &tree, NULL), ERR_OK);
    store_learn(m->store, tree);
    arena_free(arena);
}

static enum store_known known(const struct mirror *m, const char *name)
{
    const struct digest *digest;
    enum store_known known = store_find(m->store, "test", name, &digest);

    assert_int_equal(known == STORE_KEPT, digest != NULL);
    return known;
}

static uint64_t version_of(const struct mirror *m, const char *name)
{
    const struct digest *digest = store_get(m->store, "test", name);

    return digest ? digest->version : 0;
}

CASE(of_what_nobody_wants_only_the_existence_is_kept)
{
    struct world *w = world_start();
    struct mirror m = {0};

    for (const char *name = "a\0b\0x\0y\0"; *name; name += 2)
        world_put(w, name);
    start(w, &m);
    FAKE_WAIT(w->api, w->streams);
    assert_int_equal(m.told, 4); /* a, b, y, synced */
    assert_int_equal(store_count(m.store), 4);
    assert_int_equal(store_kept(m.store), 3);
    assert_int_equal(known(&m, "x"), STORE_EXISTS);
    assert_int_equal(known(&m, "xx"), STORE_ABSENT);
    world_put(w, "xx");
    world_delete(w, "x");
    FAKE_WAIT(w->api, known(&m, "xx") == STORE_EXISTS && known(&m, "x") == STORE_ABSENT);
    /* A list no longer contains it. */
    w->mute = true;
    world_delete(w, "xx");
    world_put(w, "x3");
    world_compact(w);
    world_end_streams(w);
    FAKE_WAIT(w->api, m.synced == 2);
    assert_int_equal(known(&m, "xx"), STORE_ABSENT);
    assert_int_equal(known(&m, "x3"), STORE_EXISTS);
    assert_int_equal(m.told, 5);
    assert_int_equal(m.settled, 2);
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
}

CASE(what_is_wanted_later_is_kept_when_it_was_read_or_changes)
{
    struct world *w = world_start();
    struct mirror m = {0};

    for (const char *name = "x\0"; *name; name += 2)
        world_put(w, name); /* 101 */
    world_put(w, "xb");
    world_put(w, "xc");
    start(w, &m);
    FAKE_WAIT(w->api, w->streams);
    m.wants_all = true;
    assert_int_equal(known(&m, "x"), STORE_EXISTS);
    learn(w, &m, "x", 1, 101);
    assert_int_equal(version_of(&m, "x"), 101);
    assert_true(holds(&m, "x", "101"));
    world_put(w, "xb");
    FAKE_WAIT(w->api, known(&m, "xb") == STORE_KEPT);
    int told = m.told;
    learn(w, &m, "xb", 2, 102); /* an answer that was in progress */
    assert_int_equal(version_of(&m, "xb"), 104);
    assert_int_equal(m.told, told);
    /* It was read directly, so its deletion is reported. */
    m.count = 3;
    snprintf(m.rows[2].name, sizeof(m.rows[2].name), "xc");
    m.rows[2].version = 105;
    m.rows[2].uid = name_hash(NULL, "u3");
    world_delete(w, "xc");
    FAKE_WAIT(w->api, m.count == 2);
    /* It is no longer wanted. */
    m.wants_all = false;
    world_put(w, "x");
    FAKE_WAIT(w->api, known(&m, "x") == STORE_EXISTS);
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
}

CASE(what_was_written_is_newer_than_what_the_watch_shows)
{
    struct world *w = world_start();
    struct mirror m = {0};

    world_put(w, "a"); /* 101 */
    start(w, &m);
    FAKE_WAIT(w->api, w->streams);
    learn(w, &m, "a", 1, 103);
    assert_true(holds(&m, "a", "103"));
    int told = m.told;
    world_put(w, "a"); /* 102: before our write */
    world_put(w, "b"); /* 103: shows that it was skipped */
    FAKE_WAIT(w->api, known(&m, "b") == STORE_KEPT);
    assert_int_equal(version_of(&m, "a"), 103);
    assert_int_equal(m.told, told + 1);
    learn(w, &m, "a", 1, 102);
    assert_int_equal(version_of(&m, "a"), 103);
    world_put(w, "a"); /* 104 */
    FAKE_WAIT(w->api, holds(&m, "a", "104"));
    store_free(m.store);
    world_stop(w);
}

/* The answer to a write arrives after the watch has reported the deletion. */
CASE(what_is_gone_does_not_come_back)
{
    struct world *w = world_start();
    struct mirror m = {0};

    world_put(w, "a"); /* 101, u1 */
    start(w, &m);
    FAKE_WAIT(w->api, w->streams);
    world_put(w, "a");    /* 102 */
    world_delete(w, "a"); /* 103 */
    FAKE_WAIT(w->api, known(&m, "a") == STORE_ABSENT);
    learn(w, &m, "a", 1, 102);
    assert_int_equal(known(&m, "a"), STORE_ABSENT);
    /* A recreated object is a different one, not affected by the deletion of the first. */
    learn(w, &m, "a", 2, 105);
    assert_int_equal(version_of(&m, "a"), 105);
    world_put(w, "b"); /* 104 */
    world_put(w, "a"); /* 105, but of another world: u3 */
    FAKE_WAIT(w->api, known(&m, "b") == STORE_KEPT);
    learn(w, &m, "a", 1, 102);
    assert_int_equal(version_of(&m, "a"), 105);
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
}

CASE(what_we_deleted_is_gone_before_the_watch_says_so)
{
    struct world *w = world_start();
    struct mirror m = {0};

    world_put(w, "a"); /* 101, u1 */
    start(w, &m);
    FAKE_WAIT(w->api, w->streams);
    store_learn_gone(m.store, "test", "a", name_hash(NULL, "u7"));
    assert_int_equal(known(&m, "a"), STORE_KEPT);
    store_learn_gone(m.store, "test", "a", name_hash(NULL, "u1"));
    assert_int_equal(known(&m, "a"), STORE_ABSENT);
    assert_int_equal(store_count(m.store), 0);
    assert_int_equal(m.count, 0);
    world_put(w, "a"); /* 102: the watch is late */
    world_put(w, "b");
    FAKE_WAIT(w->api, known(&m, "b") == STORE_KEPT);
    assert_int_equal(known(&m, "a"), STORE_ABSENT);
    learn(w, &m, "a", 1, 104);
    assert_int_equal(known(&m, "a"), STORE_ABSENT);
    int told = m.told;
    world_delete(w, "a"); /* 104 */
    world_put(w, "a");    /* 105, u3 */
    FAKE_WAIT(w->api, holds(&m, "a", "105"));
    assert_int_equal(m.told, told + 1);
    /* The same with a gap in the watch: both the mark and the recreated object are removed. */
    store_learn_gone(m.store, "test", "a", name_hash(NULL, "u3"));
    w->mute = true;
    world_delete(w, "a");
    world_compact(w);
    world_end_streams(w);
    w->mute = false;
    FAKE_WAIT(w->api, agrees(w, &m));
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
}

/* The last content of a deleted object. */
static bool remembers(const struct mirror *m, const char *name, const char *version)
{
    struct arena *arena = arena_new();
    struct json_object *tree = NULL;
    bool same = store_last(m->store, "test", name, arena, &tree, NULL) == ERR_OK &&
                strcmp(json_str_at(tree, "data", "v", NULL), version) == 0;

    arena_free(arena);
    return same;
}

CASE(what_was_deleted_is_remembered)
{
    struct world *w = world_start();
    struct mirror m = {0};
    char name[16];

    world_put(w, "a"); /* 101, u1 */
    world_put(w, "b"); /* 102 */
    start(w, &m);
    FAKE_WAIT(w->api, holds(&m, "b", "102"));
    assert_false(remembers(&m, "a", "101"));
    store_learn_gone(m.store, "test", "a", name_hash(NULL, "u1"));
    assert_true(remembers(&m, "a", "101"));
    world_delete(w, "b");
    FAKE_WAIT(w->api, remembers(&m, "b", "102"));
    /* the last object of a name counts, even after a new dictionary */
    world_put(w, "b");
    FAKE_WAIT(w->api, known(&m, "b") == STORE_KEPT);
    uint64_t version = version_of(&m, "b");
    for (int i = 0; i < COMPRESS_FIRST + 4; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        world_put(w, name);
    }
    FAKE_WAIT(w->api, known(&m, name) == STORE_KEPT);
    assert_true(remembers(&m, "a", "101"));
    world_delete(w, "b");
    FAKE_WAIT(w->api, known(&m, "b") == STORE_ABSENT);
    assert_false(remembers(&m, "b", "102"));
    assert_true(version > 0);
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
}

/* Created by us during a gap of the watch: the list decides if it still exists. */
CASE(a_list_is_compared_with_what_was_written)
{
    struct world *w = world_start();
    struct mirror m = {0};

    world_put(w, "a"); /* 101 */
    start(w, &m);
    FAKE_WAIT(w->api, w->streams);
    w->mute = true;
    world_put(w, "b"); /* 102, u2 */
    learn(w, &m, "b", 2, 102);
    world_delete(w, "b"); /* 103 */
    world_compact(w);     /* 104 */
    learn(w, &m, "c", 9, 200);
    learn(w, &m, "a", 1, 201);
    world_end_streams(w);
    w->mute = false;
    FAKE_WAIT(w->api, m.synced == 2 && w->streams);
    assert_int_equal(known(&m, "b"), STORE_ABSENT);
    assert_int_equal(version_of(&m, "c"), 200);
    assert_int_equal(version_of(&m, "a"), 201);
    store_free(m.store);
    assert_int_equal(m.made, 0);
    world_stop(w);
}

CASE(versions_that_are_no_numbers_are_believed_of_the_watch_only)
{
    struct world *w = world_start();
    struct mirror m = {0};
    struct json_object *object = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_sub(object, "metadata");

    world_put(w, "a");
    start(w, &m);
    FAKE_WAIT(w->api, w->streams);
    json_set_str(metadata, "namespace", "test");
    json_set_str(metadata, "name", "a");
    json_set_str(metadata, "uid", "u1");
    EACH_ROW (version, ((const char *const[]){"", "x9", "0", "12345678901234567890", "-3"})) {
        json_set_str(metadata, "resourceVersion", *version);
        store_learn(m.store, object);
        assert_int_equal(version_of(&m, "a"), 101);
    }
    store_free(m.store);
    world_stop(w);
}

/* With a watch of metadata, content that was read is kept while the version is the same. */
CASE(metadata_gets_its_content_from_reads)
{
    struct world *w = world_start();
    struct mirror m = {0};
    struct json_object *tree;

    making = &m;
    world_put(w, "a"); /* 101 */
    m.store = store_new(w->api->loop, w->api->client,
                        &(struct store_spec){.watch = {.resource = &kube_configmaps,
                                                       .namespace_ = "test",
                                                       .timing = world_quick,
                                                       .metadata_only = true},
                                             .strip = strip,
                                             .arg = &m});
    FAKE_WAIT(w->api, w->streams);
    assert_int_equal(store_unpack(m.store, store_get(m.store, "test", "a"), arena, &tree, NULL),
                     ERR_NOT_FOUND);
    learn(w, &m, "a", 1, 101);
    assert_true(holds(&m, "a", "101"));
    world_put(w, "a");
    FAKE_WAIT(w->api, version_of(&m, "a") == 102);
    assert_int_equal(store_unpack(m.store, store_get(m.store, "test", "a"), arena, &tree, NULL),
                     ERR_NOT_FOUND);
    store_free(m.store);
    world_stop(w);
}

CASE(many_objects_are_packed_with_a_dictionary)
{
    struct world *w = world_start();
    struct mirror m = {0};
    char name[16];

    for (int i = 0; i < WORLD_MAX - 1; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        world_put(w, name);
    }
    start(w, &m);
    FAKE_WAIT(w->api, agrees(w, &m));
    world_put(w, "n3");
    world_delete(w, "n5");
    FAKE_WAIT(w->api, agrees(w, &m));
    store_free(m.store);
    assert_int_equal(compressed_object_bytes(), 0);
    world_stop(w);
}

CASE(stores_of_several_clusters_share_a_packer)
{
    struct world *w = world_start();
    struct object_compressor *compressor = object_compressor_new();
    struct mirror one = {.compressor = compressor}, two = {.compressor = compressor};
    char name[16];

    world_put(w, "n0");
    start(w, &one);
    FAKE_WAIT(w->api, agrees(w, &one)); /* compressed before there is a dictionary */
    for (int i = 1; i < WORLD_MAX - 1; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        world_put(w, name);
    }
    FAKE_WAIT(w->api, agrees(w, &one));
    start(w, &two);
    FAKE_WAIT(w->api, agrees(w, &two));
    making = &one;
    store_free(one.store);
    making = &two;
    assert_true(agrees(w, &two));
    store_free(two.store);
    assert_int_equal(compressed_object_bytes(), 0);
    object_compressor_free(compressor);
    world_stop(w);
}

CASE(a_list_that_fails_is_told)
{
    struct world *w = world_start();
    struct mirror m = {0};

    w->fault = FAULT_403;
    w->fault_at = 1;
    start(w, &m);
    FAKE_WAIT(w->api, m.settled == 1);
    assert_non_null(store_trouble(m.store));
    assert_false(store_synced(m.store));
    FAKE_WAIT(w->api, m.settled == 2);
    assert_true(store_synced(m.store));
    store_free(m.store);
    world_stop(w);
}
