#include "test/expect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "test/rows.h"

/* --- what is expected */

struct json_object *expect_part(struct json_object *of, const char *key)
{
    if (json_object_is_type(of, json_type_array) && key[0] == '[')
        return json_elem(of, strtoul(key + 1, NULL, 10));
    return json_at(of, key, NULL);
}

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
    return expect_differs(arena, path, got, want) ? NULL
                                                  : tell(arena, path, got, "should not be", want);
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
        if (!expect_differs(arena, path, got, json_elem(want, i)))
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
            found = expect_differs(arena, arena_printf(arena, "%s.%s", path, key),
                                   expect_part(got, key), value);
    }
    return found;
}

static const char *list_differs(struct arena *arena, const char *path, struct json_object *got,
                                struct json_object *want)
{
    if (!json_object_is_type(got, json_type_array) || json_len(got) != json_len(want))
        return tell(arena, path, got, "not", want);
    for (size_t i = 0; i < json_len(want); i++) {
        const char *found = expect_differs(arena, arena_printf(arena, "%s[%zu]", path, i),
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

const char *expect_differs(struct arena *arena, const char *path, struct json_object *got,
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

/* --- rows */

struct json_object *expect_error(struct arena *arena, const char *sentence)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    json_set_str(out, "error", sentence);
    return out;
}

const char *expect_rows(struct arena *arena, const char *path, const char *group,
                        struct json_object *(*run)(struct arena *arena, struct json_object *row))
{
    struct json_object *rows = json_at(json_elem(rows_read(arena, path), 0), group, NULL);

    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i), *got = run(arena, row);
        const char *wrong = json_str_at(row, "wrong", NULL);
        const char *said = json_str_at(got, "error", NULL);
        const char *why = NULL;
        if (wrong ? !said || !strstr(said, wrong) : said != NULL)
            why = arena_printf(arena, "it came to \"%s\", not \"%s\"", said ? said : "no error",
                               wrong ? wrong : "no error");
        else if (!wrong)
            why = expect_differs(arena, "it", got, json_at(row, "want", NULL));
        if (why)
            return arena_printf(arena, "%s: %s, row %zu: %s", path, group, i + 1, why);
    }
    return json_len(rows) > 0 ? NULL : arena_printf(arena, "%s has no rows of %s", path, group);
}

/* --- variables */

/* "name", or "name.key" of what it stands for. */
static struct json_object *variable(const struct expect_names *names, const char *name)
{
    const char *dot = strchr(name, '.');

    if (!dot)
        return names->find(names->arg, name);
    name = arena_strndup(names->arena, name, (size_t)(dot - name));
    return json_at(variable(names, name), dot + 1, NULL);
}

/* The name, where the whole text is "$name"; else NULL. */
static const char *whole_name(const char *text)
{
    if (text[0] != '$' || !islower((unsigned char)text[1]))
        return NULL;
    for (const char *at = text + 1; *at; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_' && *at != '.')
            return NULL;
    }
    return text + 1;
}

/* Replaces each name between "${" and "}". */
static const char *replace_inside(const struct expect_names *names, const char *text)
{
    for (const char *start; (start = strstr(text, "${"));) {
        size_t len = strcspn(start + 2, "}");
        const char *name = arena_strndup(names->arena, start + 2, len);
        struct json_object *value = start[2 + len] == '}' ? variable(names, name) : NULL;
        if (!value)
            names->refuse(names->arg,
                          arena_printf(names->arena, "\"%s\" has no text for ${%s}", text, name));
        text = arena_printf(names->arena, "%.*s%s%s", (int)(start - text), text,
                            json_object_get_string(value), start + len + 3);
    }
    return text;
}

struct json_object *expect_named(const struct expect_names *names, struct json_object *given)
{
    struct json_object *out;

    if (json_object_is_type(given, json_type_string)) {
        const char *text = replace_inside(names, json_object_get_string(given));
        const char *name = whole_name(text);
        return name ? variable(names, name) : json_own(names->arena, json_object_new_string(text));
    }
    if (json_object_is_type(given, json_type_array)) {
        out = json_own(names->arena, json_object_new_array());
        for (size_t i = 0; i < json_len(given); i++)
            json_object_array_add(out, json_object_get(expect_named(names, json_elem(given, i))));
        return out;
    }
    if (!json_object_is_type(given, json_type_object))
        return given;
    out = json_own(names->arena, json_object_new_object());
    json_object_object_foreach(given, key, value)
    {
        json_set(out, replace_inside(names, key), expect_named(names, value));
    }
    return out;
}
