/*
 * Walks every state that the waves of a ReleasePlan can reach in a model of four clusters. Called by
 * test/model/waves/run.
 *
 *   waves_walker [SCENARIO]     this one, or all; exit status 1: a rule does not hold, the shortest
 *                               way there is printed
 *   waves_walker --list         their names
 */
#include <stdio.h>
#include <string.h>

#include "walk.h"

static bool walk_one(const struct scenario *scenario)
{
    char says[SAYS_TEXT];
    bool right = walk(scenario, true, says);

    printf("%-36s %s\n", scenario->name, says);
    return right;
}

int main(int argc, char **argv)
{
    const struct scenario *one = argc == 2 ? scenario_find(argv[1]) : NULL;
    bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
    int status = 0;

    if (argc > 2 || (argc == 2 && !one && !list)) {
        fprintf(stderr, "waves_walker: expected the name of a scenario or --list\n");
        return 2;
    }
    for (int i = 0; i < n_scenarios; i++) {
        if (list)
            printf("%s\n", scenarios[i].name);
        else if ((!one || one == &scenarios[i]) && !walk_one(&scenarios[i]))
            status = 1;
    }
    return status;
}
