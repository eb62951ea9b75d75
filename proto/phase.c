#include "proto/phase.h"

#include <string.h>

static const char *const names[PHASE_COUNT] = {
    [PHASE_NONE] = "",
#define PHASE(name, promoted, message) [PHASE_##name] = #name,
#include "proto/phase.def"
#undef PHASE
};

static const char *const promoted[PHASE_COUNT] = {
    [PHASE_NONE] = "Unknown",
#define PHASE(name, promoted, message) [PHASE_##name] = promoted,
#include "proto/phase.def"
#undef PHASE
};

static const char *const messages[PHASE_COUNT] = {
    [PHASE_NONE] = "",
#define PHASE(name, promoted, message) [PHASE_##name] = message,
#include "proto/phase.def"
#undef PHASE
};

static enum phase in_table(enum phase phase)
{
    return phase > PHASE_NONE && phase < PHASE_COUNT ? phase : PHASE_NONE;
}

const char *phase_name(enum phase phase)
{
    return names[in_table(phase)];
}

enum phase phase_parse(const char *text)
{
    if (text == NULL)
        return PHASE_NONE;
    for (int i = PHASE_NONE + 1; i < PHASE_COUNT; i++) {
        if (strcmp(names[i], text) == 0)
            return (enum phase)i;
    }
    return PHASE_NONE;
}

const char *phase_promoted(enum phase phase)
{
    return promoted[in_table(phase)];
}

const char *phase_message(enum phase phase, const char *kind, struct arena *arena)
{
    const char *message = messages[in_table(phase)];
    const char *hole = strstr(message, "%s");
    if (hole == NULL)
        return arena_strdup(arena, message);
    return arena_printf(arena, "%.*s%s%s", (int)(hole - message), message, kind, hole + 2);
}
