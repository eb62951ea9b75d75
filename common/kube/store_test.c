#include "kube/store.h"

#include "kube/fake_world.h"

/* What the callbacks have told, name by name: must agree with each `before`. */
struct mirror {
    struct {
        char name[24];
        char version[16];
        char uid[16];
    } rows[WORLD_MAX];
    int count;
    int synced;
    int told;
    int made; /* digests with an extra that live */
    struct store *store;
    int free_at; /* the call in which the store is freed; 0: never */
};

struct extra {
    struct digest digest;
    char *value;
};

static struct mirror *making;

static struct digest *make(void *arg, struct json_object *object)
{
    struct extra *extra = heap_alloc(sizeof(*extra));

    extra->value = heap_strdup(json_str_at(object, "data", "v", NULL));
    making->made++;
    return &extra->digest;
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
            assert_string_equal(before->resource_version, m->rows[row].version);
            assert_string_equal(before->uid, m->rows[row].uid);
        }
        if (before && after)
            assert_string_equal(before->uid, after->uid);
        if (row < 0)
            row = m->count++;
        if (after) {
            assert_string_equal(((const struct extra *)after)->value, after->resource_version);
            snprintf(m->rows[row].name, sizeof(m->rows[row].name), "%s", after->name);
            snprintf(m->rows[row].version, sizeof(m->rows[row].version), "%s",
                     after->resource_version);
            snprintf(m->rows[row].uid, sizeof(m->rows[row].uid), "%s", after->uid);
        } else {
            m->rows[row] = m->rows[--m->count];
        }
    }
    if (m->told == m->free_at) {
        store_free(m->store);
        m->store = NULL;
        if (before)
            assert_non_null(before->name); /* still there until we return */
    }
}

static struct store *start(struct world *w, struct mirror *m)
{
    making = m;
    m->store = store_new(
        w->api->loop, w->api->client,
        &(struct store_spec){
            .watch = {.resource = &kube_configmaps, .namespace_ = "test", .timing = world_quick},
            .make = make,
            .free_extra = free_extra,
            .changed = changed,
            .arg = m});
    return m->store;
}

/* The store, and what was told, hold exactly the world. */
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
        if (!digest || row < 0 || strcmp(digest->resource_version, version) != 0 ||
            strcmp(digest->uid, uid) != 0 || strcmp(m->rows[row].version, version) != 0)
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
    const struct digest *digest = store_get(m.store, "test", "a");
    assert_int_equal(digest->generation, 101);
    assert_false(digest->deleting);
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

/* A list that brings nothing new says nothing but that it is whole. */
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

/* One life of a store, with the fault at request number n. Returns how many requests there were. */
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
    world_put(w, "c"); /* made anew under the same name */
    world_put(w, "i");
    FAKE_WAIT(w->api, agrees(w, &m));
    /* a gap in which nothing can be seen, and whose history is lost */
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
