/*
 * Two forms in which watched objects are kept in memory for a long time: compressed, or as their
 * mere existence.
 *
 * Compressed objects: a tree takes about 16 times the size of its text, a compressed object a
 * twentieth of the text.
 *
 * Objects of one kind are similar, so each kind has a compressor with a dictionary, which is
 * trained on the first objects, and again when there are many more. Compression takes microseconds,
 * training some milliseconds.
 */
#ifndef KUBE_KEPT_OBJECT_H
#define KUBE_KEPT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/reply.h"

enum {
    COMPRESS_MAX_TEXT = 256 * 1024,       /* a longer object is not compressed */
    COMPRESS_MAX_ALL = 256 * 1024 * 1024, /* bytes of all compressed objects of the process */
    COMPRESS_MAX_DICTIONARY = 16 * 1024,
    COMPRESS_SAMPLES = 1024 * 1024, /* maximum text for training a dictionary */
    COMPRESS_FIRST = 16,            /* number of objects for the first dictionary */
    COMPRESS_GROWTH = 16,           /* growth factor after which it is trained again */
};

/* One object. On the heap; only its compressor can decompress it. */
struct compressed_object {
    uint32_t len;
    unsigned char bytes[];
};

struct object_compressor;
struct object_compressor *object_compressor_new(void);
void object_compressor_free(struct object_compressor *compressor); /* its objects cannot be
                                                                    * decompressed afterwards */

/* NULL if the object is too large, or the limit of all objects is reached. The caller frees it with
 * compressed_object_free(). */
struct compressed_object *object_compress(struct object_compressor *compressor,
                                          struct json_object *object);
void compressed_object_free(struct compressed_object *packed); /* NULL is allowed */
/* *out is owned by the arena and counts as a kept tree (kube/reply.h). ERR_RETRY if there is no
 * room for it at the moment. */
enum err object_decompress(const struct object_compressor *compressor,
                           const struct compressed_object *packed, struct arena *arena,
                           struct json_object **out, struct errinfo *ei) MUST_USE;

/* Returns true if there are enough objects for a new dictionary. */
bool object_compressor_grows(const struct object_compressor *compressor, size_t count);
/* Trains a dictionary on these objects, which must be all existing objects of this compressor,
 * and compresses them again in place. */
void object_compressor_retrain(struct object_compressor *compressor,
                               struct compressed_object **objects[], size_t count);

/*
 * For a compressor with many owners: trains its dictionary on the objects of one of them. Done only
 * once; objects compressed earlier stay readable.
 */
void object_compressor_train_once(struct object_compressor *compressor,
                                  struct compressed_object **objects[], size_t count);

/* Bytes of all compressed objects of the process. */
size_t compressed_object_bytes(void);

/*
 * --- existence: a set of objects known only to exist. Each takes eight bytes, a hash of namespace
 * and name. Names with equal hashes cannot be distinguished; the hash is seeded in each process, so
 * that collisions cannot be constructed.
 */
struct object_presence {
    uint64_t *slots; /* 0 if free */
    size_t cap;      /* 0 or a power of two */
    size_t count;
};

/* The hash: never 0, stable within this process. NULL counts as "". */
uint64_t name_hash(const char *first, const char *second);

void object_presence_init(struct object_presence *set);
void object_presence_fini(struct object_presence *set);
/* NULL counts as "". */
bool object_presence_has(const struct object_presence *set, const char *namespace_,
                         const char *name);
void object_presence_add(struct object_presence *set, const char *namespace_, const char *name);
/* Returns false if it was not in the set. */
bool object_presence_remove(struct object_presence *set, const char *namespace_, const char *name);

#endif
