#include "story.h"
#include "test/rows.h"
#include "test/unit.h"

#include <string.h>

static const struct row_column columns[] = {
    ROW_TEXT(struct story, canary),   ROW_TEXT(struct story, image),
    ROW_TEXT(struct story, metrics),  ROW_TEXT(struct story, meanwhile),
    ROW_TEXT(struct story, config),   ROW_TEXT(struct story, later_canary),
    ROW_TEXT(struct story, rollback), ROW_TEXT(struct story, closed),
    ROW_TEXT(struct story, asks),     ROW_TEXT(struct story, phase),
    ROW_TEXT(struct story, primary),  ROW_TEXT(struct story, weights),
    ROW_NUMBER(struct story, load),   ROW_NUMBER(struct story, room),
    ROW_FLAG(struct story, once),     ROW_FLAG(struct story, immutable),
    ROW_FLAG(struct story, bare),
};

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
        if (!row_set(arena, columns, sizeof(columns) / sizeof(columns[0]), story, key, value))
            fail_msg("story \"%s\": \"%s\" is not known", story->name, key);
    }
}

struct story *story_read(struct arena *arena, const char *list, size_t *count)
{
    struct json_object *file = json_elem(rows_read(arena, "test/golden/stories.yaml"), 0);
    struct json_object *rows = json_at(file, list, NULL);

    *count = json_len(rows);
    assert_true(*count > 0);
    struct story *stories = arena_alloc(arena, *count * sizeof(*stories));
    for (size_t i = 0; i < *count; i++)
        read_row(arena, &stories[i], json_elem(rows, i), json_at(file, "canaries", NULL));
    return stories;
}
