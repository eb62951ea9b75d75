#include "members/shown.h"

#include <stdlib.h>
#include <string.h>

struct listing {
    struct arena *arena;
    const char **names;
    size_t count, room;
};

static void add(void *arg, const char *namespace_, const char *name)
{
    struct listing *listing = arg;

    if (listing->count == listing->room) {
        size_t room = listing->room ? 2 * listing->room : 64;
        const char **more = arena_array(listing->arena, room, sizeof(*more));
        for (size_t i = 0; i < listing->count; i++)
            more[i] = listing->names[i];
        listing->names = more;
        listing->room = room;
    }
    listing->names[listing->count++] = arena_printf(listing->arena, "%s/%s", namespace_, name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool shown_plans(const struct members *members, struct arena *arena, const char ***out,
                 size_t *count)
{
    struct listing listing = {.arena = arena};
    struct members_look look;

    if (!members_ready(members))
        return false;
    members_look(members, &look);
    desk_each_plan(look.hub->desk, add, &listing);
    if (listing.count > 1)
        qsort(listing.names, listing.count, sizeof(*listing.names), by_text);
    *out = listing.names;
    *count = listing.count;
    return true;
}

struct json_object *shown_plan(const struct members *members, struct arena *arena,
                               const char *namespace_, const char *name)
{
    struct json_object *plan = NULL;
    struct members_look look;

    members_look(members, &look);
    (void)desk_plan(look.hub->desk, arena, namespace_, name, &plan);
    return plan;
}
