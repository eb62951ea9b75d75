/* Trees of templates that are used again. */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/shares.h"
#include "base/table.h"
#include "metric/template_parts.h"

enum { LEAST_SIZE = 4096, LARGEST_PART = 4 };

struct kept_tree {
    TAILQ_ENTRY(kept_tree) link;
    struct arena *arena;
    struct template_tree tree;
    const char *functions; /* their names: a tree has their places */
    const char *owner;
    size_t size;
};

struct template_kept {
    struct table trees; /* by text and functions */
    struct shares sizes;
    TAILQ_HEAD(, kept_tree) used; /* the last one at the end */
};

static void tree_key(const void *item, const char **first, const char **second)
{
    const struct kept_tree *kept = item;

    *first = kept->tree.text;
    *second = kept->functions;
}

struct template_kept *template_kept_new(size_t max_bytes)
{
    struct template_kept *kept = heap_alloc(sizeof(*kept));

    table_init(&kept->trees, tree_key);
    shares_init(&kept->sizes, BUDGET_TEMPLATES, max_bytes);
    TAILQ_INIT(&kept->used);
    return kept;
}

static void drop(struct template_kept *kept, struct kept_tree *tree)
{
    (void)table_take(&kept->trees, tree->tree.text, tree->functions);
    TAILQ_REMOVE(&kept->used, tree, link);
    shares_give_back(&kept->sizes, tree->owner, tree->size);
    arena_free(tree->arena);
}

void template_kept_free(struct template_kept *kept)
{
    struct kept_tree *tree;

    if (!kept)
        return;
    while ((tree = TAILQ_FIRST(&kept->used)))
        drop(kept, tree);
    shares_fini(&kept->sizes);
    table_fini(&kept->trees);
    free(kept);
}

size_t template_kept_count(const struct template_kept *kept)
{
    return kept->trees.count;
}

/* False: there is none of this owner. */
static bool drop_oldest(struct template_kept *kept, const char *owner)
{
    struct kept_tree *tree;

    TAILQ_FOREACH(tree, &kept->used, link)
    {
        if (strcmp(tree->owner, owner) == 0) {
            drop(kept, tree);
            return true;
        }
    }
    return false;
}

static bool make_room(struct template_kept *kept, const char *owner, size_t size)
{
    const char *greedy;

    if (size > kept->sizes.most / LARGEST_PART)
        return false;
    while ((greedy = shares_yields(&kept->sizes, owner, size))) {
        if (!drop_oldest(kept, greedy))
            return false;
    }
    return true;
}

static const char *names_of(struct arena *arena, const struct template_function *functions)
{
    const char *names = "";

    for (; functions->name; functions++)
        names = arena_printf(arena, "%s %s", names, functions->name);
    return names;
}

static bool parse(const struct template_source *source, struct arena *arena,
                  struct template_tree *out)
{
    struct template_source of = *source;

    of.text = arena_strdup(arena, source->text);
    const struct template_token *tokens = template_lex(&of);
    of.arena = arena;
    return tokens && template_parse(&of, tokens, out);
}

static void free_arena(void *arena)
{
    arena_free(arena);
}

static const struct template_tree *keep(struct template_kept *kept, struct kept_tree *tree,
                                        const struct template_source *source)
{
    size_t used = arena_used(tree->arena);

    tree->size = used < LEAST_SIZE ? LEAST_SIZE : used;
    if (!make_room(kept, tree->owner, tree->size)) {
        arena_defer(source->arena, free_arena, tree->arena);
        return &tree->tree;
    }
    (void)table_put(&kept->trees, tree);
    TAILQ_INSERT_TAIL(&kept->used, tree, link);
    shares_take(&kept->sizes, tree->owner, tree->size);
    return &tree->tree;
}

static const struct template_tree *find(struct template_kept *kept, const char *text,
                                        const char *functions)
{
    struct kept_tree *tree = table_get(&kept->trees, text, functions);

    if (!tree)
        return NULL;
    TAILQ_REMOVE(&kept->used, tree, link);
    TAILQ_INSERT_TAIL(&kept->used, tree, link);
    return &tree->tree;
}

const struct template_tree *template_tree_of(const struct template_source *source,
                                             const struct template_means *means)
{
    struct template_kept *kept = means->kept;
    const char *functions = kept ? names_of(source->arena, source->functions) : NULL;
    const struct template_tree *found = kept ? find(kept, source->text, functions) : NULL;
    struct arena *arena = kept && !found ? arena_new() : source->arena;

    if (found)
        return found;
    struct kept_tree *tree = ARENA_NEW(arena, struct kept_tree);
    *tree = (struct kept_tree){.arena = arena,
                               .functions = arena_strdup(arena, functions),
                               .owner = arena_strdup(arena, means->owner ? means->owner : "")};
    if (!parse(source, arena, &tree->tree)) {
        if (kept)
            arena_free(arena);
        return NULL;
    }
    return kept ? keep(kept, tree, source) : &tree->tree;
}
