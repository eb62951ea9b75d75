#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "play.h"
#include "test/unit.h"

/* --- what can be looked at */

static const char *look_phase(struct play *play)
{
    return world_phase(play->world);
}

static const char *look_weights(struct play *play)
{
    return world_weights(play->world);
}

static const char *look_plan(struct play *play)
{
    return play->plan;
}

static const char *look_told(struct play *play)
{
    return play->world->told;
}

static const char *look_said(struct play *play)
{
    return play->said;
}

static const char *look_state(struct play *play)
{
    return world_state(play->world);
}

static const char *look_routes(struct play *play)
{
    return world_routes(play->world);
}

static const char *look_about(struct play *play)
{
    return play->world->about;
}

static const char *look_checksum(struct play *play)
{
    return world_checksum(play->world);
}

static const char *look_analysed(struct play *play)
{
    return play->world->analysed;
}

static const char *look_query(struct play *play)
{
    return play->world->query;
}

static const char *look_queries(struct play *play)
{
    return play->world->queries;
}

static const char *look_canary_text(struct play *play)
{
    return json_text_sorted(play->arena, play->world->canary);
}

static const char *look_objects(struct play *play)
{
    return json_text_sorted(play->arena, play->world->objects);
}

static const char *look_again(struct play *play)
{
    static const char *const names[] = {
        [AGAIN_NEVER] = "never", [AGAIN_INTERVAL] = "interval", [AGAIN_NOW] = "now"};

    return names[play->world->again];
}

static struct json_object *look_canary(struct play *play, struct json_object *want)
{
    return play->world->canary;
}

static struct json_object *look_status(struct play *play, struct json_object *want)
{
    return json_at(play->world->canary, "status", NULL);
}

static struct json_object *look_asked(struct play *play, struct json_object *want)
{
    return play->world->asked;
}

static struct json_object *look_number(struct play *play, int number)
{
    return json_own(play->arena, json_object_new_int(number));
}

static struct json_object *look_writes(struct play *play, struct json_object *want)
{
    return look_number(play, play->world->effects);
}

static struct json_object *look_asks(struct play *play, struct json_object *want)
{
    return look_number(play, play->asks);
}

static struct json_object *look_gone(struct play *play, struct json_object *want)
{
    return json_own(play->arena, json_object_new_boolean(play->world->gone));
}

static struct json_object *look_crashed(struct play *play, struct json_object *want)
{
    return json_own(play->arena, json_object_new_boolean(play->world->crashed));
}

/* Conditions by their type. */
static struct json_object *look_conditions(struct play *play, struct json_object *want)
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

/* The phase that is asked for, or in which other one it is: see world_is_in(). */
static struct json_object *look_in(struct play *play, struct json_object *want)
{
    const char *phase = world_phase(play->world);

    if (world_is_in(play->world, json_object_get_string(want)))
        return want;
    return json_own(play->arena, json_object_new_string(
                                     arena_printf(play->arena, "%s, and not yet in it", phase)));
}

static const struct subject {
    const char *name;
    const char *(*text)(struct play *play); /* one of the two */
    struct json_object *(*tree)(struct play *play, struct json_object *want);
} subjects[] = {
    {.name = "phase", .text = look_phase},
    {.name = "weights", .text = look_weights},
    {.name = "plan", .text = look_plan},
    {.name = "told", .text = look_told},
    {.name = "said", .text = look_said},
    {.name = "state", .text = look_state},
    {.name = "routes", .text = look_routes},
    {.name = "about", .text = look_about},
    {.name = "checksum", .text = look_checksum},
    {.name = "analysed", .text = look_analysed},
    {.name = "query", .text = look_query},
    {.name = "queries", .text = look_queries},
    {.name = "again", .text = look_again},
    {.name = "objects", .text = look_objects},
    {.name = "canary text", .text = look_canary_text},
    {.name = "canary", .tree = look_canary},
    {.name = "status", .tree = look_status},
    {.name = "conditions", .tree = look_conditions},
    {.name = "object", .tree = look_object},
    {.name = "image", .tree = look_image},
    {.name = "asked", .tree = look_asked},
    {.name = "measures", .tree = look_measures},
    {.name = "writes", .tree = look_writes},
    {.name = "asks", .tree = look_asks},
    {.name = "gone", .tree = look_gone},
    {.name = "crashed", .tree = look_crashed},
    {.name = "in", .tree = look_in},
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

static struct json_object *look(struct play *play, const char *name, struct json_object *want)
{
    const struct subject *subject = subject_of(name);

    if (!subject)
        play_fail(play, "\"%s\" cannot be looked at", name);
    if (subject->tree)
        return subject->tree(play, want);
    const char *text = subject->text(play);
    return text ? json_own(play->arena, json_object_new_string(text)) : NULL;
}

/* "[2]" of a list, or a key of a map */
static struct json_object *part_of(struct json_object *got, const char *key)
{
    if (json_object_is_type(got, json_type_array) && key[0] == '[')
        return json_elem(got, strtoul(key + 1, NULL, 10));
    return json_at(got, key, NULL);
}

struct json_object *play_look(struct play *play, struct json_object *subject)
{
    struct json_object *want = json_own(play->arena, json_object_new_object());
    struct json_object *first = json_elem(subject, 0);

    if (!first)
        return look(play, json_object_get_string(subject), NULL);
    json_set(want, json_object_get_string(json_elem(subject, 1)), NULL);
    struct json_object *at = look(play, json_object_get_string(first), want);
    for (size_t i = 1; i < json_len(subject); i++)
        at = part_of(at, json_object_get_string(json_elem(subject, i)));
    return at;
}

/* --- what is expected of it */

static const char *differs(struct arena *arena, const char *path, struct json_object *got,
                           struct json_object *want);

static const char *shown(struct arena *arena, struct json_object *value)
{
    if (!value)
        return "nothing";
    if (json_object_is_type(value, json_type_string))
        return json_object_get_string(value);
    return json_text_sorted(arena, value);
}

static const char *tell(struct arena *arena, const char *path, struct json_object *got,
                        const char *what, struct json_object *want)
{
    return arena_printf(arena, "%s is\n%s\nand %s\n%s", path, shown(arena, got), what,
                        shown(arena, want));
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static const char *text_of(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* {has: TEXT or [TEXT, ...]}, and lacks */
static const char *has_differs(struct arena *arena, const char *path, struct json_object *got,
                               struct json_object *want, bool has)
{
    size_t parts = json_object_is_type(want, json_type_array) ? json_len(want) : 1;

    for (size_t i = 0; i < parts; i++) {
        struct json_object *part =
            json_object_is_type(want, json_type_array) ? json_elem(want, i) : want;
        if (!*text_of(part) || (strstr(text_of(got), text_of(part)) != NULL) != has)
            return tell(arena, path, got, has ? "lacks" : "has", part);
    }
    return NULL;
}

static const char *has_is_differs(struct arena *arena, const char *path, struct json_object *got,
                                  struct json_object *want)
{
    return has_differs(arena, path, got, want, true);
}

static const char *lacks_differs(struct arena *arena, const char *path, struct json_object *got,
                                 struct json_object *want)
{
    return has_differs(arena, path, got, want, false);
}

static const char *not_differs(struct arena *arena, const char *path, struct json_object *got,
                               struct json_object *want)
{
    return differs(arena, path, got, want) ? NULL : tell(arena, path, got, "should not be", want);
}

/* {times: {TEXT: NUMBER, ...}} */
static const char *times_differs(struct arena *arena, const char *path, struct json_object *got,
                                 struct json_object *want)
{
    json_object_object_foreach(want, part, times)
    {
        if (count(text_of(got), part) != json_object_get_int(times))
            return arena_printf(arena, "%s has %d times \"%s\":\n%s", path,
                                count(text_of(got), part), part, text_of(got));
    }
    return NULL;
}

static const char *exactly_differs(struct arena *arena, const char *path, struct json_object *got,
                                   struct json_object *want)
{
    return json_same(got, want) ? NULL : tell(arena, path, got, "not exactly", want);
}

static const char *length_differs(struct arena *arena, const char *path, struct json_object *got,
                                  struct json_object *want)
{
    bool same = json_object_get_int64(want) == (int64_t)json_len(got);

    return same ? NULL : tell(arena, path, got, "its length is not", want);
}

/* {lines: [TEXT, ...]}: its lines begin so, and there are no more. */
static const char *lines_differs(struct arena *arena, const char *path, struct json_object *got,
                                 struct json_object *want)
{
    const char *line = text_of(got);
    bool same = true;

    for (size_t i = 0; i < json_len(want) && same; i++) {
        const char *begin = text_of(json_elem(want, i));
        same = *line && strncmp(line, begin, strlen(begin)) == 0;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return same && !*line ? NULL : tell(arena, path, got, "its lines do not begin so:", want);
}

static const char *one_of_differs(struct arena *arena, const char *path, struct json_object *got,
                                  struct json_object *want)
{
    for (size_t i = 0; i < json_len(want); i++) {
        if (!differs(arena, path, got, json_elem(want, i)))
            return NULL;
    }
    return tell(arena, path, got, "none of", want);
}

/* A map of nothing but these says something about a value, and is not compared with it. */
static const struct judge {
    const char *name;
    const char *(*differs)(struct arena *arena, const char *path, struct json_object *got,
                           struct json_object *want);
} judges[] = {
    {.name = "has", .differs = has_is_differs},      {.name = "lacks", .differs = lacks_differs},
    {.name = "not", .differs = not_differs},         {.name = "times", .differs = times_differs},
    {.name = "exactly", .differs = exactly_differs}, {.name = "lines", .differs = lines_differs},
    {.name = "one of", .differs = one_of_differs},   {.name = "length", .differs = length_differs},
};
enum { JUDGES = sizeof(judges) / sizeof(judges[0]) };

static const struct judge *judge_of(const char *key)
{
    for (int i = 0; i < JUDGES; i++) {
        if (strcmp(judges[i].name, key) == 0)
            return &judges[i];
    }
    return NULL;
}

static bool is_judged(struct json_object *want)
{
    if (!json_object_is_type(want, json_type_object) || json_object_object_length(want) == 0)
        return false;
    json_object_object_foreach(want, key, value)
    {
        (void)value;
        if (!judge_of(key))
            return false;
    }
    return true;
}

static const char *map_differs(struct arena *arena, const char *path, struct json_object *got,
                               struct json_object *want)
{
    const char *found = NULL;

    json_object_object_foreach(want, key, value)
    {
        if (!found)
            found =
                differs(arena, arena_printf(arena, "%s.%s", path, key), part_of(got, key), value);
    }
    return found;
}

static const char *list_differs(struct arena *arena, const char *path, struct json_object *got,
                                struct json_object *want)
{
    if (!json_object_is_type(got, json_type_array) || json_len(got) != json_len(want))
        return tell(arena, path, got, "not", want);
    for (size_t i = 0; i < json_len(want); i++) {
        const char *found = differs(arena, arena_printf(arena, "%s[%zu]", path, i),
                                    json_elem(got, i), json_elem(want, i));
        if (found)
            return found;
    }
    return NULL;
}

/* "> 0" of a number */
static bool compares(struct json_object *got, const char *want)
{
    int64_t bound = strtoll(want + strcspn(want, " "), NULL, 10), number = 0;
    bool equal = want[1] == '=';

    if (!json_to_int(got, &number))
        return false;
    if (number == bound)
        return equal;
    return want[0] == '>' ? number > bound : number < bound;
}

static const char *text_differs(struct arena *arena, const char *path, struct json_object *got,
                                struct json_object *want)
{
    const char *text = json_object_get_string(want);
    const char *has = text_of(got);
    size_t len = strlen(text), other = strlen(has);

    if (strcmp(text, "*") == 0)
        return got ? NULL : tell(arena, path, got, "should be", want);
    if ((text[0] == '<' || text[0] == '>') && json_object_is_type(got, json_type_int))
        return compares(got, text) ? NULL : tell(arena, path, got, "not", want);
    /* A text of one line needs no end of line in a case. */
    len -= len > 0 && text[len - 1] == '\n';
    other -= other > 0 && has[other - 1] == '\n';
    if (json_object_is_type(got, json_type_string) && len == other && memcmp(text, has, len) == 0)
        return NULL;
    return tell(arena, path, got, "not", want);
}

/* Maps may have more keys than are named, a null in one is for what is not there. */
static const char *differs(struct arena *arena, const char *path, struct json_object *got,
                           struct json_object *want)
{
    const char *found = NULL;

    if (json_object_is_type(want, json_type_string))
        return text_differs(arena, path, got, want);
    if (json_object_is_type(want, json_type_array))
        return list_differs(arena, path, got, want);
    if (is_judged(want)) {
        json_object_object_foreach(want, key, value)
        {
            found = found ? found : judge_of(key)->differs(arena, path, got, value);
        }
        return found;
    }
    if (json_object_is_type(want, json_type_object))
        return map_differs(arena, path, got, want);
    return json_same(got, want) ? NULL : tell(arena, path, got, "not", want);
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
            found = differs(play->arena, name, look(play, name, value), value);
    }
    return found;
}
