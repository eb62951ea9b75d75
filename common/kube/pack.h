/*
 * Objects as compressed bytes, for those that are kept in memory for long: a tree takes some 16
 * times its text, and packed it takes a twentieth of it.
 *
 * Objects of one kind are alike, so each kind has a packer with a dictionary, which is made of the
 * first objects and made anew when there are many more. Compressing and unpacking take microseconds
 * each; making a dictionary takes some milliseconds.
 */
#ifndef KUBE_PACK_H
#define KUBE_PACK_H

#include "kube/reply.h"

enum {
    PACK_MAX_TEXT = 256 * 1024,       /* a longer object is not packed */
    PACK_MAX_ALL = 256 * 1024 * 1024, /* bytes of all objects that are packed, of the process */
    PACK_MAX_DICTIONARY = 16 * 1024,
    PACK_SAMPLES = 1024 * 1024, /* bytes of text that a dictionary is made of, at most */
    PACK_FIRST = 16,            /* objects from which on there is one */
    PACK_GROWTH = 16,           /* it is made anew when there are so many times as many */
};

/* One object. On the heap; only the packer that made it can unpack it. */
struct packed {
    uint32_t len;
    unsigned char bytes[];
};

struct packer;
struct packer *packer_new(void);
void packer_free(struct packer *packer); /* what it has packed cannot be unpacked any more */

/* NULL: the object is too large, or all that are packed take too much. The caller frees it with
 * packed_free(). */
struct packed *packer_pack(struct packer *packer, struct json_object *object);
void packed_free(struct packed *packed); /* NULL is allowed */
/* *out is owned by the arena and counts to the trees that are kept (kube/reply.h). ERR_RETRY: there
 * is no room among them for now. */
enum err packer_unpack(const struct packer *packer, const struct packed *packed,
                       struct arena *arena, struct json_object **out, struct errinfo *ei) MUST_USE;

/* True when the packer holds so many objects that a new dictionary is worth its time. */
bool packer_grows(const struct packer *packer, size_t count);
/* Makes a dictionary of these objects, which must be all that the packer has packed and that still
 * are, and packs them anew in place. */
void packer_renew(struct packer *packer, struct packed **objects[], size_t count);

/*
 * Of a packer that many owners share: makes its dictionary of objects that one of them has. It is
 * made once, and what was packed before stays as it is.
 */
void packer_teach(struct packer *packer, struct packed **objects[], size_t count);

/* Bytes of all objects that are packed, of the process. */
size_t packed_bytes(void);

#endif
