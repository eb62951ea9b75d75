#include "story.h"
#include "test/unit.h"

#include <string.h>

#include "base/yaml.h"

enum { FILE_MAX = 1024 * 1024 };

static const struct column {
    const char *name;
    size_t text, flag, number; /* where it stands; one of them, the others are 0 */
} columns[] = {
    {.name = "canary", .text = offsetof(struct story, canary)},
    {.name = "image", .text = offsetof(struct story, image)},
    {.name = "metrics", .text = offsetof(struct story, metrics)},
    {.name = "meanwhile", .text = offsetof(struct story, meanwhile)},
    {.name = "config", .text = offsetof(struct story, config)},
    {.name = "later_canary", .text = offsetof(struct story, later_canary)},
    {.name = "rollback", .text = offsetof(struct story, rollback)},
    {.name = "closed", .text = offsetof(struct story, closed)},
    {.name = "phase", .text = offsetof(struct story, phase)},
    {.name = "primary", .text = offsetof(struct story, primary)},
    {.name = "weights", .text = offsetof(struct story, weights)},
    {.name = "load", .number = offsetof(struct story, load)},
    {.name = "room", .number = offsetof(struct story, room)},
    {.name = "once", .flag = offsetof(struct story, once)},
    {.name = "immutable", .flag = offsetof(struct story, immutable)},
    {.name = "bare", .flag = offsetof(struct story, bare)},
};

static void set(struct arena *arena, struct story *story, const char *key,
                struct json_object *value)
{
    bool is_text = json_object_is_type(value, json_type_string);
    char *at = (char *)story;

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        const struct column *column = &columns[i];
        if (strcmp(column->name, key) != 0)
            continue;
        if (column->text)
            *(const char **)(void *)(at + column->text) =
                is_text ? json_object_get_string(value) : json_text(arena, value);
        else if (column->flag)
            *(bool *)(void *)(at + column->flag) = json_object_get_boolean(value);
        else
            *(int *)(void *)(at + column->number) = json_object_get_int(value);
        return;
    }
    fail_msg("story \"%s\": \"%s\" is not known", story->name, key);
}

static void read_row(struct arena *arena, struct story *story, struct json_object *row,
                     struct json_object *canaries)
{
    *story = (struct story){.name = json_str_at(row, "story", NULL)};
    assert_non_null(story->name);
    json_object_object_foreach(row, key, value)
    {
        struct json_object *named = NULL;
        if (strcmp(key, "story") == 0)
            continue;
        if (strcmp(key, "canary") == 0 && json_object_is_type(value, json_type_string)) {
            if (!json_object_object_get_ex(canaries, json_object_get_string(value), &named))
                fail_msg("story \"%s\": no such canary", story->name);
            value = named;
        }
        set(arena, story, key, value);
    }
}

struct story *story_read(struct arena *arena, const char *list, size_t *count)
{
    struct json_object *docs = NULL;
    struct errinfo ei;

    if (yaml_parse_file(arena, "test/golden/stories.yaml", FILE_MAX, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    struct json_object *rows = json_at(json_elem(docs, 0), list, NULL);
    *count = json_len(rows);
    assert_true(*count > 0);
    struct story *stories = arena_alloc(arena, *count * sizeof(*stories));
    for (size_t i = 0; i < *count; i++)
        read_row(arena, &stories[i], json_elem(rows, i),
                 json_at(json_elem(docs, 0), "canaries", NULL));
    return stories;
}
