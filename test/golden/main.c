/* main FILE...: plays the cases of these files, each as a test with the case's name. */
#include <stdio.h>
#include <string.h>

#include "play.h"
#include "test/unit.h"

enum { CASES_MAX = 1000 };

/* All that some row has; null where this one does not. */
static struct json_object *columns(struct play *play, struct json_object *rows,
                                   struct json_object *row)
{
    struct json_object *out = json_own(play->arena, json_object_new_object());

    for (size_t i = 0; i < json_len(rows); i++) {
        json_object_object_foreach(json_elem(rows, i), key, unused)
        {
            (void)unused;
            json_set(out, key, play_value(play, json_at(row, key, NULL)));
        }
    }
    return out;
}

static void play_row(struct play *play, struct json_object *rows, struct json_object *row)
{
    struct json_object *spec = json_at(play->doc, "spec", NULL);

    play->row = row;
    play->vars = play->columns = NULL;
    play->columns = columns(play, rows, row);
    play->kept = json_own(play->arena, json_object_new_object());
    struct json_object *canary = play_value(play, json_at(play->doc, "canary", NULL));
    if (spec) {
        canary = json_copy(play->arena, canary);
        canary = canary ? canary : json_own(play->arena, json_object_new_object());
        json_set(canary, "spec", play_value(play, spec));
    }
    play->said = "";
    play->world = world_new(play_quoted(play, canary));
    play_steps(play, json_at(play->doc, "steps", NULL));
    world_free(play->world);
    play->world = NULL;
}

/* Each row of the one table with each of the other. */
static struct json_object *product(struct play *play, struct json_object *rows,
                                   struct json_object *others)
{
    struct json_object *out = json_own(play->arena, json_object_new_array());

    for (size_t i = 0; i < json_len(rows) * json_len(others); i++) {
        struct json_object *row = play_value(play, json_elem(rows, i / json_len(others)));
        json_object_object_foreach(json_elem(others, i % json_len(others)), key, value)
        {
            json_set(row, key, value);
        }
        json_object_array_add(out, json_object_get(row));
    }
    return out;
}

/* The rows of the case: its own, or a table that the file's cases share, or a list of tables. */
static struct json_object *rows_of(struct play *play)
{
    struct json_object *each = json_at(play->doc, "each", NULL);

    if (json_object_is_type(each, json_type_string))
        return play_value(play, each);
    if (!json_object_is_type(json_elem(each, 0), json_type_string))
        return each;
    struct json_object *rows = play_value(play, json_elem(each, 0));
    for (size_t i = 1; i < json_len(each); i++)
        rows = product(play, rows, play_value(play, json_elem(each, i)));
    return rows;
}

static void test_case(void **state)
{
    struct play *play = *state;
    struct json_object *rows = rows_of(play);

    play->step = play->doc;
    if (!json_at(play->doc, "each", NULL))
        play_row(play, NULL, NULL);
    else if (json_len(rows) == 0)
        play_fail(play, "the table has no rows");
    for (size_t i = 0; i < json_len(rows); i++)
        play_row(play, rows, json_elem(rows, i));
}

/* A world is left where something has failed: in a step, or in what the world itself looks at. */
static int tell_where(void **state)
{
    struct play *play = *state;

    if (!play->world)
        return 0;
    play_tell_where(play);
    print_error("the last plan:\n%s\n", play->plan ? play->plan : "none");
    world_free(play->world);
    play->world = NULL;
    return 0;
}

static size_t add_cases(struct arena *arena, const char *path, struct CMUnitTest *tests)
{
    struct json_object *docs = play_load(arena, path), *head = NULL;
    size_t count = 0;

    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i);
        if (play_is_head(doc)) {
            head = doc;
            continue;
        }
        struct play *play = ARENA_NEW(arena, struct play);
        *play = (struct play){.arena = arena, .path = path, .doc = doc, .head = head};
        if (count == CASES_MAX)
            play_refuse(path, doc, "more than %d cases", CASES_MAX);
        tests[count++] = (struct CMUnitTest){
            .name = json_str_at(doc, "case", NULL),
            .test_func = test_case,
            .teardown_func = tell_where,
            .initial_state = play,
        };
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[CASES_MAX];
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        struct arena *arena = arena_new();
        size_t count = add_cases(arena, argv[i], tests);
        failed += _cmocka_run_group_tests(argv[i], tests, count, NULL, NULL);
        arena_free(arena);
    }
    return failed != 0;
}
