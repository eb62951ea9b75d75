#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "play.h"
#include "test/expect.h"
#include "test/unit.h"

static const char *look_plan(struct play *play)
{
    return play->plan;
}

static const char *look_said(struct play *play)
{
    return play->said;
}

static const char *look_canary_text(struct play *play)
{
    return json_text_sorted(play->arena, play->world->canary);
}

static const char *look_objects(struct play *play)
{
    return json_text_sorted(play->arena, play->world->objects);
}

static const char *poll_again(struct play *play)
{
    static const char *const names[] = {
        [REQUEUE_NEVER] = "never", [REQUEUE_INTERVAL] = "interval", [REQUEUE_NOW] = "now"};

    return names[play->world->requeue];
}

static struct json_object *snapshot_canary(struct play *play)
{
    return play->world->canary;
}

static struct json_object *look_status(struct play *play)
{
    return json_at(play->world->canary, "status", NULL);
}

static struct json_object *look_asked(struct play *play)
{
    return play->world->asked;
}

static struct json_object *look_number(struct play *play, int number)
{
    return json_own(play->arena, json_object_new_int(number));
}

static struct json_object *look_writes(struct play *play)
{
    return look_number(play, play->world->effects);
}

static struct json_object *look_asks(struct play *play)
{
    return look_number(play, play->asks);
}

static struct json_object *look_gone(struct play *play)
{
    return json_own(play->arena, json_object_new_boolean(play->world->gone));
}

static struct json_object *look_crashed(struct play *play)
{
    return json_own(play->arena, json_object_new_boolean(play->world->crashed));
}

/* Conditions by their type. */
static struct json_object *look_conditions(struct play *play)
{
    struct json_object *list = json_at(play->world->canary, "status", "conditions", NULL);
    struct json_object *out = json_own(play->arena, json_object_new_object());

    for (size_t i = 0; i < json_len(list); i++)
        json_set(out, json_str_at(json_elem(list, i), "type", NULL), json_elem(list, i));
    return out;
}

/* The objects that are asked for. */
static struct json_object *look_object(struct play *play, struct json_object *want)
{
    struct json_object *out = json_own(play->arena, json_object_new_object());

    json_object_object_foreach(want, key, value)
    {
        (void)value;
        json_set(out, key, world_get(play->world, play_key(play, key)));
    }
    return out;
}

/* The images of the workloads that are asked for. */
static struct json_object *look_image(struct play *play, struct json_object *want)
{
    struct json_object *out = json_own(play->arena, json_object_new_object());

    json_object_object_foreach(want, key, value)
    {
        (void)value;
        json_set_str(out, key, world_image(play->world, key));
    }
    return out;
}

/* Whether the last query is about the pods that are asked for, by their names. */
static struct json_object *look_measures(struct play *play, struct json_object *want)
{
    static const char before[] = "kubernetes_pod_name=~\"";
    const char *names = play->world->query ? strstr(play->world->query, before) : NULL;
    struct json_object *out = json_own(play->arena, json_object_new_object());
    regex_t regex;

    if (!names)
        return NULL;
    names += strlen(before);
    names = arena_printf(play->arena, "^(%.*s)$", (int)strcspn(names, "\""), names);
    if (regcomp(&regex, names, REG_EXTENDED | REG_NOSUB) != 0)
        play_fail(play, "%s is no expression", names);
    json_object_object_foreach(want, pod, unused)
    {
        (void)unused;
        json_set_bool(out, pod, regexec(&regex, pod, 0, NULL, 0) == 0);
    }
    regfree(&regex);
    return out;
}

/* The phase that is asked for, in Promoting when the primary has all of the promotion; or in which
 * other one it is. */
static struct json_object *look_in(struct play *play, struct json_object *want)
{
    const char *phase = world_phase(play->world);
    bool whole = strcmp(world_image(play->world, "podinfo"),
                        world_image(play->world, "podinfo-primary")) == 0;

    if (strcmp(phase, json_object_get_string(want)) == 0 &&
        (whole || strcmp(phase, "Promoting") != 0))
        return want;
    return json_own(play->arena, json_object_new_string(
                                     arena_printf(play->arena, "%s, and not yet in it", phase)));
}

static const struct subject {
    const char *name;
    /* one of these; at: where the world has a text */
    size_t at;
    const char *(*look)(struct world *world);
    const char *(*text)(struct play *play);
    struct json_object *(*tree)(struct play *play);
    struct json_object *(*some)(struct play *play, struct json_object *want); /* those alone */
} subjects[] = {
    {.name = "phase", .look = world_phase},
    {.name = "weights", .look = world_weights},
    {.name = "plan", .text = look_plan},
    {.name = "told", .at = offsetof(struct world, told)},
    {.name = "said", .text = look_said},
    {.name = "state", .look = world_state},
    {.name = "routes", .look = world_routes},
    {.name = "about", .at = offsetof(struct world, about)},
    {.name = "checksum", .look = world_checksum},
    {.name = "analysed", .at = offsetof(struct world, analysed)},
    {.name = "query", .at = offsetof(struct world, query)},
    {.name = "queries", .at = offsetof(struct world, queries)},
    {.name = "at_once", .at = offsetof(struct world, at_once)},
    {.name = "again", .text = poll_again},
    {.name = "objects", .text = look_objects},
    {.name = "canary text", .text = look_canary_text},
    {.name = "canary", .tree = snapshot_canary},
    {.name = "status", .tree = look_status},
    {.name = "conditions", .tree = look_conditions},
    {.name = "object", .some = look_object},
    {.name = "image", .some = look_image},
    {.name = "asked", .tree = look_asked},
    {.name = "measures", .some = look_measures},
    {.name = "writes", .tree = look_writes},
    {.name = "asks", .tree = look_asks},
    {.name = "gone", .tree = look_gone},
    {.name = "crashed", .tree = look_crashed},
    {.name = "in", .some = look_in},
};
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

static const struct subject *subject_of(const char *name)
{
    for (int i = 0; i < SUBJECTS; i++) {
        if (strcmp(subjects[i].name, name) == 0)
            return &subjects[i];
    }
    return NULL;
}

bool play_is_subject(const char *key)
{
    return subject_of(key) != NULL;
}

struct json_object *play_subject(struct play *play, const char *name, struct json_object *want)
{
    const struct subject *subject = subject_of(name);

    if (!subject)
        play_fail(play, "\"%s\" cannot be looked at", name);
    if (subject->some)
        return subject->some(play, want);
    if (subject->tree)
        return subject->tree(play);
    const char *text = subject->text   ? subject->text(play)
                       : subject->look ? subject->look(play->world)
                                       : *(const char **)((char *)play->world + subject->at);
    return text ? json_own(play->arena, json_object_new_string(text)) : NULL;
}

struct json_object *play_look(struct play *play, struct json_object *subject)
{
    struct json_object *want = json_own(play->arena, json_object_new_object());
    struct json_object *first = json_elem(subject, 0);

    if (!first)
        return play_subject(play, json_object_get_string(subject), NULL);
    json_set(want, json_object_get_string(json_elem(subject, 1)), NULL);
    struct json_object *at = play_subject(play, json_object_get_string(first), want);
    for (size_t i = 1; i < json_len(subject); i++)
        at = expect_part(at, json_object_get_string(json_elem(subject, i)));
    return at;
}

const char *play_differs(struct play *play, struct json_object *want)
{
    struct json_object *values = play_value(play, want);
    const char *found = NULL;

    if (!json_object_is_type(values, json_type_object))
        play_fail(play, "expected a map of subjects");
    json_object_object_foreach(values, name, value)
    {
        if (!found)
            found = expect_differs(play->arena, name, play_subject(play, name, value), value);
    }
    return found;
}
