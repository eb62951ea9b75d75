#include "observe/judge.h"

#include <string.h>

#include "tick/applied.h"
#include "tick/edit.h"

enum { MAX_LINES = 20 };

struct judging {
    struct arena *arena;
    const char *object; /* "httproutes test/app" */
    const char *lines;
    int count;
};

static const char *shown(struct arena *arena, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return "missing";
    case json_type_object:
        return "an object";
    case json_type_array:
        return arena_printf(arena, "a list of %zu", json_len(value));
    case json_type_string:
        return "a text";
    default:
        return json_object_get_string(value);
    }
}

static void tell(struct judging *j, const char *path, struct json_object *is,
                 struct json_object *expected)
{
    const char *one = shown(j->arena, is), *other = shown(j->arena, expected);

    if (++j->count > MAX_LINES)
        return;
    j->lines = arena_printf(j->arena, "%s%s: %s is %s, expected %s\n", j->lines, j->object, path,
                            one, strcmp(one, other) == 0 ? "another" : other);
}

/* What only we write down, or each controller in its own way: the primary's id is a random one in
 * Flagger, and here a hash of what is promoted; an object is shown in the version that it is asked
 * for in. */
static bool is_note(const char *path)
{
    static const char *const notes[] = {
        "apiVersion", "metadata.resourceVersion", "metadata.annotations." APPLIED,
        "metadata.annotations." OWNER, "spec.template.metadata.annotations.flagger-id"};

    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
        if (strcmp(path, notes[i]) == 0)
            return true;
    return false;
}

/* A tree is as deep as its text may be (JSON_MAX_DEPTH). */
static void judge(struct judging *j, const char *path, struct json_object *is,
                  struct json_object *expected) // NOLINT(misc-no-recursion)
{
    if (is_note(path))
        return;
    if (json_object_is_type(expected, json_type_object)) {
        json_object_object_foreach(expected, key, value)
        {
            judge(j, *path ? arena_printf(j->arena, "%s.%s", path, key) : key,
                  json_at(is, key, NULL), value);
        }
    } else if (json_object_is_type(expected, json_type_array) &&
               json_len(expected) == json_len(is)) {
        for (size_t i = 0; i < json_len(expected); i++)
            judge(j, arena_printf(j->arena, "%s[%zu]", path, i), json_elem(is, i),
                  json_elem(expected, i));
    } else if (!json_same(is, expected)) {
        tell(j, path, is, expected);
    }
}

enum verdict judge_writes(struct tick *tick, const struct foreseen_write *writes,
                          const char **differences)
{
    struct judging j = {.arena = tick->arena, .lines = ""};
    struct json_object *live;
    bool all = true;

    for (const struct foreseen_write *write = writes; write; write = write->next) {
        if (!need_object(tick, write->resource, write->namespace_, write->name, &live)) {
            all = false;
            continue;
        }
        j.object = arena_printf(tick->arena, "%s %s/%s", write->resource->plural, write->namespace_,
                                write->name);
        if (!write->patch && live)
            j.lines =
                arena_printf(tick->arena, "%s%s: it exists, expected none\n", j.lines, j.object);
        else if (write->patch && !live)
            j.lines = arena_printf(tick->arena, "%s%s: it does not exist\n", j.lines, j.object);
        else if (write->patch)
            judge(&j, "", live, write->patch);
    }
    if (j.count > MAX_LINES)
        j.lines = arena_printf(tick->arena, "%s... and %d more\n", j.lines, j.count - MAX_LINES);
    *differences = j.lines;
    return all ? VERDICT_GO : VERDICT_NEED_FACTS;
}
