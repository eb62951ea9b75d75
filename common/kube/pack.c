#include "kube/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zdict.h>
#include <zstd.h>

enum { LEVEL = 3 };

struct packer {
    ZSTD_CDict *to; /* both NULL as long as there is no dictionary */
    ZSTD_DDict *from;
    size_t renewed_at; /* the number of objects when it was made */
    bool taught;       /* ... for good */
};

/* Of the process, as its memory is. The contexts hold nothing between two calls. */
static size_t all_bytes;
static ZSTD_CCtx *compressor;
static ZSTD_DCtx *decompressor;

/* Out of memory is the only way to fail. */
static void *not_null(void *made)
{
    if (!made)
        abort();
    return made;
}

struct packer *packer_new(void)
{
    struct packer *packer = heap_alloc(sizeof(*packer));

    *packer = (struct packer){0};
    if (!compressor)
        compressor = not_null(ZSTD_createCCtx());
    if (!decompressor)
        decompressor = not_null(ZSTD_createDCtx());
    return packer;
}

static void drop_dictionary(struct packer *packer)
{
    ZSTD_freeCDict(packer->to);
    ZSTD_freeDDict(packer->from);
    packer->to = NULL;
    packer->from = NULL;
}

void packer_free(struct packer *packer)
{
    if (!packer)
        return;
    drop_dictionary(packer);
    free(packer);
}

void packed_free(struct packed *packed)
{
    if (!packed)
        return;
    all_bytes -= sizeof(*packed) + packed->len;
    free(packed);
}

static struct packed *pack_text(const struct packer *packer, const char *text, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    unsigned char *out = heap_alloc(room);
    size_t size = packer->to
                      ? ZSTD_compress_usingCDict(compressor, out, room, text, len, packer->to)
                      : ZSTD_compressCCtx(compressor, out, room, text, len, LEVEL);

    if (ZSTD_isError(size))
        abort(); /* there is room for the worst, so it is the memory */
    struct packed *packed = heap_alloc(sizeof(*packed) + size);
    packed->len = (uint32_t)size;
    memcpy(packed->bytes, out, size);
    free(out);
    all_bytes += sizeof(*packed) + size;
    return packed;
}

struct packed *packer_pack(struct packer *packer, struct json_object *object)
{
    struct arena *arena = arena_new();
    const char *text = json_text(arena, object);
    size_t len = strlen(text);
    struct packed *packed = NULL;

    if (len <= PACK_MAX_TEXT && all_bytes <= PACK_MAX_ALL)
        packed = pack_text(packer, text, len);
    arena_free(arena);
    return packed;
}

/* The text is on the heap, and ends with a NUL. It was packed by this process from a text that is
 * no longer than allowed, so anything else is an error of the program. */
static char *unpack_text(const struct packer *packer, const struct packed *packed, size_t *len)
{
    unsigned long long size = ZSTD_getFrameContentSize(packed->bytes, packed->len);

    if (size > PACK_MAX_TEXT)
        abort();
    char *text = heap_alloc((size_t)size + 1);
    *len = packer->from
               ? ZSTD_decompress_usingDDict(decompressor, text, (size_t)size, packed->bytes,
                                            packed->len, packer->from)
               : ZSTD_decompressDCtx(decompressor, text, (size_t)size, packed->bytes, packed->len);
    if (*len != size)
        abort();
    text[*len] = '\0';
    return text;
}

enum err packer_unpack(const struct packer *packer, const struct packed *packed,
                       struct arena *arena, struct json_object **out, struct errinfo *ei)
{
    enum reply_shape shape;
    size_t len;
    char *text = unpack_text(packer, packed, &len);
    enum err err = reply_parse(arena, text, len, REPLY_ASKS, out, &shape, ei);

    free(text);
    if (err != ERR_OK || shape == REPLY_WHOLE)
        return err;
    return err_set(ei, shape == REPLY_NO_ROOM ? ERR_RETRY : ERR_INVALID,
                   "the object takes more memory than there is for it, and is not read");
}

bool packer_grows(const struct packer *packer, size_t count)
{
    if (packer->taught)
        return false;
    return count >= (packer->renewed_at ? packer->renewed_at * PACK_GROWTH : PACK_FIRST);
}

/* --- the dictionary */

struct samples {
    char *text; /* one behind the other */
    size_t *sizes, len, count;
};

/* Of objects that are spread evenly over all. */
static struct samples take_samples(const struct packer *packer, struct packed **objects[],
                                   size_t count)
{
    struct samples samples = {.text = heap_alloc(PACK_SAMPLES),
                              .sizes = heap_array(count, sizeof(*samples.sizes))};
    size_t step = 1, total = 0;

    for (size_t i = 0; i < count; i++)
        total += (size_t)ZSTD_getFrameContentSize((*objects[i])->bytes, (*objects[i])->len);
    step += total / PACK_SAMPLES;
    for (size_t i = 0; i < count; i += step) {
        size_t len;
        char *text = unpack_text(packer, *objects[i], &len);
        if (samples.len + len <= PACK_SAMPLES) {
            memcpy(samples.text + samples.len, text, len);
            samples.sizes[samples.count++] = len;
            samples.len += len;
        }
        free(text);
    }
    return samples;
}

/* What is alike in the samples, and how often each byte comes. False: they do not tell enough. */
static bool make_dictionary(struct packer *packer, const struct samples *samples)
{
    char *dictionary = heap_alloc(PACK_MAX_DICTIONARY);
    size_t size = ZDICT_trainFromBuffer(dictionary, PACK_MAX_DICTIONARY, samples->text,
                                        samples->sizes, (unsigned)samples->count);
    bool made = !ZDICT_isError(size);

    if (made) {
        drop_dictionary(packer);
        packer->to = not_null(ZSTD_createCDict(dictionary, size, LEVEL));
        packer->from = not_null(ZSTD_createDDict(dictionary, size));
    }
    free(dictionary);
    return made;
}

void packer_renew(struct packer *packer, struct packed **objects[], size_t count)
{
    struct packer old = *packer;
    struct samples samples = take_samples(packer, objects, count);

    packer->renewed_at = count;
    packer->to = NULL;
    packer->from = NULL;
    if (make_dictionary(packer, &samples)) {
        for (size_t i = 0; i < count; i++) {
            size_t len;
            char *text = unpack_text(&old, *objects[i], &len);
            packed_free(*objects[i]);
            *objects[i] = pack_text(packer, text, len);
            free(text);
        }
        drop_dictionary(&old);
    } else {
        packer->to = old.to;
        packer->from = old.from;
    }
    free(samples.text);
    free(samples.sizes);
}

void packer_teach(struct packer *packer, struct packed **objects[], size_t count)
{
    struct samples samples = take_samples(packer, objects, count);

    packer->renewed_at = count; /* objects that tell too little are not asked again soon */
    packer->taught = make_dictionary(packer, &samples);
    free(samples.text);
    free(samples.sizes);
}

size_t packed_bytes(void)
{
    return all_bytes;
}
