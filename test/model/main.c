/*
 * Explores the rules of a release: every state that a scenario can reach, every safety rule in each
 * of them, and that every run ends. Called by test/model/run.
 *
 *   explorer [SCENARIO...]      these, or all
 *   explorer --brief SCENARIO   only the rule that does not hold, for a copy that is broken on purpose
 *   explorer --list             their names
 *
 * Exit status 1: a rule does not hold; the shortest way there is printed.
 */
#include <stdio.h>
#include <string.h>
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

static bool explore(const struct scenario *scenario, bool brief)
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
    search_fini(&search);
    model_free(model);
    return right;
}

static int list(void)
{
    for (int i = 0; i < n_scenarios; i++)
        printf("%s\n", scenarios[i].name);
    return 0;
}

static bool is_named(const struct scenario *scenario, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(scenario->name, argv[i]) == 0)
            return true;
    }
    return argc == 0;
}

int main(int argc, char **argv)
{
    bool right = true, brief = argc > 1 && strcmp(argv[1], "--brief") == 0;
    int first = brief ? 2 : 1, explored = 0;

    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    for (int i = 0; right && i < n_scenarios; i++) {
        if (!is_named(&scenarios[i], argc - first, argv + first))
            continue;
        right = explore(&scenarios[i], brief);
        explored++;
    }
    if (explored == 0) {
        fprintf(stderr, "explorer: no such scenario; --list names them\n");
        return 2;
    }
    return right ? 0 : 1;
}
