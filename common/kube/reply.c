#include "kube/reply.h"

#include <stdlib.h>

/* Of the process, as its memory is: a tree may outlive the client that has read it. */
static size_t kept, kept_large;

static void count(size_t tree, int sign)
{
    size_t *of_large = tree > REPLY_SMALL_TREE ? &kept_large : NULL;

    kept += sign > 0 ? tree : -tree;
    if (of_large)
        *of_large += sign > 0 ? tree : -tree;
}

/* json-c has dropped the last reference to it. */
static void on_dropped(struct json_object *tree, void *size)
{
    (void)tree;
    count(*(size_t *)size, -1);
    free(size);
}

static void keep(struct json_object *tree, size_t bytes)
{
    size_t *size = heap_alloc(sizeof(*size));

    if (!json_object_is_type(tree, json_type_object)) {
        free(size); /* no object of the API */
        return;
    }
    *size = bytes;
    count(bytes, 1);
    json_object_set_userdata(tree, size, on_dropped);
}

size_t reply_kept(void)
{
    return kept;
}

static size_t room(size_t most, size_t taken)
{
    return taken < most ? most - taken : 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A large tree takes of what the large ones have and of what all have, a small one only of this. */
static size_t most_of_one(enum reply_use use)
{
    if (use != REPLY_ASKS)
        return REPLY_MAX_TREE;
    size_t all = room(REPLY_MAX_KEPT, kept), large = least(room(REPLY_MAX_LARGE, kept_large), all);
    size_t small = least(REPLY_SMALL_TREE, all);

    return large > small ? large : small;
}

enum err reply_parse(struct arena *arena, const char *text, size_t len, enum reply_use use,
                     struct json_object **out, enum reply_shape *shape, struct errinfo *ei)
{
    struct json_bounds bounds = {.max_text = REPLY_MAX_TEXT, .max_tree = most_of_one(use)};
    struct errinfo why = {0};
    enum err err = json_parse_within(arena, text, len, &bounds, out, &why);

    *shape = REPLY_WHOLE;
    if (err == ERR_OK && use != REPLY_PASSES)
        keep(*out, bounds.tree);
    if (err == ERR_OK || bounds.tree <= bounds.max_tree) {
        if (ei)
            *ei = why;
        return err;
    }
    *shape = bounds.max_tree < REPLY_MAX_TREE ? REPLY_NO_ROOM : REPLY_TOO_LARGE;
    bounds.outline = true;
    bounds.max_tree = REPLY_MAX_TREE;
    return json_parse_within(arena, text, len, &bounds, out, ei);
}

enum err reply_items(struct arena *arena, const char *text, size_t len,
                     bool (*item)(void *arg, struct json_object *item, bool whole), void *arg,
                     struct json_object **out, struct errinfo *ei)
{
    struct json_bounds bounds = {
        .max_text = REPLY_MAX_TEXT, .max_tree = REPLY_MAX_TREE, .item = item, .arg = arg};

    return json_parse_within(arena, text, len, &bounds, out, ei);
}
