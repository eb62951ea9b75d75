#include "kube/kept_object.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit.h"

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *out = NULL;
    struct errinfo ei;

    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &out, &ei), ERR_OK);
    return out;
}

/* One of many similar objects. */
static struct json_object *service(struct arena *arena, int n)
{
    return parse(
        arena,
        arena_printf(arena,
                     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"app-%d\""
                     ",\"namespace\":\"team-%d\",\"uid\":\"0b2f7c%02x-1111-4222-8333-%012d\","
                     "\"resourceVersion\":\"%d\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
                     "\"labels\":{\"app\":\"app-%d\"},\"ownerReferences\":[{\"apiVersion\":"
                     "\"flagger.app/v1beta1\",\"blockOwnerDeletion\":true,\"controller\":true,"
                     "\"kind\":\"Canary\",\"name\":\"app-%d\"}]},\"spec\":{\"clusterIP\":"
                     "\"10.96.%d.%d\",\"internalTrafficPolicy\":\"Cluster\",\"ports\":[{\"name\":"
                     "\"http\",\"port\":80,\"protocol\":\"TCP\",\"targetPort\":8080}],\"selector\":"
                     "{\"app\":\"app-%d\"},\"sessionAffinity\":\"None\",\"type\":\"ClusterIP\"},"
                     "\"status\":{\"loadBalancer\":{}}}",
                     n, n % 7, n % 256, n * 7919, 100 + n, n, n, n / 256 % 256, n % 256, n));
}

static void assert_unpacks_to(const struct object_compressor *compressor,
                              const struct compressed_object *packed, struct json_object *object)
{
    struct arena *arena = arena_new();
    struct json_object *tree = NULL;

    assert_int_equal(object_decompress(compressor, packed, arena, &tree, NULL), ERR_OK);
    assert_string_equal(json_text(arena, tree), json_text(arena, object));
    arena_free(arena);
}

CASE(an_object_comes_back_as_it_was)
{
    static const char *const rows[] = {
        "{}",
        "{\"a\":1.50,\"b\":1e30,\"c\":-0.0,\"d\":12345678901234567890,\"e\":null}",
        "{\"t\":\"\\u00e9\\ud83d\\ude00\\n\\\"/\\\\ \\u0001\",\"\":[[],{},[null,true]]}",
    };
    struct object_compressor *compressor = object_compressor_new();

    EACH_ROW (row, rows) {
        struct json_object *object = parse(arena, *row);
        struct compressed_object *packed = object_compress(compressor, object);
        assert_unpacks_to(compressor, packed, object);
        compressed_object_free(packed);
    }
    object_compressor_free(compressor);
    assert_int_equal(compressed_object_bytes(), 0);
    assert_int_equal(reply_kept_bytes(), 0);
}

/* Objects compressed without or with an older dictionary are compressed again. */
CASE(a_dictionary_makes_alike_objects_small)
{
    enum { MANY = 400 };
    struct object_compressor *compressor = object_compressor_new();
    struct compressed_object *packed[MANY], **all[MANY];
    size_t before = 0;

    for (int i = 0; i < MANY; i++) {
        packed[i] = object_compress(compressor, service(arena, i));
        all[i] = &packed[i];
        if (!object_compressor_grows(compressor, (size_t)i + 1))
            continue;
        before = before ? before : compressed_object_bytes() / (size_t)(i + 1);
        object_compressor_retrain(compressor, all, (size_t)i + 1);
        assert_false(object_compressor_grows(compressor, (size_t)i + 1));
    }
    for (int i = 0; i < MANY; i++)
        assert_unpacks_to(compressor, packed[i], service(arena, i));
    size_t each = compressed_object_bytes() / MANY;
    print_message("without a dictionary %zu bytes an object, with one %zu, of %zu\n", before, each,
                  strlen(json_text(arena, service(arena, 1))));
    assert_true(each * 3 < before);
    for (int i = 0; i < MANY; i++)
        compressed_object_free(packed[i]);
    object_compressor_free(compressor);
    assert_int_equal(compressed_object_bytes(), 0);
}

/* Dissimilar or tiny objects yield no dictionary, which is not an error. */
CASE(no_dictionary_is_no_harm)
{
    enum { FEW = 16 };
    struct object_compressor *compressor = object_compressor_new();
    struct compressed_object *packed[FEW], **all[FEW];

    for (int i = 0; i < FEW; i++) {
        packed[i] = object_compress(compressor, parse(arena, "{}"));
        all[i] = &packed[i];
    }
    assert_true(object_compressor_grows(compressor, FEW));
    object_compressor_retrain(compressor, all, FEW);
    assert_false(object_compressor_grows(compressor, FEW));
    for (int i = 0; i < FEW; i++) {
        assert_unpacks_to(compressor, packed[i], parse(arena, "{}"));
        compressed_object_free(packed[i]);
    }
    object_compressor_free(compressor);
}

static struct json_object *long_text(struct arena *arena, size_t len)
{
    char *text = arena_alloc(arena, len + 1);
    struct json_object *object = json_own(arena, json_object_new_object());

    memset(text, 'x', len);
    json_set_str(object, "t", text);
    return object;
}

CASE(what_is_too_long_is_not_packed)
{
    struct object_compressor *compressor = object_compressor_new();
    struct compressed_object *packed =
        object_compress(compressor, long_text(arena, COMPRESS_MAX_TEXT - 8));

    assert_non_null(packed);
    compressed_object_free(packed);
    assert_null(object_compress(compressor, long_text(arena, COMPRESS_MAX_TEXT - 7)));
    object_compressor_free(compressor);
}

/* Decompressed trees are counted as kept. */
CASE(unpacking_waits_for_room)
{
    enum { MANY = 200 };
    struct object_compressor *compressor = object_compressor_new();
    struct json_object *object = json_own(arena, json_object_new_object()), *tree;
    struct json_object *list = json_object_new_array();
    struct errinfo ei = {0};
    enum err err = ERR_OK;
    int unpacked = 0;

    json_object_object_add(object, "l", list);
    for (int i = 0; i < 5000; i++)
        json_object_array_add(list, json_object_new_object());
    struct compressed_object *packed = object_compress(compressor, object);
    struct arena *trees = arena_new();
    while (unpacked < MANY && err == ERR_OK) {
        err = object_decompress(compressor, packed, trees, &tree, &ei);
        unpacked += err == ERR_OK;
    }
    assert_int_equal(err, ERR_RETRY);
    assert_true(unpacked > 2);
    assert_true(reply_kept_bytes() <= REPLY_MAX_KEPT);
    arena_reset(trees);
    assert_int_equal(object_decompress(compressor, packed, trees, &tree, &ei), ERR_OK);
    arena_free(trees);
    compressed_object_free(packed);
    object_compressor_free(compressor);
}

/* Objects compressed before another owner's objects have trained the dictionary stay readable. */
CASE(who_shares_a_packer_keeps_what_was_packed_before)
{
    enum { MANY = 64 };
    struct object_compressor *compressor = object_compressor_new();
    struct compressed_object *early[3], *objects[MANY], **all[MANY];

    for (int i = 0; i < 3; i++)
        early[i] = object_compress(compressor, service(arena, 1000 + i));
    for (int i = 0; i < MANY; i++) {
        objects[i] = object_compress(compressor, service(arena, i));
        all[i] = &objects[i];
    }
    assert_true(object_compressor_grows(compressor, MANY));
    uint32_t before = objects[0]->len;
    object_compressor_train_once(compressor, all, MANY);
    assert_int_equal(objects[0]->len, before);
    struct compressed_object *late = object_compress(compressor, service(arena, 7));
    assert_true(late->len * 2 < objects[7]->len);
    assert_unpacks_to(compressor, late, service(arena, 7));
    for (int i = 0; i < 3; i++)
        assert_unpacks_to(compressor, early[i], service(arena, 1000 + i));
    assert_unpacks_to(compressor, objects[5], service(arena, 5));
    assert_false(object_compressor_grows(compressor, SIZE_MAX));
    for (int i = 0; i < 3; i++)
        compressed_object_free(early[i]);
    for (int i = 0; i < MANY; i++)
        compressed_object_free(objects[i]);
    compressed_object_free(late);
    object_compressor_free(compressor);
}
