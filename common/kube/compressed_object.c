#include "kube/compressed_object.h"

#include <stdlib.h>
#include <string.h>
#include <zdict.h>
#include <zstd.h>

enum { LEVEL = 3 };

struct object_compressor {
    ZSTD_CDict *to; /* both NULL without a dictionary */
    ZSTD_DDict *from;
    size_t renewed_at; /* number of objects at the last training */
    bool taught;       /* for good, by train_once() */
};

/* Shared by the process. The contexts hold no state between calls. */
static size_t all_bytes;
static ZSTD_CCtx *zstd_compressor;
static ZSTD_DCtx *zstd_decompressor;

/* Only fails out of memory. */
static void *not_null(void *made)
{
    if (!made)
        abort();
    return made;
}

struct object_compressor *object_compressor_new(void)
{
    struct object_compressor *compressor = heap_alloc(sizeof(*compressor));

    *compressor = (struct object_compressor){0};
    if (!zstd_compressor)
        zstd_compressor = not_null(ZSTD_createCCtx());
    if (!zstd_decompressor)
        zstd_decompressor = not_null(ZSTD_createDCtx());
    return compressor;
}

static void drop_dictionary(struct object_compressor *compressor)
{
    ZSTD_freeCDict(compressor->to);
    ZSTD_freeDDict(compressor->from);
    compressor->to = NULL;
    compressor->from = NULL;
}

void object_compressor_free(struct object_compressor *compressor)
{
    if (!compressor)
        return;
    drop_dictionary(compressor);
    free(compressor);
}

void compressed_object_free(struct compressed_object *packed)
{
    if (!packed)
        return;
    all_bytes -= sizeof(*packed) + packed->len;
    free(packed);
}

static struct compressed_object *pack_text(const struct object_compressor *compressor,
                                           const char *text, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    unsigned char *out = heap_alloc(room);
    size_t size = compressor->to ? ZSTD_compress_usingCDict(zstd_compressor, out, room, text, len,
                                                            compressor->to)
                                 : ZSTD_compressCCtx(zstd_compressor, out, room, text, len, LEVEL);

    if (ZSTD_isError(size))
        abort(); /* the buffer has the maximum size, so memory is out */
    struct compressed_object *packed = heap_alloc(sizeof(*packed) + size);
    packed->len = (uint32_t)size;
    memcpy(packed->bytes, out, size);
    free(out);
    all_bytes += sizeof(*packed) + size;
    return packed;
}

struct compressed_object *object_compress(struct object_compressor *compressor,
                                          struct json_object *object)
{
    struct arena *arena = arena_new();
    const char *text = json_text(arena, object);
    size_t len = strlen(text);
    struct compressed_object *packed = NULL;

    if (len <= COMPRESS_MAX_TEXT && all_bytes <= COMPRESS_MAX_ALL)
        packed = pack_text(compressor, text, len);
    arena_free(arena);
    return packed;
}

/* The text is on the heap and NUL-terminated. It was compressed by this process and is within the
 * limit: anything else is a bug. */
static char *unpack_text(const struct object_compressor *compressor,
                         const struct compressed_object *packed, size_t *len)
{
    unsigned long long size = ZSTD_getFrameContentSize(packed->bytes, packed->len);

    if (size > COMPRESS_MAX_TEXT)
        abort();
    char *text = heap_alloc((size_t)size + 1);
    *len = compressor->from
               ? ZSTD_decompress_usingDDict(zstd_decompressor, text, (size_t)size, packed->bytes,
                                            packed->len, compressor->from)
               : ZSTD_decompressDCtx(zstd_decompressor, text, (size_t)size, packed->bytes,
                                     packed->len);
    if (*len != size)
        abort();
    text[*len] = '\0';
    return text;
}

enum err object_decompress(const struct object_compressor *compressor,
                           const struct compressed_object *packed, struct arena *arena,
                           struct json_object **out, struct errinfo *ei)
{
    enum reply_shape shape;
    size_t len;
    char *text = unpack_text(compressor, packed, &len);
    enum err err = reply_parse(arena, text, len, REPLY_KEPT_IF_ROOM, out, &shape, ei);

    free(text);
    if (err != ERR_OK || shape == REPLY_WHOLE)
        return err;
    return err_set(ei, shape == REPLY_NO_ROOM ? ERR_RETRY : ERR_INVALID,
                   "the object takes more memory than there is for it, and is not read");
}

bool object_compressor_grows(const struct object_compressor *compressor, size_t count)
{
    if (compressor->taught)
        return false;
    return count >=
           (compressor->renewed_at ? compressor->renewed_at * COMPRESS_GROWTH : COMPRESS_FIRST);
}

struct samples {
    char *text; /* concatenated */
    size_t *sizes, len, count;
};

/* Samples objects evenly. */
static struct samples take_samples(const struct object_compressor *compressor,
                                   struct compressed_object **objects[], size_t count)
{
    struct samples samples = {.text = heap_alloc(COMPRESS_SAMPLES),
                              .sizes = heap_array(count, sizeof(*samples.sizes))};
    size_t step = 1, total = 0;

    for (size_t i = 0; i < count; i++)
        total += (size_t)ZSTD_getFrameContentSize((*objects[i])->bytes, (*objects[i])->len);
    step += total / COMPRESS_SAMPLES;
    for (size_t i = 0; i < count; i += step) {
        size_t len;
        char *text = unpack_text(compressor, *objects[i], &len);
        if (samples.len + len <= COMPRESS_SAMPLES) {
            memcpy(samples.text + samples.len, text, len);
            samples.sizes[samples.count++] = len;
            samples.len += len;
        }
        free(text);
    }
    return samples;
}

/* Trains a dictionary. Returns false if the samples have too little in common. */
static bool make_dictionary(struct object_compressor *compressor, const struct samples *samples)
{
    char *dictionary = heap_alloc(COMPRESS_MAX_DICTIONARY);
    size_t size = ZDICT_trainFromBuffer(dictionary, COMPRESS_MAX_DICTIONARY, samples->text,
                                        samples->sizes, (unsigned)samples->count);
    bool made = !ZDICT_isError(size);

    if (made) {
        drop_dictionary(compressor);
        compressor->to = not_null(ZSTD_createCDict(dictionary, size, LEVEL));
        compressor->from = not_null(ZSTD_createDDict(dictionary, size));
    }
    free(dictionary);
    return made;
}

void object_compressor_retrain(struct object_compressor *compressor,
                               struct compressed_object **objects[], size_t count)
{
    struct object_compressor old = *compressor;
    struct samples samples = take_samples(compressor, objects, count);

    compressor->renewed_at = count;
    compressor->to = NULL;
    compressor->from = NULL;
    if (make_dictionary(compressor, &samples)) {
        for (size_t i = 0; i < count; i++) {
            size_t len;
            char *text = unpack_text(&old, *objects[i], &len);
            compressed_object_free(*objects[i]);
            *objects[i] = pack_text(compressor, text, len);
            free(text);
        }
        drop_dictionary(&old);
    } else {
        compressor->to = old.to;
        compressor->from = old.from;
    }
    free(samples.text);
    free(samples.sizes);
}

void object_compressor_train_once(struct object_compressor *compressor,
                                  struct compressed_object **objects[], size_t count)
{
    struct samples samples = take_samples(compressor, objects, count);

    compressor->renewed_at = count; /* avoids frequent training of unsuitable objects */
    compressor->taught = make_dictionary(compressor, &samples);
    free(samples.text);
    free(samples.sizes);
}

size_t compressed_object_bytes(void)
{
    return all_bytes;
}
