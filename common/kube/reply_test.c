#include "kube/reply.h"
#include "test/unit.h"

enum { MIB = 1024 * 1024 };

/* Parses an object of that many empty ones, in an arena of its own. */
static struct arena *parse(size_t empties, enum reply_use use, struct json_object **out,
                           enum reply_shape *shape)
{
    struct arena *arena = arena_new();
    struct buf text;

    buf_init(&text, REPLY_MAX_TEXT);
    buf_puts(&text, "{\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"},\"spec\":[{}");
    for (size_t i = 1; i < empties; i++)
        buf_puts(&text, ",{}");
    buf_puts(&text, "]}");
    assert_int_equal(reply_parse(arena, text.data, text.len, use, out, shape, NULL), ERR_OK);
    buf_fini(&text);
    return arena;
}

CASE(test_what_is_kept_counts_until_it_is_dropped)
{
    struct json_object *tree;
    enum reply_shape shape;
    struct arena *held = parse(100, REPLY_PASSES, &tree, &shape);

    assert_int_equal(reply_kept(), 0);
    arena_free(held);
    held = parse(100, REPLY_ASKS, &tree, &shape);
    assert_int_equal(shape, REPLY_WHOLE);
    size_t size = reply_kept();
    assert_true(size > 100 * 100);
    /* Whoever holds a reference keeps it; a copy is something else. */
    json_object_get(tree);
    struct json_object *copy = json_copy(arena, tree);
    assert_true(json_same(copy, tree));
    (void)json_merge(arena, tree, json_at(tree, "metadata", NULL));
    assert_int_equal(reply_kept(), size);
    arena_free(held);
    assert_int_equal(reply_kept(), size);
    json_object_put(tree);
    assert_int_equal(reply_kept(), 0);
}

/* As many empty objects as make a tree of that many bytes. */
static size_t empties_of(size_t bytes)
{
    struct json_object *tree;
    enum reply_shape shape;
    struct arena *arena = parse(1000, REPLY_STAYS, &tree, &shape);
    size_t each = reply_kept() / 1000;

    arena_free(arena);
    return bytes / each;
}

/* The large ones share a part, and leave the rest to those that are as large as most. */
CASE(test_large_ones_wait_for_each_other)
{
    struct json_object *tree;
    enum reply_shape shape;
    size_t much = empties_of(12 * MIB), less = empties_of(8 * MIB), small = empties_of(MIB / 4);
    struct arena *first = parse(much, REPLY_ASKS, &tree, &shape);

    assert_int_equal(shape, REPLY_WHOLE);
    struct arena *second = parse(less, REPLY_ASKS, &tree, &shape);
    assert_int_equal(shape, REPLY_NO_ROOM);
    assert_string_equal(json_str_at(tree, "metadata", "name", NULL), "a");
    assert_null(json_at(tree, "spec", NULL));
    arena_free(second);
    /* What passes, and what has been written, is read all the same. */
    arena_free(parse(less, REPLY_PASSES, &tree, &shape));
    assert_int_equal(shape, REPLY_WHOLE);
    struct arena *written = parse(less, REPLY_STAYS, &tree, &shape);
    assert_int_equal(shape, REPLY_WHOLE);
    struct arena *little = parse(small, REPLY_ASKS, &tree, &shape);
    assert_int_equal(shape, REPLY_WHOLE);
    arena_free(little);
    arena_free(written);
    arena_free(first);
    assert_int_equal(reply_kept(), 0);
    second = parse(less, REPLY_ASKS, &tree, &shape);
    assert_int_equal(shape, REPLY_WHOLE);
    arena_free(second);
}

CASE(test_all_that_is_kept_has_an_end)
{
    enum { MOST = 1000 };
    struct arena *arenas[MOST];
    struct json_object *tree;
    enum reply_shape shape = REPLY_WHOLE;
    size_t quarter = empties_of(MIB / 4);
    int n = 0;

    while (shape == REPLY_WHOLE && n < MOST)
        arenas[n++] = parse(quarter, REPLY_ASKS, &tree, &shape);
    assert_int_equal(shape, REPLY_NO_ROOM);
    assert_true(reply_kept() <= REPLY_MAX_KEPT && reply_kept() > REPLY_MAX_KEPT - MIB);
    while (n > 0)
        arena_free(arenas[--n]);
    assert_int_equal(reply_kept(), 0);
}

CASE(test_one_may_be_too_large)
{
    struct json_object *tree;
    enum reply_shape shape;
    size_t too_much = empties_of(REPLY_MAX_TREE) + 1000;

    arena_free(parse(too_much, REPLY_PASSES, &tree, &shape));
    assert_int_equal(shape, REPLY_TOO_LARGE);
    arena_free(parse(too_much, REPLY_ASKS, &tree, &shape));
    assert_int_equal(shape, REPLY_TOO_LARGE);
    assert_int_equal(reply_kept(), 0);
}
