/* deps: what is news for whom. The watch set is played by a table of this test. */

#include <string.h>

#include "base/json.h"
#include "engine/deps.h"
#include "kube/reply.h"
#include "test/unit.h"

static const struct kube_resource things = {
    .group = "example.org", .version = "v1", .plural = "things", .kind = "Thing"};

/* What the watch shows of the one object, "ns/a"; NULL: it is not there. */
static struct seen shown;
static bool there, synced;

bool watchset_look(const struct watchset *set, const struct kube_resource *resource,
                   const char *namespace_, const char *name, const struct seen **out)
{
    assert_string_equal(namespace_, "ns");
    assert_string_equal(name, "a");
    *out = there ? &shown : NULL;
    return synced;
}

static void show(const char *version)
{
    there = version != NULL;
    shown = (struct seen){.digest = {.namespace_ = "ns", .name = "a", .resource_version = version},
                          .spec_hash = 1};
}

static struct json_object *thing(struct arena *arena, const char *version)
{
    struct json_object *obj = json_own(arena, json_object_new_object());
    json_set_str(json_sub(obj, "metadata"), "resourceVersion", version);
    return obj;
}

struct fixture {
    struct arena *arena;
    struct deps_index *index;
    struct deps *deps;
    bool hears_status;
    int woken;
};

static bool hears_status(void *owner)
{
    return ((struct fixture *)owner)->hears_status;
}

static void wake(void *owner)
{
    ((struct fixture *)owner)->woken++;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.arena = unit_arena, .index = deps_index_new()};
    fixture.deps = deps_new(fixture.index, &fixture);
    synced = true;
    show(NULL);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    deps_free(f->deps);
    deps_index_free(f->index);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

/* A change from version `before` (NULL: new) to `after` (NULL: gone); hashes say whether more than
 * status changed. */
static int news(struct fixture *f, const char *before, uint64_t hash_before, const char *after,
                uint64_t hash_after)
{
    struct seen old = {.digest = {.namespace_ = "ns", .name = "a", .resource_version = before},
                       .spec_hash = hash_before};
    struct seen new = {.digest = {.namespace_ = "ns", .name = "a", .resource_version = after},
                       .spec_hash = hash_after};
    f->woken = 0;
    deps_index_changed(f->index, &things, before ? &old : NULL, after ? &new : NULL, hears_status,
                       wake);
    return f->woken;
}

CASE(a_change_of_what_nobody_asked_for_is_no_news)
{
    assert_int_equal(news(*state, "1", 1, "2", 2), 0);
}

FIXTURE_CASE(what_was_read_is_known_until_its_version_changes)
{
    struct json_object *tree = NULL;
    assert_false(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    struct json_object *read = thing(f->arena, "5");
    deps_read(f->deps, &things, "ns", "a", read);
    show("5");
    assert_true(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    assert_ptr_equal(tree, read);
    show("6");
    assert_false(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    show(NULL);
    assert_false(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    show("5");
    synced = false;
    assert_false(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
}

FIXTURE_CASE(absence_is_known_too)
{
    struct json_object *tree = thing(f->arena, "x");
    deps_read(f->deps, &things, "ns", "a", NULL);
    assert_true(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    assert_null(tree);
    assert_int_equal(news(f, NULL, 0, "1", 1), 1);
}

FIXTURE_CASE(our_own_write_wakes_nobody)
{
    struct json_object *tree = NULL;
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    struct json_object *written = thing(f->arena, "6");
    deps_wrote(f->deps, &things, "ns", "a", written);
    show("5"); /* the watch is late */
    assert_true(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    assert_ptr_equal(tree, written);
    assert_int_equal(news(f, "5", 1, "6", 2), 0);
    assert_int_equal(news(f, "6", 2, "7", 3), 1);
}

FIXTURE_CASE(two_writes_in_a_row_keep_what_the_watch_shows)
{
    struct json_object *tree = NULL;
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_wrote(f->deps, &things, "ns", "a", thing(f->arena, "6"));
    deps_wrote(f->deps, &things, "ns", "a", thing(f->arena, "7"));
    show("5");
    assert_true(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    assert_string_equal(json_str_at(tree, "metadata", "resourceVersion", NULL), "7");
    assert_int_equal(news(f, "6", 2, "7", 3), 0);
}

FIXTURE_CASE(status_alone_is_no_news_while_idle)
{
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    f->hears_status = false;
    assert_int_equal(news(f, "5", 1, "6", 1), 0);
    assert_int_equal(news(f, "6", 1, "7", 2), 1);
    f->hears_status = true;
    assert_int_equal(news(f, "7", 2, "8", 2), 1);
}

FIXTURE_CASE(a_metadata_watch_knows_no_status_so_every_change_is_news)
{
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    f->hears_status = false;
    assert_int_equal(news(f, "5", 0, "6", 0), 1);
}

FIXTURE_CASE(deletion_is_news)
{
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    f->hears_status = false;
    assert_int_equal(news(f, "5", 1, NULL, 0), 1);
}

FIXTURE_CASE(what_a_tick_did_not_use_is_no_dependency_any_more)
{
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_begin(f->deps);
    deps_end(f->deps, true);
    assert_int_equal(news(f, "5", 1, "6", 2), 0);
}

FIXTURE_CASE(an_idle_end_drops_trees_and_keeps_versions)
{
    struct json_object *tree = NULL;
    deps_begin(f->deps);
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_end(f->deps, false);
    show("5");
    assert_false(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    assert_int_equal(news(f, "4", 1, "5", 2), 0);
    assert_int_equal(news(f, "5", 2, "6", 3), 1);
}

FIXTURE_CASE(sharers_are_told_each_and_may_leave_in_any_order)
{
    struct fixture others[3];
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    for (int i = 0; i < 3; i++) {
        others[i] = (struct fixture){0};
        others[i].deps = deps_new(f->index, &others[i]);
        deps_read(others[i].deps, &things, "ns", "a", thing(f->arena, "5"));
    }
    assert_int_equal(news(f, "5", 1, "6", 2), 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(others[i].woken, 1);
    deps_free(others[1].deps);
    assert_int_equal(news(f, "6", 2, "7", 3), 1);
    deps_free(others[2].deps); /* the first in the index */
    assert_int_equal(news(f, "7", 3, "8", 4), 1);
    deps_free(others[0].deps);
    assert_int_equal(news(f, "8", 4, "9", 5), 1);
    assert_int_equal(others[0].woken, 3);
    assert_int_equal(others[1].woken, 1);
    assert_int_equal(others[2].woken, 2);
}

CASE(what_is_not_in_a_list_is_news_for_who_has_seen_it)
{
    static const struct kube_resource others = {
        .group = "example.org", .version = "v1", .plural = "others", .kind = "Other"};
    struct fixture *f = *state;
    struct json_object *tree = NULL;
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_index_listed(f->index, NULL, &others, wake);
    assert_int_equal(f->woken, 0);
    show("5");
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 0);
    show(NULL);
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 1);
    /* Made by us, gone again before a broken watch could show it. */
    deps_read(f->deps, &things, "ns", "a", NULL);
    deps_wrote(f->deps, &things, "ns", "a", thing(f->arena, "7"));
    assert_true(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 2);
    assert_false(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
    /* Never there: no news. */
    deps_read(f->deps, &things, "ns", "a", NULL);
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 2);
}

/* A tree that was read from the API, with so many empty objects. */
static struct json_object *large_thing(struct fixture *f, int empties)
{
    struct json_object *tree;
    enum reply_shape shape;
    struct buf text;
    buf_init(&text, REPLY_MAX_TEXT);
    buf_puts(&text, "{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":[{}");
    for (int i = 1; i < empties; i++)
        buf_puts(&text, ",{}");
    buf_puts(&text, "]}");
    assert_int_equal(reply_parse(f->arena, text.data, text.len, REPLY_ASKS, &tree, &shape, NULL),
                     ERR_OK);
    buf_fini(&text);
    return tree;
}

FIXTURE_CASE(a_large_tree_is_not_kept_between_ticks)
{
    struct json_object *tree = NULL;
    for (int large = 0; large < 2; large++) {
        deps_begin(f->deps);
        deps_read(f->deps, &things, "ns", "a", large_thing(f, large ? 5000 : 5));
        show("5");
        assert_true(deps_known(f->deps, NULL, &things, "ns", "a", &tree));
        deps_end(f->deps, true);
        arena_reset(f->arena);
        assert_int_equal(deps_known(f->deps, NULL, &things, "ns", "a", &tree), !large);
        assert_int_equal(reply_kept() > 0, !large);
    }
}
