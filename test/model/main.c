/*
 * Explores the rules of a release: every state that a scenario can reach, every safety rule in each
 * of them, and that every run ends. Called by test/model/run.
 *
 *   explorer [SCENARIO...]             these, or all
 *   explorer --most N [SCENARIO...]    of those that have a limit, at most N states
 *   explorer --at-most N [SCENARIO...] of each at most N states
 *   explorer --list                    their names
 *
 * Exit status 1: a rule does not hold; the shortest way there is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"

static int list(void)
{
    for (int i = 0; i < n_scenarios; i++)
        printf("%s\n", scenarios[i].name);
    return 0;
}

/* most: 0 for the scenario's own limit; all: also where that has none. */
static bool explore_within(const struct scenario *scenario, uint32_t most, bool all)
{
    struct scenario within = *scenario;

    if (most > 0 && (within.limit > most || (all && within.limit == 0)))
        within.limit = most;
    return explore(&within, false) == NULL;
}

static int explore_named(int argc, char **argv, uint32_t most, bool all)
{
    for (int i = 0; i < argc; i++) {
        const struct scenario *scenario = scenario_find(argv[i]);
        if (!scenario) {
            fprintf(stderr, "explorer: no scenario \"%s\"; --list names them\n", argv[i]);
            return 2;
        }
        if (!explore_within(scenario, most, all))
            return 1;
    }
    return 0;
}

static int run(int argc, char **argv)
{
    int named = 1;
    uint32_t most = 0;
    bool all = argc > 2 && strcmp(argv[1], "--at-most") == 0;

    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    if (argc > 2 && (all || strcmp(argv[1], "--most") == 0)) {
        most = (uint32_t)strtoul(argv[2], NULL, 10); /* test/model/run has looked at it */
        named = 3;
    }
    for (int i = 0; argc == named && i < n_scenarios; i++) {
        if (!explore_within(&scenarios[i], most, all))
            return 1;
    }
    return explore_named(argc - named, argv + named, most, all);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();

    scenarios_read(arena);
    int status = run(argc, argv);
    arena_free(arena);
    return status;
}
