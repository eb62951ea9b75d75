#include <stdlib.h>
#include <string.h>

#include "play.h"
#include "test/unit.h"

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
                differs(arena, arena_printf(arena, "%s.%s", path, key), play_part(got, key), value);
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
            found = differs(play->arena, name, play_subject(play, name, value), value);
    }
    return found;
}
