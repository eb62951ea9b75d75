#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

enum { TREES_MAX = 4096 };

static void drop_tree(struct objstore *store, struct objstate *state)
{
    TAILQ_REMOVE(&store->lately, state, lately);
    store->trees--;
    json_object_put(state->tree);
    state->tree = NULL;
}

static void keep_tree(struct objstore *store, struct objstate *state, struct json_object *tree)
{
    state->tree = tree;
    TAILQ_INSERT_TAIL(&store->lately, state, lately);
    if (++store->trees <= TREES_MAX)
        return;
    struct objstate *oldest = TAILQ_FIRST(&store->lately);
    size_t len;
    (void)objstate_text(oldest, &len);
    drop_tree(store, oldest);
}

struct objstate *objstate_new(struct objstore *store, struct json_object *tree)
{
    struct objstate *state = heap_alloc(sizeof(*state));
    *state = (struct objstate){.refs = 1};
    keep_tree(store, state, json_object_get(tree));
    return state;
}

static void set_text(struct objstate *state, const char *text, size_t len)
{
    state->text = heap_alloc(len + 1);
    memcpy(state->text, text, len);
    state->text[len] = '\0';
    state->len = len;
}

struct objstate *objstate_of_text(const char *text, size_t len)
{
    struct objstate *state = heap_alloc(sizeof(*state));
    *state = (struct objstate){.refs = 1};
    set_text(state, text, len);
    return state;
}

struct objstate *objstate_ref(struct objstate *state)
{
    state->refs++;
    return state;
}

void objstate_put(struct objstore *store, struct objstate *state)
{
    if (!state || --state->refs > 0)
        return;
    if (state->tree)
        drop_tree(store, state);
    free(state->text);
    free(state);
}

/* What was stored once can be read: anything else is a mistake of ours. */
static struct json_object *parse(const struct objstate *state)
{
    struct arena *arena = arena_new();
    struct json_object *tree = NULL;
    if (json_parse(arena, state->text, state->len, JSON_MAX_BYTES, &tree, NULL) != ERR_OK)
        abort();
    json_object_get(tree);
    arena_free(arena);
    return tree;
}

struct json_object *objstate_tree(struct objstore *store, struct objstate *state)
{
    if (!state->tree) {
        keep_tree(store, state, parse(state));
    } else {
        TAILQ_REMOVE(&store->lately, state, lately);
        TAILQ_INSERT_TAIL(&store->lately, state, lately);
    }
    return state->tree;
}

const char *objstate_text(struct objstate *state, size_t *len)
{
    if (!state->text) {
        struct arena *arena = arena_new();
        const char *text = json_text(arena, state->tree);
        set_text(state, text, strlen(text));
        arena_free(arena);
    }
    *len = state->len;
    return state->text;
}
