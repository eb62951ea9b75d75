/*
 * The text of an answer or an event of the API as a tree, within bounds: whoever may write objects
 * must not decide how much memory reading them takes.
 *
 * A tree that is dropped before the next answer is read is bound alone. Trees that are kept, by a
 * run that waits or from one run to the next, are bound together as well: many objects could each
 * be as large as is allowed. The large ones have a part of that for themselves, which they cannot
 * exceed: whoever fills it keeps no other object from being read that is as large as most are.
 */
#ifndef KUBE_REPLY_H
#define KUBE_REPLY_H

#include "base/json.h"

/*
 * As people write it text takes some 20 times as much as a tree: an object of some 800 KB is read,
 * and what the rules make of it, copies and texts of patches, takes about as much again twice. A
 * list is asked for in smaller pages when its tree takes more.
 */
enum {
    REPLY_MAX_TEXT = 8 * 1024 * 1024,
    REPLY_MAX_TREE = 16 * 1024 * 1024,
    REPLY_SMALL_TREE = 512 * 1024,
    REPLY_MAX_LARGE = 16 * 1024 * 1024, /* all trees that are kept and not small */
    REPLY_MAX_KEPT = 40 * 1024 * 1024,  /* all that are kept */
};

enum reply_use {
    REPLY_PASSES, /* the tree is dropped before another is read */
    REPLY_STAYS,  /* it counts to those that are kept */
    REPLY_ASKS,   /* and is only read when there is room for it among them */
};

enum reply_shape {
    REPLY_WHOLE,
    /* The whole takes more memory than REPLY_MAX_TREE, and only its outline was read
     * (json_parse_within()): of each object its kind and the plain values of its metadata. */
    REPLY_TOO_LARGE,
    REPLY_NO_ROOM, /* the same for now: others that are kept take the memory */
};

enum err reply_parse(struct arena *arena, const char *text, size_t len, enum reply_use use,
                     struct json_object **out, enum reply_shape *shape,
                     struct errinfo *ei) MUST_USE;

/*
 * A list whose items are handed over one by one as they are read, and dropped (item: as in
 * struct json_bounds). *out is the list without them.
 */
enum err reply_items(struct arena *arena, const char *text, size_t len,
                     bool (*item)(void *arg, struct json_object *item, bool whole), void *arg,
                     struct json_object **out, struct errinfo *ei) MUST_USE;

/* Bytes of all trees that are kept. */
size_t reply_kept(void);

#endif
