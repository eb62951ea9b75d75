#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 3000000, TABLE = 1 << 23, NO_STATE = -1 };

struct states {
    struct world *worlds;
    int *parents;
    int count;
    int *table; /* number of the state, less one */
    struct edge {
        int from, to;
    } * edges;
    size_t n_edges, room;
};

const struct scenario *scenario_find(const char *name)
{
    for (int i = 0; i < n_scenarios; i++)
        if (strcmp(scenarios[i].name, name) == 0)
            return &scenarios[i];
    return NULL;
}

static void *get(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    if (!memory) {
        fprintf(stderr, "no memory for the states\n");
        exit(2);
    }
    return memory;
}

static uint32_t hash_of(const struct world *world)
{
    const unsigned char *bytes = (const unsigned char *)world;
    uint64_t hash = 0xcbf29ce484222325U;

    for (size_t i = 0; i < sizeof(*world); i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    return (uint32_t)(hash ^ hash >> 32);
}

/* The number of the state; NO_STATE: there are too many. */
static int put(struct states *all, const struct world *world, int parent)
{
    uint32_t at = hash_of(world) % TABLE;

    while (all->table[at] > 0 &&
           memcmp(&all->worlds[all->table[at] - 1], world, sizeof(*world)) != 0)
        at = (at + 1) % TABLE;
    if (all->table[at] > 0)
        return all->table[at] - 1;
    if (all->count == MOST_STATES)
        return NO_STATE;
    all->worlds[all->count] = *world;
    all->parents[all->count] = parent;
    all->table[at] = ++all->count;
    return all->count - 1;
}

static void add_edge(struct states *all, int from, int to)
{
    if (all->n_edges == all->room) {
        all->room = all->room ? 2 * all->room : 1 << 16;
        struct edge *more = realloc(all->edges, all->room * sizeof(*more));
        if (!more) {
            fprintf(stderr, "no memory for the moves\n");
            exit(2);
        }
        all->edges = more;
    }
    all->edges[all->n_edges++] = (struct edge){from, to};
}

/* What leads from one state to another one, in words. */
static void print_move(const struct states *all, int from, int to)
{
    static struct move moves[MAX_MOVES];
    const char *broken;
    int count = world_moves(&all->worlds[from], moves, &broken);

    for (int i = 0; i < count; i++) {
        if (memcmp(&moves[i].to, &all->worlds[to], sizeof(moves[i].to)) != 0)
            continue;
        printf("  %s\n", moves[i].what);
        return;
    }
}

static void print_way(const struct states *all, int to)
{
    enum { LONGEST = 400 };
    int way[LONGEST], len = 0;

    for (int at = to; at >= 0 && len < LONGEST; at = all->parents[at])
        way[len++] = at;
    for (int i = len - 1; i > 0; i--)
        print_move(all, way[i], way[i - 1]);
}

static bool fail(const struct states *all, int at, bool trace, const char *why,
                 char says[SAYS_TEXT])
{
    (void)snprintf(says, SAYS_TEXT, "%s", why);
    if (trace) {
        printf("%s:\n", why);
        print_way(all, at);
    }
    return false;
}

/* Backwards from every end over all moves. NO_STATE: each state is reached so. */
static int find_dead_end(const struct states *all)
{
    int *first = get((size_t)all->count + 2, sizeof(*first));
    int *from = get(all->n_edges + 1, sizeof(*from));
    int *queue = get((size_t)all->count + 1, sizeof(*queue));
    bool *reached = get((size_t)all->count, sizeof(*reached));
    int head = 0, tail = 0, found = NO_STATE;

    for (size_t i = 0; i < all->n_edges; i++)
        first[all->edges[i].to + 2]++;
    for (int i = 0; i < all->count; i++)
        first[i + 2] += first[i + 1];
    for (size_t i = 0; i < all->n_edges; i++)
        from[first[all->edges[i].to + 1]++] = all->edges[i].from;
    for (int i = 0; i < all->count; i++)
        if (world_is_at_end(&all->worlds[i])) {
            reached[i] = true;
            queue[tail++] = i;
        }
    while (head < tail) {
        int at = queue[head++];
        for (int i = first[at]; i < first[at + 1]; i++)
            if (!reached[from[i]]) {
                reached[from[i]] = true;
                queue[tail++] = from[i];
            }
    }
    for (int i = 0; i < all->count && found == NO_STATE; i++)
        found = reached[i] ? NO_STATE : i;
    free(first);
    free(from);
    free(queue);
    free(reached);
    return found;
}

static bool walk_all(struct states *all, const struct scenario *scenario, bool trace,
                     char says[SAYS_TEXT])
{
    static struct move moves[MAX_MOVES];

    for (int at = 0; at < all->count; at++) {
        const char *broken;
        int count = world_moves(&all->worlds[at], moves, &broken);
        if (broken)
            return fail(all, at, trace, broken, says);
        for (int i = 0; i < count; i++) {
            int to = put(all, &moves[i].to, at);
            if (to == NO_STATE)
                return fail(all, at, false, "there are more states than can be walked", says);
            if (scenario->ends)
                add_edge(all, at, to);
        }
    }
    int dead = scenario->ends ? find_dead_end(all) : NO_STATE;
    if (dead != NO_STATE)
        return fail(all, dead, trace, "from here there is no way to the end", says);
    (void)snprintf(says, SAYS_TEXT, "%d states", all->count);
    return true;
}

bool walk(const struct scenario *scenario, bool trace, char says[SAYS_TEXT])
{
    struct arena *arena = arena_new();
    struct states all = {.worlds = get(MOST_STATES, sizeof(*all.worlds)),
                         .parents = get(MOST_STATES, sizeof(*all.parents)),
                         .table = get(TABLE, sizeof(*all.table))};
    struct world first;

    world_begin(arena, scenario, &first);
    put(&all, &first, NO_STATE);
    bool right = walk_all(&all, scenario, trace, says);
    free(all.worlds);
    free(all.parents);
    free(all.table);
    free(all.edges);
    arena_free(arena);
    return right;
}
