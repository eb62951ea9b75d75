/*
 * Explores the rules of a release: every state that a scenario can reach, every safety rule in each
 * of them, and that every run ends. Called by test/model.
 *
 *   explorer [SCENARIO...]      these, or all
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

static bool explore(const struct scenario *scenario)
{
    struct model *model = model_new(scenario);
    struct state start = {.cluster = model_start(model)};
    struct search search;
    double began = seconds();

    if (!(scenario->world & FROM_SCRATCH))
        start = ends_follow(model, start);
    search_init(&search, model);
    bool right = search_run(&search, &start) && ends_check(&search);
    printf("%-24s %9u states %11llu moves %8llu ticks %6.1f s\n", scenario->name,
           search.nodes.count, (unsigned long long)search.moves,
           (unsigned long long)ticks_calls(model->ticks), seconds() - began);
    if (!right) {
        struct arena *arena = arena_new();
        printf("%s\n", search_tell(&search, arena));
        arena_free(arena);
    }
    fflush(stdout);
    search_fini(&search);
    model_free(model);
    return right;
}

static bool is_named(const struct scenario *scenario, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(scenario->name, argv[i]) == 0)
            return true;
    }
    return argc == 1;
}

int main(int argc, char **argv)
{
    bool right = true;
    int explored = 0;

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < n_scenarios; i++)
            printf("%s\n", scenarios[i].name);
        return 0;
    }
    for (int i = 0; right && i < n_scenarios; i++) {
        if (!is_named(&scenarios[i], argc, argv))
            continue;
        right = explore(&scenarios[i]);
        explored++;
    }
    if (explored == 0) {
        fprintf(stderr, "explorer: no such scenario; --list names them\n");
        return 2;
    }
    return right ? 0 : 1;
}
