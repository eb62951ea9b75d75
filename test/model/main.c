/*
 * Explores the rules of a release: every state that a scenario can reach, every safety rule in each
 * of them, and that every run ends. Called by test/model/run.
 *
 *   explorer [SCENARIO...]      these, or all
 *   explorer --list             their names
 *
 * Exit status 1: a rule does not hold; the shortest way there is printed.
 */
#include <stdio.h>
#include <string.h>

#include "explore.h"

static int list(void)
{
    for (int i = 0; i < n_scenarios; i++)
        printf("%s\n", scenarios[i].name);
    return 0;
}

static int explore_named(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const struct scenario *scenario = scenario_find(argv[i]);
        if (!scenario) {
            fprintf(stderr, "explorer: no scenario \"%s\"; --list names them\n", argv[i]);
            return 2;
        }
        if (!explore(scenario, false))
            return 1;
    }
    return 0;
}

static int run(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    for (int i = 0; argc == 1 && i < n_scenarios; i++) {
        if (!explore(&scenarios[i], false))
            return 1;
    }
    return explore_named(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();

    scenarios_read(arena);
    int status = run(argc, argv);
    arena_free(arena);
    return status;
}
