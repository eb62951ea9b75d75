#include <string.h>

#include "base/json.h"
#include "kube/reply.h"
#include "test/unit.h"

enum { MIB = 1024 * 1024 };

/* Parses an object that contains `n` empty ones, in its own arena. */
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
    struct arena *held = parse(100, REPLY_TRANSIENT, &tree, &shape);

    assert_int_equal(reply_kept_bytes(), 0);
    arena_free(held);
    held = parse(100, REPLY_KEPT_IF_ROOM, &tree, &shape);
    assert_int_equal(shape, REPLY_WHOLE);
    size_t size = reply_kept_bytes();
    assert_true(size > 100 * 100);
    /* A reference keeps the tree; a copy does not. */
    json_object_get(tree);
    struct json_object *copy = json_copy(arena, tree);
    assert_true(json_same(copy, tree));
    (void)json_merge(arena, tree, json_at(tree, "metadata", NULL));
    assert_int_equal(reply_kept_bytes(), size);
    arena_free(held);
    assert_int_equal(reply_kept_bytes(), size);
    json_object_put(tree);
    assert_int_equal(reply_kept_bytes(), 0);
}

/* The number of empty objects in a tree of the given size. */
static size_t empties_of(size_t bytes)
{
    struct json_object *tree;
    enum reply_shape shape;
    struct arena *arena = parse(1000, REPLY_KEPT, &tree, &shape);
    size_t each = reply_kept_bytes() / 1000;

    arena_free(arena);
    return bytes / each;
}

/* Large trees share a part of the memory, and leave the rest to those of ordinary size. */
CASE(test_large_ones_wait_for_each_other)
{
    struct json_object *tree;
    enum reply_shape shape;
    size_t much = empties_of(12 * MIB), less = empties_of(8 * MIB), small = empties_of(MIB / 4);
    struct arena *first = parse(much, REPLY_KEPT_IF_ROOM, &tree, &shape);

    assert_int_equal(shape, REPLY_WHOLE);
    struct arena *second = parse(less, REPLY_KEPT_IF_ROOM, &tree, &shape);
    assert_int_equal(shape, REPLY_NO_ROOM);
    assert_string_equal(json_str_at(tree, "metadata", "name", NULL), "a");
    assert_null(json_at(tree, "spec", NULL));
    arena_free(second);
    /* Transient trees and answers of writes are read anyway. */
    arena_free(parse(less, REPLY_TRANSIENT, &tree, &shape));
    assert_int_equal(shape, REPLY_WHOLE);
    struct arena *written = parse(less, REPLY_KEPT, &tree, &shape);
    assert_int_equal(shape, REPLY_WHOLE);
    struct arena *little = parse(small, REPLY_KEPT_IF_ROOM, &tree, &shape);
    assert_int_equal(shape, REPLY_WHOLE);
    arena_free(little);
    arena_free(written);
    arena_free(first);
    assert_int_equal(reply_kept_bytes(), 0);
    second = parse(less, REPLY_KEPT_IF_ROOM, &tree, &shape);
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
        arenas[n++] = parse(quarter, REPLY_KEPT_IF_ROOM, &tree, &shape);
    assert_int_equal(shape, REPLY_NO_ROOM);
    assert_true(reply_kept_bytes() <= REPLY_MAX_KEPT && reply_kept_bytes() > REPLY_MAX_KEPT - MIB);
    while (n > 0)
        arena_free(arenas[--n]);
    assert_int_equal(reply_kept_bytes(), 0);
}

CASE(test_one_may_be_too_large)
{
    struct json_object *tree;
    enum reply_shape shape;
    size_t too_much = empties_of(REPLY_MAX_TREE) + 1000;

    arena_free(parse(too_much, REPLY_TRANSIENT, &tree, &shape));
    assert_int_equal(shape, REPLY_TOO_LARGE);
    arena_free(parse(too_much, REPLY_KEPT_IF_ROOM, &tree, &shape));
    assert_int_equal(shape, REPLY_TOO_LARGE);
    assert_int_equal(reply_kept_bytes(), 0);
}

CASE(statuses)
{
    static const struct {
        int status;
        enum err err;
    } cases[] = {
        {200, ERR_OK},        {201, ERR_OK},      {202, ERR_OK},      {204, ERR_OK},
        {301, ERR_INVALID},   {400, ERR_INVALID}, {401, ERR_DENIED},  {403, ERR_DENIED},
        {404, ERR_NOT_FOUND}, {405, ERR_INVALID}, {408, ERR_RETRY},   {409, ERR_CONFLICT},
        {410, ERR_CONFLICT},  {415, ERR_INVALID}, {422, ERR_INVALID}, {429, ERR_RETRY},
        {500, ERR_RETRY},     {502, ERR_RETRY},   {503, ERR_RETRY},   {504, ERR_RETRY},
    };
    EACH_ROW (row, cases)
        assert_int_equal(kube_status_err(row->status), row->err);
}

CASE(sentences)
{
    static const struct {
        int status;
        const char *json, *text;
        int64_t header_ms;
        const char *want;
        int64_t want_ms;
    } cases[] = {
        {409, "{\"kind\":\"Status\",\"message\":\"the object has been modified\"}", "", 0,
         "PATCH x a/b: conflict: the object has been modified", 0},
        {500, "{\"message\":\"two\\nlines\"}", "", 0, "PATCH x a/b: temporary failure: two", 0},
        {503, NULL, "  upstream is down \r\nmore", 0,
         "PATCH x a/b: temporary failure: upstream is down", 0},
        {404, NULL, "", 0, "PATCH x a/b: not found: the server answered HTTP 404", 0},
        {404, "{}", "{}", 0, "PATCH x a/b: not found: the server answered HTTP 404", 0},
        {429, "{\"message\":\"slow\",\"details\":{\"retryAfterSeconds\":7}}", "", 0,
         "PATCH x a/b: temporary failure: slow", 7000},
        {429, "{\"message\":\"slow\",\"details\":{\"retryAfterSeconds\":7}}", "", 2000,
         "PATCH x a/b: temporary failure: slow", 2000},
        {429, "{\"message\":\"slow\",\"details\":{\"retryAfterSeconds\":-5}}", "", 0,
         "PATCH x a/b: temporary failure: slow", 0},
        {429, "{\"message\":3}", "", 0,
         "PATCH x a/b: temporary failure: the server answered HTTP 429", 0},
    };
    EACH_ROW (row, cases) {
        struct json_object *body = NULL;
        struct errinfo ei = {0};
        if (row->json)
            assert_int_equal(
                json_parse(arena, row->json, strlen(row->json), JSON_MAX_BYTES, &body, &ei),
                ERR_OK);
        assert_int_equal(
            kube_status_fill(&ei, "PATCH x a/b", row->status, body, row->text, row->header_ms),
            kube_status_err(row->status));
        assert_string_equal(ei.text, row->want);
        assert_int_equal(ei.status, row->status);
        assert_int_equal(ei.retry_after_ms, row->want_ms);
    }
}

CASE(a_long_text_is_cut_between_characters)
{
    char text[1000];
    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    text[sizeof(text) - 2] = '\0';
    for (int shift = 0; shift < 2; shift++) {
        struct errinfo ei = {0};
        if (shift)
            text[0] = 'a', text[1] = 'b', memmove(text + 1, text + 2, sizeof(text) - 2);
        assert_int_equal(kube_status_fill(&ei, "GET /", 500, NULL, text, 0), ERR_RETRY);
        size_t len = strlen(ei.text);
        assert_true(len > 200 && len < 400);
        assert_int_equal((unsigned char)ei.text[len - 1], 0xa9);
    }
    assert_int_equal(kube_status_fill(NULL, "GET /", 500, NULL, text, 0), ERR_RETRY);
}

CASE(what_is_not_served_is_told_from_what_is_not_there)
{
    static const struct {
        int status;
        const char *body; /* NULL if not JSON */
        bool unserved;
    } rows[] = {
        {404, NULL, true}, /* "404 page not found" */
        {404, "{\"kind\":\"Status\",\"message\":\"the server could not find the resource\"}", true},
        {404, "{\"kind\":\"Status\",\"details\":{}}", true},
        {404, "{\"kind\":\"Status\",\"details\":{\"name\":\"podinfo\",\"kind\":\"things\"}}",
         false},
        {404, "{\"kind\":\"Status\",\"details\":{\"name\":\"test\",\"kind\":\"namespaces\"}}",
         false},
        {403, NULL, false},
        {200, "{}", false},
    };
    EACH_ROW (row, rows) {
        struct json_object *body = row->body ? json_tokener_parse(row->body) : NULL;
        assert_int_equal(kube_status_unserved(row->status, body), row->unserved);
        json_object_put(body);
    }
}
