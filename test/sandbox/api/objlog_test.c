#include "api/trystore.h"
#include "base/buf.h"

struct seen {
    struct buf text;
    struct objwatch *watch;
    struct trystore *t;
    int stop_after;
    int count;
};

static void on_event(void *arg, const struct objevent *event)
{
    static const char *const names[] = {
        [OBJ_ADDED] = "+", [OBJ_MODIFIED] = "~", [OBJ_DELETED] = "-", [OBJ_SYNCED] = "."};
    struct seen *seen = arg;
    buf_printf(&seen->text, "%s%s ", names[event->type],
               event->object ? json_str_at(event->object, "metadata", "name", NULL) : "");
    if (++seen->count == seen->stop_after)
        objwatch_stop(seen->watch);
}

static struct seen watch(struct trystore *t)
{
    struct seen seen = {.t = t};
    buf_init(&seen.text, 4096);
    return seen;
}

static void create(struct trystore *t, const char *name)
{
    try_create(t, try_kind(t, "", "configmaps"), "default",
               arena_printf(t->arena, "{'metadata':{'name':'%s'}}", name));
}

static void delete_map(struct trystore *t, const char *name)
{
    try_delete(t, try_kind(t, "", "configmaps"), "default", name, OBJ_BACKGROUND);
}

CASE(test_state_then_changes)
{
    struct trystore t TRY_CLOSED = try_open();
    struct seen seen = watch(&t);
    create(&t, "b");
    create(&t, "a");
    seen.watch = objstore_watch(t.store, "", "configmaps", on_event, &seen);
    create(&t, "c");
    assert_string_equal(seen.text.data, ""); /* never from within a store call */
    try_settle(&t);
    assert_string_equal(seen.text.data, "+a +b +c . ");
    try_merge(&t, try_kind(&t, "", "configmaps"), "default", "a", OBJSUB_NONE,
              "{'data':{'x':'y'}}");
    try_create(&t, try_kind(&t, "", "secrets"), "default", "{'metadata':{'name':'s'}}");
    delete_map(&t, "b");
    try_settle(&t);
    assert_string_equal(seen.text.data, "+a +b +c . ~a -b ");
    objwatch_stop(seen.watch);
    create(&t, "d");
    try_settle(&t);
    assert_string_equal(seen.text.data, "+a +b +c . ~a -b ");
    buf_fini(&seen.text);
}

CASE(test_resume)
{
    struct trystore t TRY_CLOSED = try_open();
    struct seen seen = watch(&t), now = watch(&t);
    create(&t, "a");
    uint64_t version = objstore_version(t.store);
    create(&t, "b");
    delete_map(&t, "a");
    seen.watch = objstore_watch_from(t.store, "", "configmaps", version, on_event, &seen);
    now.watch = objstore_watch_from(t.store, "", "configmaps", 0, on_event, &now);
    try_settle(&t);
    assert_string_equal(seen.text.data, "+b -a ");
    assert_string_equal(now.text.data, "");
    assert_int_equal(objwatch_version(seen.watch), objstore_version(t.store));
    objstore_compact(t.store);
    assert_null(objstore_watch_from(t.store, "", "configmaps", version, on_event, &seen));
    assert_non_null(
        objstore_watch_from(t.store, "", "configmaps", objstore_version(t.store), on_event, &seen));
    buf_fini(&seen.text);
    buf_fini(&now.text);
}

CASE(test_ring_forgets)
{
    struct loop *loop = loop_new(1000);
    struct trystore t = {.loop = loop, .arena = arena_new(), .store = objstore_new(loop, 4)};
    struct seen seen = watch(&t);
    seen.watch = objstore_watch(t.store, "", "configmaps", on_event, &seen);
    uint64_t version = objstore_version(t.store);
    for (int i = 0; i < 200; i++)
        create(&t, arena_printf(t.arena, "m%d", i));
    try_settle(&t);
    assert_int_equal(seen.count, 201); /* a watcher misses nothing, however small the ring */
    assert_null(objstore_watch_from(t.store, "", "configmaps", version, on_event, &seen));
    assert_non_null(objstore_watch_from(t.store, "", "configmaps", objstore_version(t.store) - 4,
                                        on_event, &seen));
    buf_fini(&seen.text);
    try_close(&t);
}

CASE(test_stop_inside)
{
    struct trystore t TRY_CLOSED = try_open();
    struct seen seen = watch(&t);
    seen.stop_after = 2;
    for (int i = 0; i < 5; i++)
        create(&t, arena_printf(t.arena, "m%d", i));
    seen.watch = objstore_watch(t.store, "", "configmaps", on_event, &seen);
    try_settle(&t);
    assert_int_equal(seen.count, 2);
    buf_fini(&seen.text);
}

/* A watch that starts in the middle of a round, from what another one was told. */
static void on_start_other(void *arg, const struct objevent *event)
{
    struct seen *other = arg;
    if (event->type == OBJ_SYNCED && !other->watch) {
        create(other->t, "late");
        other->watch = objstore_watch(other->t->store, "", "configmaps", on_event, other);
        create(other->t, "later");
    }
}

CASE(test_start_inside)
{
    struct trystore t TRY_CLOSED = try_open();
    struct seen seen = watch(&t);
    create(&t, "early");
    objstore_watch(t.store, "", "configmaps", on_start_other, &seen);
    try_settle(&t);
    assert_string_equal(seen.text.data, "+early +late +later . ");
    buf_fini(&seen.text);
}

CASE(test_kind_that_comes_later)
{
    struct trystore t TRY_CLOSED = try_open();
    struct seen seen = watch(&t);
    seen.watch = objstore_watch(t.store, "try.io", "toys", on_event, &seen);
    try_settle(&t);
    try_create(&t, try_kind(&t, "apiextensions.k8s.io", "customresourcedefinitions"), NULL,
               try_crd);
    try_create(&t, try_kind(&t, "try.io", "toys"), "default",
               "{'metadata':{'name':'bear'},'spec':{'size':1}}");
    try_settle(&t);
    assert_string_equal(seen.text.data, ". +bear ");
    buf_fini(&seen.text);
}
