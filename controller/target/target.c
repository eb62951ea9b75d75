#include "target/target.h"

#include <string.h>

const struct target *target_find(const char *kind)
{
    for (size_t i = 0; kind && target_table[i]; i++) {
        if (strcmp(target_table[i]->kind, kind) == 0)
            return target_table[i];
    }
    return NULL;
}

const char *target_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; target_table[i]; i++)
        all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", target_table[i]->kind);
    return all;
}
