#include "scaler/scaler.h"

#include <string.h>

const struct scaler *scaler_find(const char *kind)
{
    for (size_t i = 0; kind && scaler_table[i]; i++) {
        if (strcmp(scaler_table[i]->kind, kind) == 0)
            return scaler_table[i];
    }
    return NULL;
}

const char *scaler_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; scaler_table[i]; i++)
        all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", scaler_table[i]->kind);
    return all;
}

bool scaler_is_of(const struct scaler *scaler, const char *api_version)
{
    size_t len = strlen(scaler->group);

    return api_version && strncmp(api_version, scaler->group, len) == 0 && api_version[len] == '/';
}
