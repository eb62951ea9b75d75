/* flagger-testhistory: checks the history that flagger-testnode has recorded. */
#include <stdio.h>
#include <string.h>

#include "real/history.h"

struct allowed {
    char **rules; /* NULL-ended */
    size_t told;
};

static void print(void *arg, const char *rule, const char *sentence)
{
    struct allowed *allowed = arg;
    for (char **at = allowed->rules; *at; at++)
        if (strcmp(*at, rule) == 0)
            return;
    printf("%s: %s\n", rule, sentence);
    allowed->told++;
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct errinfo ei = {0};
    struct json_object *lines = NULL;
    int status = 2;

    if (argc < 2) {
        fprintf(stderr, "usage: flagger-testhistory FILE [RULE-THAT-MAY-BE-BROKEN...]\n");
        goto out;
    }
    if (history_read(arena, argv[1], &lines, &ei) != ERR_OK) {
        fprintf(stderr, "flagger-testhistory: %s\n", ei.text);
        goto out;
    }
    struct allowed allowed = {.rules = argv + 2};
    history_check(lines, print, &allowed);
    status = allowed.told > 0;
out:
    arena_free(arena);
    return status;
}
