#include "random_edits/pick.h"

#include <assert.h>
#include <string.h>

struct pick {
    const struct app *app;
    const char *const *without;
    uint64_t state;
    int version;
};

/* splitmix64 */
static uint64_t next(struct pick *pick)
{
    uint64_t z = pick->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(struct pick *pick, int n)
{
    assert(n > 0);
    return (int)(next(pick) % (uint64_t)n);
}

struct pick *pick_new(struct arena *arena, const struct app *app, uint64_t seed,
                      const char *const *without)
{
    struct pick *pick = ARENA_NEW(arena, struct pick);
    *pick = (struct pick){.app = app, .without = without, .state = seed, .version = 1};
    for (const char *c = app ? app->name : "controller"; *c; c++)
        pick->state = pick->state * 131 + (uint64_t)*c;
    return pick;
}

static bool fits(const struct pick *pick, const struct edit *edit)
{
    const struct app *app = pick->app;
    for (const char *const *name = pick->without; name && *name; name++)
        if (strcmp(*name, edit->name) == 0)
            return false;
    switch (edit->needs) {
    case EDIT_ANY:
        return app != NULL;
    case EDIT_GATEWAY:
        return app && app->gateway;
    case EDIT_CONFIGS:
        return app && app->configs;
    case EDIT_SCALER:
        return app && app->scaler;
    case EDIT_UNSCALED:
        return app && !app->scaler;
    case EDIT_HOOKED:
        return app && app->hooks;
    case EDIT_CONTROLLER:
        return !app;
    }
    return false;
}

static const struct edit *choose(struct pick *pick)
{
    int sum = 0;
    for (const struct edit *edit = edits; edit->name; edit++)
        sum += fits(pick, edit) ? edit->weight : 0;
    int at = below(pick, sum);
    for (const struct edit *edit = edits;; edit++) {
        at -= fits(pick, edit) ? edit->weight : 0;
        if (at < 0)
            return edit;
    }
}

/*
 * Most versions are good. Of the bad ones some fail only now and then: to be promoted, one would
 * have to answer everything well for all the seconds that the checks of an analysis look at.
 */
static const char *version(struct pick *pick, struct arena *arena)
{
    int chance = below(pick, 100), number = ++pick->version;
    if (chance < 62)
        return arena_printf(arena, "v%d", number);
    if (chance < 74)
        return arena_printf(arena, "bad%d-errors100", number);
    if (chance < 80)
        return arena_printf(arena, "bad%d-errors60", number);
    if (chance < 90)
        return arena_printf(arena, "slow%d-slow600ms", number);
    return arena_printf(arena, "stuck%d", number);
}

struct line pick_next(struct pick *pick, struct arena *arena)
{
    enum { MIDWAY = 50 };
    struct line line = {.app = pick->app, .edit = choose(pick)};
    int chance = below(pick, 100);
    if (line.edit->kind == EDIT_PUSH)
        line.version = version(pick, arena);
    /* readiness matters while there is a share */
    if (line.edit->kind == EDIT_UNREADY && line.edit->mid && chance < 45)
        chance = MIDWAY;
    if (!pick->app)
        line.ms = 3000 + below(pick, 15000);
    else if (chance < 45)
        line.ms = below(pick, 1000);
    else if (chance < 65)
        line.when = WHEN_MID, line.ms = below(pick, 2000);
    else if (chance < 80)
        line.when = WHEN_LATE, line.ms = below(pick, 1500);
    else
        line.when = WHEN_IDLE, line.ms = below(pick, 500);
    return line;
}
