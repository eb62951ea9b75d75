/* deps: the changes that are news, for each Canary. A table of this test replaces the watch set. */

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "engine/deps.h"
#include "test/unit.h"

static const struct kube_resource things = {
    .group = "example.org", .version = "v1", .plural = "things", .kind = "Thing"};

/* The object "ns/a" as watched; NULL if it is absent. */
static struct cached_object shown;
static enum cache_known known;
static bool there, packed;

enum cache_known cache_find(const struct object_cache *set, const struct kube_resource *resource,
                            const char *namespace_, const char *name,
                            const struct cached_object **out)
{
    assert_string_equal(namespace_, "ns");
    assert_string_equal(name, "a");
    *out = there ? &shown : NULL;
    return known;
}

bool cache_shows(const struct object_cache *set, const struct kube_resource *resource,
                 const char *namespace_)
{
    return known == CACHE_KNOWN;
}

bool cache_get(const struct object_cache *set, const struct kube_resource *resource,
               const char *namespace_, const char *name, const struct cached_object **out)
{
    return cache_find(set, resource, namespace_, name, out) == CACHE_KNOWN;
}

static struct json_object *thing(struct arena *arena, const char *version);

bool cache_unpack(const struct object_cache *set, const struct kube_resource *resource,
                  const struct cached_object *seen, struct arena *arena, struct json_object **out)
{
    if (packed)
        *out = thing(arena, arena_printf(arena, "%" PRIu64, seen->digest.version));
    return packed;
}

static void show(const char *version)
{
    there = version != NULL;
    shown = (struct cached_object){
        .digest = {.namespace_ = "ns", .name = "a", .version = version_mark(version)},
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
    known = CACHE_KNOWN;
    packed = true;
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

/* A change from version `before` (NULL: new) to `after` (NULL: gone); the hashes show whether more
 * than status changed. */
static int news(struct fixture *f, const char *before, uint64_t hash_before, const char *after,
                uint64_t hash_after)
{
    struct cached_object old = {
        .digest = {.namespace_ = "ns", .name = "a", .version = version_mark(before)},
        .spec_hash = hash_before};
    struct cached_object new = {
        .digest = {.namespace_ = "ns", .name = "a", .version = version_mark(after)},
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

/* The result of a lookup: its version, "none", "soon" or "read it". */
static const char *look(struct fixture *f)
{
    struct json_object *tree = NULL;
    switch (deps_known(f->deps, NULL, &things, "ns", "a", f->arena, &tree)) {
    case DEPS_KNOWN:
        return tree ? json_str_at(tree, "metadata", "resourceVersion", NULL) : "none";
    case DEPS_SOON:
        return "soon";
    default:
        return "read it";
    }
}

FIXTURE_CASE(what_the_watch_shows_is_known)
{
    show("5");
    assert_string_equal(look(f), "5");
    show("6");
    assert_string_equal(look(f), "6");
    assert_int_equal(news(f, "5", 1, "6", 2), 0); /* the object was seen at that version */
    show(NULL);
    assert_string_equal(look(f), "none");
    show("7");
    packed = false;
    assert_string_equal(look(f), "read it");
    packed = true;
    known = CACHE_UNKNOWN;
    assert_string_equal(look(f), "read it");
    known = CACHE_SOON;
    assert_string_equal(look(f), "soon");
}

FIXTURE_CASE(absence_is_known_too)
{
    deps_read(f->deps, &things, "ns", "a", NULL);
    assert_string_equal(look(f), "none");
    assert_int_equal(news(f, NULL, 0, "1", 1), 1);
}

/* One read is enough where a watch would show it, until it has been shown or all is doubted. */
FIXTURE_CASE(what_a_read_has_not_found_is_left_to_the_watch)
{
    assert_string_equal(look(f), "none");
    assert_false(deps_is_absent(f->deps, NULL, &things, "ns", "a"));
    deps_read(f->deps, &things, "ns", "a", NULL);
    assert_true(deps_is_absent(f->deps, NULL, &things, "ns", "a"));
    show("5");
    assert_false(deps_is_absent(f->deps, NULL, &things, "ns", "a"));
    show(NULL);
    known = CACHE_UNKNOWN;
    assert_false(deps_is_absent(f->deps, NULL, &things, "ns", "a"));
    known = CACHE_KNOWN;
    deps_doubt_all(f->deps);
    assert_false(deps_is_absent(f->deps, NULL, &things, "ns", "a"));
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "6"));
    assert_false(deps_is_absent(f->deps, NULL, &things, "ns", "a"));
}

FIXTURE_CASE(our_own_write_wakes_nobody)
{
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_wrote(f->deps, &things, "ns", "a", thing(f->arena, "6"));
    show("5"); /* the watch is late, and does not have the written version yet */
    assert_string_equal(look(f), "read it");
    show("6");
    assert_string_equal(look(f), "6");
    assert_int_equal(news(f, "5", 1, "6", 2), 0);
    assert_int_equal(news(f, "6", 2, "7", 3), 1);
}

FIXTURE_CASE(two_writes_in_a_row_keep_what_the_watch_shows)
{
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_wrote(f->deps, &things, "ns", "a", thing(f->arena, "6"));
    deps_wrote(f->deps, &things, "ns", "a", thing(f->arena, "7"));
    show("5");
    assert_string_equal(look(f), "read it");
    assert_int_equal(news(f, "6", 2, "7", 3), 0);
    show("7");
    assert_string_equal(look(f), "7");
}

/* A write was refused: the watch will soon show the reason. */
FIXTURE_CASE(what_a_write_was_refused_for_is_doubted)
{
    show("5");
    assert_string_equal(look(f), "5");
    deps_doubt(f->deps, &things, "ns", "a");
    assert_string_equal(look(f), "soon");
    assert_string_equal(look(f), "soon");
    show("6");
    assert_string_equal(look(f), "6");
    assert_string_equal(look(f), "6");
    /* The watch shows nothing new: a read settles it. */
    deps_doubt(f->deps, &things, "ns", "a");
    assert_string_equal(look(f), "soon");
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "6"));
    assert_string_equal(look(f), "6");
    /* The same for an object that does not exist. */
    show(NULL);
    assert_string_equal(look(f), "none");
    deps_doubt(f->deps, &things, "ns", "a");
    assert_string_equal(look(f), "soon");
    show("8");
    assert_string_equal(look(f), "8");
}

FIXTURE_CASE(when_all_is_doubted_only_a_read_is_believed)
{
    show("5");
    assert_string_equal(look(f), "5");
    deps_doubt_all(f->deps);
    show("6");
    assert_string_equal(look(f), "read it");
    deps_doubt(f->deps, &things, "ns", "a");
    assert_string_equal(look(f), "read it");
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "6"));
    assert_string_equal(look(f), "6");
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
    deps_end(f->deps);
    assert_int_equal(news(f, "5", 1, "6", 2), 0);
}

FIXTURE_CASE(the_end_of_a_tick_keeps_versions)
{
    deps_begin(f->deps);
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_end(f->deps);
    assert_true(deps_index_has(f->index, &things, "ns", "a"));
    assert_false(deps_index_has(f->index, &things, "ns", "b"));
    assert_int_equal(deps_index_count(f->index), 1);
    assert_int_equal(news(f, "4", 1, "5", 2), 0);
    assert_int_equal(news(f, "5", 2, "6", 3), 1);
}

FIXTURE_CASE(sharers_are_told_each_and_may_leave_in_any_order)
{
    struct fixture peers[3];
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    for (int i = 0; i < 3; i++) {
        peers[i] = (struct fixture){0};
        peers[i].deps = deps_new(f->index, &peers[i]);
        deps_read(peers[i].deps, &things, "ns", "a", thing(f->arena, "5"));
    }
    assert_int_equal(news(f, "5", 1, "6", 2), 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(peers[i].woken, 1);
    deps_free(peers[1].deps);
    assert_int_equal(news(f, "6", 2, "7", 3), 1);
    deps_free(peers[2].deps); /* the first in the index */
    assert_int_equal(news(f, "7", 3, "8", 4), 1);
    deps_free(peers[0].deps);
    assert_int_equal(news(f, "8", 4, "9", 5), 1);
    assert_int_equal(peers[0].woken, 3);
    assert_int_equal(peers[1].woken, 1);
    assert_int_equal(peers[2].woken, 2);
}

CASE(what_is_not_in_a_list_is_news_for_who_has_seen_it)
{
    static const struct kube_resource peers = {
        .group = "example.org", .version = "v1", .plural = "others", .kind = "Other"};
    struct fixture *f = *state;
    deps_read(f->deps, &things, "ns", "a", thing(f->arena, "5"));
    deps_index_listed(f->index, NULL, &peers, wake);
    assert_int_equal(f->woken, 0);
    show("5");
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 0);
    show(NULL);
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 1);
    /* Created by us, and gone before a broken watch could show it. */
    deps_read(f->deps, &things, "ns", "a", NULL);
    deps_wrote(f->deps, &things, "ns", "a", thing(f->arena, "7"));
    assert_string_equal(look(f), "read it");
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 2);
    assert_string_equal(look(f), "none");
    /* Never existed: no news. */
    deps_read(f->deps, &things, "ns", "a", NULL);
    deps_index_listed(f->index, NULL, &things, wake);
    assert_int_equal(f->woken, 2);
}

/* A rule asked for the autoscalers that scale a workload. */
CASE(a_list_of_scalers_wakes_when_one_comes_goes_or_turns)
{
    struct fixture *f = *state;
    static const struct {
        char *before, *after; /* the workload that it scales; "" if none */
        int woken;
    } rows[] = {
        {"", "Deployment/a", 1},
        {"Deployment/a", "Deployment/a", 0},
        {"Deployment/a", "Deployment/b", 1},
        {"Deployment/b", "Deployment/a", 1},
        {"Deployment/a", "", 1},
        {"", "Deployment/b", 0},
        {"Deployment/b", NULL, 0},
    };

    deps_scalers(f->deps, &things, "ns", "Deployment/a", false);
    EACH_ROW (row, rows) {
        struct cached_object old = {.digest = {.namespace_ = "ns", .name = "x", .version = 1},
                                    .scales = row->before};
        struct cached_object new = {.digest = {.namespace_ = "ns", .name = "x", .version = 2},
                                    .scales = row->after};
        bool was = !row->before || *row->before, is = !row->after || *row->after;
        f->woken = 0;
        deps_index_changed(f->index, &things, was ? &old : NULL, is ? &new : NULL, hears_status,
                           wake);
        assert_int_equal(f->woken, row->woken);
    }
    /* a tick that does not ask no longer depends on it */
    deps_begin(f->deps);
    deps_end(f->deps);
    assert_int_equal(deps_index_count(f->index), 0);
}
