#include "kube/kept_object.h"

#include "base/arena.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zdict.h>
#include <zstd.h>

enum { LEVEL = 3 };

struct object_compressor {
    ZSTD_CDict *to; /* both NULL without a dictionary */
    ZSTD_DDict *from;
    size_t renewed_at; /* number of objects at the last training */
    bool taught;       /* permanently, by object_compressor_train_once() */
};

/* Shared by the process. The contexts hold no state between calls. */
static size_t all_bytes;
static ZSTD_CCtx *zstd_compressor;
static ZSTD_DCtx *zstd_decompressor;

/* Fails only when out of memory. */
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
        abort(); /* the buffer has the maximum size: out of memory */
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

    compressor->renewed_at = count; /* avoids frequent training on unsuitable objects */
    compressor->taught = make_dictionary(compressor, &samples);
    free(samples.text);
    free(samples.sizes);
}

size_t compressed_object_bytes(void)
{
    return all_bytes;
}

/* --- existence: open addressing with linear probing; a removal closes the gap by moving up later
 * hashes of the run */

enum { FIRST_CAP = 16 };

static uint64_t seed(void)
{
    static uint64_t drawn;

    while (!drawn)
        if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
            drawn = 0;
    return drawn;
}

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static uint64_t hash_more(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = mix(hash ^ (unsigned char)*text);
    return mix(hash ^ 0x100);
}

uint64_t name_hash(const char *first, const char *second)
{
    uint64_t hash = hash_more(hash_more(seed(), first), second);

    return hash ? hash : 1;
}

void object_presence_init(struct object_presence *set)
{
    *set = (struct object_presence){0};
}

void object_presence_fini(struct object_presence *set)
{
    free(set->slots);
    *set = (struct object_presence){0};
}

/* The slot of the hash, or the free one for it. The set has a free slot. */
static size_t find(const struct object_presence *set, uint64_t hash)
{
    size_t i = hash & (set->cap - 1);

    while (set->slots[i] && set->slots[i] != hash)
        i = (i + 1) & (set->cap - 1);
    return i;
}

bool object_presence_has(const struct object_presence *set, const char *namespace_,
                         const char *name)
{
    return set->cap && set->slots[find(set, name_hash(namespace_, name))];
}

static void grow(struct object_presence *set)
{
    struct object_presence old = *set;

    set->cap = old.cap ? old.cap * 2 : FIRST_CAP;
    set->slots = heap_array(set->cap, sizeof(*set->slots));
    memset(set->slots, 0, set->cap * sizeof(*set->slots));
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i])
            set->slots[find(set, old.slots[i])] = old.slots[i];
    free(old.slots);
}

void object_presence_add(struct object_presence *set, const char *namespace_, const char *name)
{
    uint64_t hash = name_hash(namespace_, name);

    if ((set->count + 1) * 4 > set->cap * 3)
        grow(set);
    size_t at = find(set, hash);
    set->count += set->slots[at] == 0;
    set->slots[at] = hash;
}

bool object_presence_remove(struct object_presence *set, const char *namespace_, const char *name)
{
    if (!set->cap)
        return false;
    size_t mask = set->cap - 1;
    size_t gap = find(set, name_hash(namespace_, name));
    if (!set->slots[gap])
        return false;
    set->slots[gap] = 0;
    set->count--;
    for (size_t i = (gap + 1) & mask; set->slots[i]; i = (i + 1) & mask) {
        size_t home = set->slots[i] & mask;
        /* A hash may move up only if its home is not after the gap. */
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        set->slots[gap] = set->slots[i];
        set->slots[i] = 0;
        gap = i;
    }
    return true;
}
