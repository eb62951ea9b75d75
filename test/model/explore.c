#include "explore.h"

#include <stdio.h>
#include <time.h>

#include "ends.h"

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int way_length(const struct search *search)
{
    int n = search->violation.n_moves;

    for (uint32_t at = search->violation.node; at != NOBODY;
         at = ((struct node *)pool_at(&search->nodes, at))->parent)
        n++;
    return n - 1;
}

static void tell(struct search *search, bool right, bool brief, double began)
{
    struct arena *arena = arena_new();

    if (brief && !right)
        printf("%s, after %d moves\n", search->violation.rule, way_length(search));
    else if (!brief)
        printf("%-36s %9u states %11llu moves %8llu ticks %6.1f s%s\n%s",
               search->model->scenario->name, search->nodes.count,
               (unsigned long long)search->moves,
               (unsigned long long)ticks_calls(search->model->ticks), seconds() - began,
               search->bounded ? ", bounded" : "", right ? "" : search_tell(search, arena));
    fflush(stdout);
    arena_free(arena);
}

/* A copy that is broken on purpose often shows it near the start, but only in how runs end, which
 * is looked at last: so its first states are looked at by themselves first. */
enum { FIRST_LOOK = 1000 };

static bool check(struct search *search, const struct state *start, uint32_t limit)
{
    return search_run(search, start, limit) && ends_check(search);
}

const char *explore(const struct scenario *scenario, bool brief)
{
    struct model *model = model_new(scenario);
    struct state start = {.cluster = model_start(model)};
    struct search search;
    double began = seconds();
    bool right = true;

    search_init(&search, model);
    if (!(scenario->world & FROM_SCRATCH))
        right = ends_follow(&search, &start);
    right = right && (!brief || check(&search, &start, FIRST_LOOK)) &&
            check(&search, &start, scenario->limit);
    tell(&search, right, brief, began);
    const char *broken = right ? NULL : search.violation.rule;
    search_fini(&search);
    model_free(model);
    return broken;
}
