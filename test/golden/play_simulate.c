/*
 * The word `simulated`: the release of an image is played twice, by the simulation that people are
 * shown (controller/ctl/simulate) and by the engine's way of waking in this world. Both must take the
 * same steps in the same order, at the same times, with the same webhooks, metrics and events.
 */
#include "play_simulate.h"
#include "test/pretend.h"
#include "test/unit.h"
#include "world_kind.h"

#include <string.h>

#include "ctl/simulate/simulate.h"

/* Of a table of releases; no strategy of a table of nine is left out. */
enum { MAX_TURNS = 400, EVERY = 2 * WORLD_EVERY - 1 };

/* --- the world as a source */

static bool is_unserved(const struct world *world, const struct kube_resource *resource)
{
    return strstr(world->unserved, resource->plural) != NULL;
}

static struct json_object *find(void *arg, const struct kube_resource *resource,
                                const char *namespace_, const char *name)
{
    struct world *world = arg;

    (void)namespace_;
    if (is_unserved(world, resource))
        return NULL;
    return world_get(world, arena_printf(world->arena, "%s/%s", resource->plural, name));
}

static struct json_object *list(void *arg, const struct kube_resource *resource,
                                const char *namespace_)
{
    struct world *world = arg;

    (void)namespace_;
    return is_unserved(world, resource)
               ? NULL
               : pretend_list(world->arena, world->objects, resource->plural, resource->group);
}

/* --- a line for a step */

struct line {
    int64_t at_ms;
    const char *phase, *weights, *hooks, *metrics, *said;
};

static const char *print(struct arena *arena, const struct line *line)
{
    return arena_printf(arena, "%llds %s %s hooks [%s] metrics [%s]\n%s",
                        (long long)(line->at_ms / 1000), line->phase, line->weights, line->hooks,
                        line->metrics, line->said);
}

static const char *indented(struct arena *arena, const char *text)
{
    const char *out = "";

    for (; *text; text += strcspn(text, "\n") + 1)
        out = arena_printf(arena, "%s    %.*s\n", out, (int)strcspn(text, "\n"), text);
    return out;
}

static const char *simulated(struct arena *arena, const struct simulation *simulation)
{
    const char *text = "";

    for (const struct simulation_step *step = simulation->steps; step; step = step->next) {
        const struct line line = {.at_ms = step->at_ms,
                                  .phase = phase_name(step->phase),
                                  .weights = arena_printf(arena, "%s/%s",
                                                          weight_text(arena, step->primary),
                                                          weight_text(arena, step->canary)),
                                  .hooks = step->hooks,
                                  .metrics = step->metrics,
                                  .said = indented(arena, step->said)};
        text = arena_printf(arena, "%s%s", text, print(arena, &line));
    }
    return text;
}

/* --- the same in the world */

/* "gate Progressing" of each. */
static const char *hooks_of(struct world *world)
{
    const char *text = "";

    for (size_t i = 0; i < json_len(world->asked); i++) {
        const char *one = json_object_get_string(json_elem(world->asked, i));
        text = arena_printf(world->arena, "%s%s%.*s", text, *text ? ", " : "",
                            (int)strcspn(one, " "), one);
    }
    return text;
}

/* "metrics[0]: up", a line for each; probes have another name. */
static const char *metrics_of(struct world *world)
{
    struct json_object *metrics = json_at(world->canary, "spec", "analysis", "metrics", NULL);
    const char *text = "";

    for (const char *at = world->queries; *at; at += strcspn(at, "\n") + 1) {
        const char *bracket = strchr(at, '[');
        size_t index = strncmp(at, "metrics[", 8) == 0 ? strtoul(bracket + 1, NULL, 10) : SIZE_MAX;
        const char *name = json_str_at(json_elem(metrics, index), "name", NULL);
        if (name)
            text = arena_printf(world->arena, "%s%s%s", text, *text ? ", " : "", name);
    }
    return text;
}

/* "event Normal Progressing: TEXT" */
static const char *events_of(struct arena *arena, const char *plan)
{
    const char *text = "";

    for (const char *at = plan; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != '\0')) {
        const char *colon = strchr(at, ':');
        if (strncmp(at, "event ", 6) == 0 && colon)
            text =
                arena_printf(arena, "%s    %.*s\n", text, (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    return text;
}

/* One turn; false: it was nothing to be told. */
static bool turn(struct world *world, int64_t began, struct line *line)
{
    const char *plan = world_turn(world);
    struct line before = *line;

    if (strcmp(plan, "asleep\n") == 0)
        return false;
    *line = (struct line){.at_ms = world->now_ms - began,
                          .phase = arena_strdup(world->arena, world_phase(world)),
                          .weights = world_weights(world),
                          .hooks = hooks_of(world),
                          .metrics = metrics_of(world),
                          .said = events_of(world->arena, plan)};
    world_settle(world);
    return !before.phase || strcmp(before.phase, line->phase) != 0 ||
           strcmp(before.weights, line->weights) != 0 || *line->hooks || *line->metrics ||
           *line->said;
}

static const char *played(struct play *play, struct arena *arena)
{
    struct world *world = play->world;
    int64_t began = world->now_ms;
    struct line line = {0};
    const char *text = "";

    for (int i = 0; i < MAX_TURNS; i++) {
        if (turn(world, began, &line))
            text = arena_printf(arena, "%s%s", text, print(arena, &line));
        if (world->woken)
            continue;
        if (world->timer_at < 0)
            return text;
        world->now_ms = world->timer_at > world->now_ms ? world->timer_at : world->now_ms;
    }
    play_fail(play, "the release has no end:\n%s", text);
}

static void compare(struct play *play, struct arena *arena, const char *image)
{
    struct world *world = play->world;
    const struct simulation_source source = {.find = find, .list = list, .arg = world};
    struct simulation simulation;
    struct errinfo ei;

    if (simulate(arena, &world->settings, world->canary, &source, &simulation, &ei) != ERR_OK)
        play_fail(play, "cannot be simulated: %s", ei.text);
    if (simulation.refused) {
        (void)world_tick(world);
        if (strstr(world->told, simulation.refused))
            return;
        play_fail(play, "the simulation says %s, and the rules say\n%s", simulation.refused,
                  world->told);
    }
    const char *expected = simulated(arena, &simulation);
    if (simulation.unfinished || !strstr(expected, " Succeeded "))
        play_fail(play, "the simulation does not end:\n%s", expected);
    world_initialise(world);
    (void)world_turn(world);
    world_push(world, image);
    world_settle(world);
    const char *found = played(play, arena);
    if (strcmp(found, expected) != 0)
        play_fail(play, "the release goes\n%s\nand the simulation says\n%s", found, expected);
}

void play_simulated(struct play *play, const char *image)
{
    static unsigned count;

    if (count++ % EVERY != 0)
        return;
    struct arena *arena = arena_new();

    compare(play, arena, image);
    arena_free(arena);
}
