/* The words of a step. Each gets what stands behind it, with variables replaced but in what is
 * played or compared later. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "deletion.h"
#include "play.h"
#include "play_simulate.h"
#include "test/unit.h"

enum { INTERVAL_MS = 60000, UNTIL_MAX = 60, ASLEEP_MAX = 9 };

static struct json_object *value(struct play *play, struct json_object *given)
{
    return play_value(play, given);
}

static const char *text(struct play *play, struct json_object *given)
{
    struct json_object *it = value(play, given);

    return it ? arena_strdup(play->world->arena, json_object_get_string(it)) : NULL;
}

/* So many times; once where nothing is said. */
static int times(struct play *play, struct json_object *given)
{
    return given ? json_object_get_int(value(play, given)) : 1;
}

/* --- the Canary and other objects */

static void play_new(struct play *play, struct json_object *given)
{
    if (play->world)
        world_free(play->world);
    play->plan = NULL;
    play->world = world_new(play_quoted(play, value(play, given)));
}

static void play_canary(struct play *play, struct json_object *given)
{
    world_patch_canary(play->world, play_quoted(play, value(play, given)));
}

static void play_spec(struct play *play, struct json_object *given)
{
    const char *patch = play_quoted(play, value(play, given));

    world_patch_canary(play->world,
                       arena_printf(play->arena, "{'spec':%s}", patch ? patch : "null"));
}

static void play_patch(struct play *play, struct json_object *given)
{
    struct json_object *patches = value(play, given);

    json_object_object_foreach(patches, key, patch)
    {
        world_patch(play->world, play_key(play, key), play_quoted(play, patch));
    }
}

static void play_put(struct play *play, struct json_object *given)
{
    struct json_object *objects = value(play, given);

    json_object_object_foreach(objects, key, object)
    {
        world_put(play->world, play_key(play, key), play_quoted(play, object));
    }
}

/* {in: KEY, text: TEXT, by: OTHER}: wherever it stands in the object. */
static void play_replace(struct play *play, struct json_object *given)
{
    struct json_object *values = value(play, given);
    const char *key = json_str_at(values, "in", NULL), *old = json_str_at(values, "text", NULL);
    const char *by = json_str_at(values, "by", NULL), *found;
    const char *object = json_text(play->arena, world_get(play->world, key)), *done = "";

    if (!strstr(object, old))
        play_fail(play, "\"%s\" does not stand in %s", old, key);
    for (; (found = strstr(object, old)); object = found + strlen(old))
        done = arena_printf(play->arena, "%s%.*s%s", done, (int)(found - object), object, by);
    world_put(play->world, key, arena_printf(play->arena, "%s%s", done, object));
}

static void play_delete(struct play *play, struct json_object *given)
{
    const char *key = text(play, given);

    if (strcmp(key, "canary") == 0)
        world_delete(play->world);
    else
        world_patch(play->world, play_key(play, key), NULL);
}

static void play_push(struct play *play, struct json_object *given)
{
    world_push(play->world, text(play, given));
}

static void play_simulation(struct play *play, struct json_object *given)
{
    play_simulated(play, text(play, given));
}

/* --- time */

static void tick(struct play *play)
{
    play->plan = arena_strdup(play->arena, world_tick(play->world));
    for (const char *at = play->plan; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, "event ", 6) == 0 || strncmp(at, "alert ", 6) == 0)
            play->said =
                arena_printf(play->arena, "%s%.*s\n", play->said, (int)strcspn(at, "\n"), at);
    }
    play->asks += json_len(play->world->asked) > 0;
}

static void pass_interval(struct play *play)
{
    play->world->now_ms += play->world->requeue == REQUEUE_NOW ? 0 : INTERVAL_MS;
}

static void play_tick(struct play *play, struct json_object *given)
{
    for (int i = 0; i < times(play, given); i++)
        tick(play);
}

static void play_advance(struct play *play, struct json_object *given)
{
    for (int i = 0; i < times(play, given); i++) {
        tick(play);
        world_settle(play->world);
    }
}

static void play_step(struct play *play, struct json_object *given)
{
    for (int i = 0; i < times(play, given); i++) {
        play_advance(play, NULL);
        pass_interval(play);
    }
}

/* As long as the plans want to be followed by another at once. */
static void play_at_once(struct play *play)
{
    do
        play_advance(play, NULL);
    while (play->world->requeue == REQUEUE_NOW);
}

static void play_interval(struct play *play)
{
    pass_interval(play);
}

static void play_turn(struct play *play)
{
    play->plan = arena_strdup(play->arena, world_turn(play->world));
}

/* As the engine lives: so many intervals, in each of which it is asleep sooner or later. */
static void play_live(struct play *play, struct json_object *given)
{
    int intervals = given ? json_object_get_int(value(play, given)) : 0;

    for (int i = 0; i <= intervals; i++) {
        for (int k = 0; k < ASLEEP_MAX; k++) {
            play_turn(play);
            if (strcmp(play->plan, "asleep\n") == 0)
                break;
            world_settle(play->world);
        }
        play->world->now_ms += i < intervals ? INTERVAL_MS : 0;
    }
}

static void play_settle(struct play *play)
{
    world_settle(play->world);
}

static void play_run(struct play *play)
{
    world_run(play->world);
}

static void play_initialise(struct play *play)
{
    world_initialise(play->world);
}

static void play_wait(struct play *play, struct json_object *given)
{
    struct errinfo ei;
    int64_t ns;

    if (duration_parse(text(play, given), &ns, &ei) != ERR_OK)
        play_fail(play, "wait: %s", ei.text);
    play->world->now_ms += ns / 1000000;
}

/* Whoever set the clock did it right now. */
static void play_stepped(struct play *play)
{
    play->world->stepped_at_ms = play->world->now_ms;
}

/* The next ticks are cut off before so many more writes; null: no longer. */
static void play_cut(struct play *play, struct json_object *given)
{
    struct json_object *writes = value(play, given);

    play->world->crash_at = writes ? play->world->effects + json_object_get_int(writes) : -1;
    play->world->crashed = play->world->crashed && writes;
}

/* --- how the world answers */

/* The gateway says {accepted: "True"} of the HTTPRoute as it is, or as it was some generations
 * ago: {behind: 1}. */
static void play_gateway(struct play *play, struct json_object *given)
{
    static const char key[] = "httproutes/podinfo";
    struct json_object *says = value(play, given);
    int64_t generation =
        json_int_at(world_get(play->world, key), 0, "metadata", "generation", NULL);

    world_patch(play->world, key,
                arena_printf(play->arena,
                             "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':"
                             "'infra'},'conditions':[{'type':'Accepted','status':'%s',"
                             "'observedGeneration':%d}]}]}}",
                             json_str_at(says, "accepted", NULL),
                             (int)(generation - json_int_at(says, 0, "behind", NULL))));
}

static void play_metrics(struct play *play, struct json_object *given)
{
    play->world->metrics = world_json(play->world, play_quoted(play, value(play, given)));
}

/* Texts that end with NULL, as the settings have them. */
static const char *const *texts_of(struct play *play, struct json_object *list)
{
    const char **texts = arena_alloc(play->world->arena, (json_len(list) + 1) * sizeof(*texts));

    for (size_t i = 0; i < json_len(list); i++)
        texts[i] = arena_strdup(play->world->arena, json_object_get_string(json_elem(list, i)));
    texts[json_len(list)] = NULL;
    return texts;
}

static void play_settings(struct play *play, struct json_object *given)
{
    struct settings *settings = &play->world->settings;
    struct json_object *values = value(play, given);

    json_object_object_foreach(values, name, set)
    {
        if (strcmp(name, "config_tracking") == 0)
            settings->config_tracking = json_object_get_boolean(set);
        else if (strcmp(name, "no_cross_namespace_refs") == 0)
            settings->no_cross_namespace_refs = json_object_get_boolean(set);
        else if (strcmp(name, "mesh_apart") == 0)
            settings->mesh_apart = json_object_get_boolean(set);
        else if (strcmp(name, "alerts") == 0)
            settings->alerts = json_object_get_boolean(set) ? &world_receiver : NULL;
        else if (strcmp(name, "mesh_provider") == 0)
            settings->mesh_provider = arena_strdup(play->world->arena, json_object_get_string(set));
        else if (strcmp(name, "ingress_class") == 0)
            settings->ingress_class = arena_strdup(play->world->arena, json_object_get_string(set));
        else if (strcmp(name, "include_label_prefixes") == 0)
            settings->include_label_prefixes = texts_of(play, set);
        else if (strcmp(name, "selector_labels") == 0)
            settings->selector_labels = texts_of(play, set);
        else
            play_fail(play, "there is no setting \"%s\"", name);
    }
}

static void play_forget(struct play *play)
{
    play->world->told = play->said = "";
    play->asks = 0;
}

/* --- what is seen */

static void play_expect(struct play *play, struct json_object *given)
{
    const char *found = play_differs(play, given);

    if (found)
        play_fail(play, "%s", found);
}

static void compare(struct play *play, const char *what, const char *got, const char *want)
{
    size_t len = strlen(got), other = strlen(want);

    len -= len > 0 && got[len - 1] == '\n';
    other -= other > 0 && want[other - 1] == '\n';
    if (len != other || memcmp(got, want, len) != 0)
        play_fail(play, "%s is\n%s\nand not\n%s", what, got, want);
}

static void play_plan(struct play *play, struct json_object *given)
{
    tick(play);
    compare(play, "the plan", play->plan, text(play, given));
    world_settle(play->world);
}

static void play_story(struct play *play, struct json_object *given)
{
    struct json_object *to = json_at(play->step, "to", NULL);
    const char *story = world_story(play->world, to ? text(play, to) : "");

    compare(play, "what happens", story, text(play, given));
}

/* A cell of a table that a script makes of these lines: test/golden/providers. */
static void play_shows(struct play *play, struct json_object *given)
{
    const char *row = json_str_at(play->row, "spec", "provider", NULL);

    if (!row)
        row = json_str_at(play->row, "row", NULL);
    printf("shows\t%s\t%s\n", row ? row : "", text(play, given));
}

static void parity(struct play *play, struct json_object *given)
{
    struct json_object *row = json_at(play->step, "row", NULL);

    play_parity(play, text(play, given), row ? text(play, row) : NULL);
}

/* The Canary is gone, and what is left of its objects is as deletion_check() wants it. */
static void play_reverted(struct play *play, struct json_object *given)
{
    deletion_check(play->world, json_object_get_boolean(value(play, given)));
}

/* The Canary is gone, and one of this name goes on with its spec. */
static void play_succeed(struct play *play, struct json_object *given)
{
    deletion_succeed(play->world, text(play, given), "{}");
}

static void play_handed_over(struct play *play)
{
    deletion_check_heir(play->world);
}

/* --- steps of steps */

static void play_until(struct play *play, struct json_object *given)
{
    struct json_object *step = play->step;
    struct json_object *by = json_at(step, "by", NULL), *within = json_at(step, "within", NULL);
    int most = within ? json_object_get_int(value(play, within)) : UNTIL_MAX;
    const char *found = play_differs(play, given);

    for (int i = 0; i < most && found; i++) {
        if (by)
            play_steps(play, by);
        else
            play_advance(play, NULL);
        found = play_differs(play, given);
    }
    play->step = step;
    if (found)
        play_fail(play, "in %d rounds never: %s\ntold:\n%s", most, found, play->world->told);
}

static void play_repeat(struct play *play, struct json_object *given)
{
    struct json_object *by = json_at(play->step, "by", NULL);

    for (int i = 0; i < times(play, given); i++)
        play_steps(play, by);
}

static void play_do(struct play *play, struct json_object *given)
{
    struct json_object *step = play->step;
    struct json_object *steps = json_at(play->head, "define", text(play, given), NULL);
    struct json_object *with = json_at(step, "with", NULL), *outside = play->vars;

    if (!steps)
        play_fail(play, "\"%s\" is not defined", text(play, given));
    play->vars = with ? value(play, with) : NULL;
    play_steps(play, steps);
    play->vars = outside;
    play->step = step;
}

static void play_keep(struct play *play, struct json_object *given)
{
    json_object_object_foreach(given, name, subject)
    {
        json_set(play->kept, name, play_look(play, subject));
    }
}

static const struct word {
    const char *name;
    void (*act)(struct play *play); /* one of the two */
    void (*play)(struct play *play, struct json_object *given);
} words[] = {
    {.name = "new", .play = play_new},
    {.name = "canary", .play = play_canary},
    {.name = "spec", .play = play_spec},
    {.name = "patch", .play = play_patch},
    {.name = "put", .play = play_put},
    {.name = "replace", .play = play_replace},
    {.name = "delete", .play = play_delete},
    {.name = "push", .play = play_push},
    {.name = "tick", .play = play_tick},
    {.name = "settle", .act = play_settle},
    {.name = "advance", .play = play_advance},
    {.name = "step", .play = play_step},
    {.name = "at once", .act = play_at_once},
    {.name = "interval", .act = play_interval},
    {.name = "turn", .act = play_turn},
    {.name = "live", .play = play_live},
    {.name = "simulated", .play = play_simulation},
    {.name = "run", .act = play_run},
    {.name = "initialise", .act = play_initialise},
    {.name = "wait", .play = play_wait},
    {.name = "clock is set", .act = play_stepped},
    {.name = "cut", .play = play_cut},
    {.name = "gateway", .play = play_gateway},
    {.name = "metrics", .play = play_metrics},
    {.name = "settings", .play = play_settings},
    {.name = "forget", .act = play_forget},
    {.name = "expect", .play = play_expect},
    {.name = "plan", .play = play_plan},
    {.name = "story", .play = play_story},
    {.name = "parity", .play = parity},
    {.name = "reverted", .play = play_reverted},
    {.name = "until", .play = play_until},
    {.name = "repeat", .play = play_repeat},
    {.name = "do", .play = play_do},
    {.name = "keep", .play = play_keep},
    {.name = "shows", .play = play_shows},
    {.name = "succeed", .play = play_succeed},
    {.name = "handed over", .act = play_handed_over},
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

/* Words that set a field of the world. */
static const struct field {
    const char *name;
    size_t text, flag, number; /* where it stands; one of them, the others are 0 */
    bool percent;              /* the number is a weight, given in percent */
    const char *none;          /* the text that null is */
} fields[] = {
    {.name = "closed", .text = offsetof(struct world, closed), .none = ""},
    {.name = "open", .text = offsetof(struct world, open), .none = ""},
    {.name = "unasked", .text = offsetof(struct world, unasked), .none = ""},
    {.name = "answered", .text = offsetof(struct world, answered), .none = "OK"},
    {.name = "analysed", .text = offsetof(struct world, analysed), .none = ""},
    {.name = "unserved", .text = offsetof(struct world, unserved), .none = ""},
    {.name = "late", .text = offsetof(struct world, late), .none = ""},
    {.name = "denied", .text = offsetof(struct world, denied), .none = ""},
    {.name = "refuse", .text = offsetof(struct world, refuses), .none = ""},
    {.name = "rival", .text = offsetof(struct world, conflict)},
    {.name = "heir", .text = offsetof(struct world, successor)},
    {.name = "controller", .text = offsetof(struct world, settings.controller)},
    {.name = "other", .text = offsetof(struct world, other)},
    {.name = "other lives", .flag = offsetof(struct world, other_lives)},
    {.name = "other gone", .flag = offsetof(struct world, other_gone)},
    {.name = "undelivered", .text = offsetof(struct world, undelivered)},
    {.name = "delivered", .text = offsetof(struct world, delivered)},
    {.name = "restarted", .flag = offsetof(struct world, restarted)},
    {.name = "due", .flag = offsetof(struct world, due)},
    {.name = "barred", .flag = offsetof(struct world, locked_out)},
    {.name = "queued", .flag = offsetof(struct world, queued)},
    {.name = "gone", .flag = offsetof(struct world, gone)},
    {.name = "remembers", .flag = offsetof(struct world, remembers)},
    {.name = "safety off", .flag = offsetof(struct world, safety_off)},
    {.name = "drops percent", .flag = offsetof(struct world, drops_percent)},
    {.name = "flaggers crd", .flag = offsetof(struct world, flaggers_crd)},
    {.name = "load", .number = offsetof(struct world, load)},
    {.name = "room", .number = offsetof(struct world, room)},
    {.name = "measured", .number = offsetof(struct world, measured), .percent = true},
    {.name = "routed", .number = offsetof(struct world, routed), .percent = true},
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static void set_field(struct play *play, const struct field *field, struct json_object *given)
{
    char *world = (char *)play->world;
    const char *set = text(play, given);

    if (field->text)
        *(const char **)(void *)(world + field->text) = set ? set : field->none;
    else if (field->flag)
        *(bool *)(void *)(world + field->flag) = json_object_get_boolean(value(play, given));
    else
        *(int *)(void *)(world + field->number) =
            json_object_get_int(value(play, given)) * (field->percent ? WEIGHT_PERCENT : 1);
}

static const struct word *word_of(const char *key)
{
    for (int i = 0; i < WORDS; i++) {
        if (strcmp(words[i].name, key) == 0)
            return &words[i];
    }
    return NULL;
}

static const struct field *field_of(const char *key)
{
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].name, key) == 0)
            return &fields[i];
    }
    return NULL;
}

bool play_is_word(const char *key)
{
    return word_of(key) || field_of(key);
}

/* False, null, 0 and "" are not. */
static bool is_so(struct play *play, struct json_object *given)
{
    struct json_object *is = value(play, given);

    return json_object_is_type(is, json_type_object) || json_object_is_type(is, json_type_array) ||
           json_object_get_boolean(is);
}

static bool is_wanted(struct play *play, struct json_object *step)
{
    struct json_object *given = NULL;

    if (json_object_object_get_ex(step, "when", &given) && !is_so(play, given))
        return false;
    return !json_object_object_get_ex(step, "unless", &given) || !is_so(play, given);
}

static void play_word(struct play *play, const struct word *word, struct json_object *given)
{
    if (word->act)
        word->act(play);
    else
        word->play(play, given);
}

static void play_one(struct play *play, struct json_object *step)
{
    play->step = step;
    if (json_object_is_type(step, json_type_string)) {
        play_word(play, word_of(json_object_get_string(step)), NULL);
        return;
    }
    if (!is_wanted(play, step))
        return;
    json_object_object_foreach(step, key, given)
    {
        if (word_of(key))
            play_word(play, word_of(key), given);
        else if (field_of(key))
            set_field(play, field_of(key), given);
    }
}

void play_steps(struct play *play, struct json_object *steps)
{
    for (size_t i = 0; i < json_len(steps); i++)
        play_one(play, json_elem(steps, i));
}
