/* Cases that are rows of a file, each with the fixture of the file that includes this:
 * ROW_CASES("a.yaml", "run", run). */
#ifndef ENGINE_ROWS_TEST_H
#define ENGINE_ROWS_TEST_H

#include <stdlib.h>

#include "test/expect.h"
#include "test/rows.h"
#include "test/unit.h"

static struct arena *row_cases_arena; /* for the life of the process */
static struct json_object *row_case;  /* that runs */

static void row_cases_free(void)
{
    arena_free(row_cases_arena);
}

static int row_case_begins(void **state)
{
    row_case = *state;
    return unit_file.set_up(state);
}

/* name: the key of a row's name */
static void row_cases_add(const char *path, const char *name, CMUnitTestFunction run)
{
    row_cases_arena = arena_new();
    atexit(row_cases_free);
    struct json_object *rows = json_elem(rows_read(row_cases_arena, path), 0);
    for (size_t i = 0; i < json_len(rows); i++)
        unit_add(&unit_file, __BASE_FILE__,
                 (struct CMUnitTest){json_str_at(json_elem(rows, i), name, NULL), run,
                                     row_case_begins, unit_file.tear_down, json_elem(rows, i)});
}

#define ROW_CASES(file, name, run)                                                                 \
    static void row_cases_first(int argc, char **argv)                                             \
    {                                                                                              \
        row_cases_add((file), (name), (run));                                                      \
    }                                                                                              \
    UNIT_FIRST(row_cases_first)

/* The fields that a row's `given` names are set in the fixture. */
static void row_case_given(struct arena *arena, const struct row_column *columns, size_t count,
                           void *fixture)
{
    struct json_object *given = json_at(row_case, "given", NULL);

    if (!given)
        return;
    json_object_object_foreach(given, key, value)
    {
        if (!row_set(arena, columns, count, fixture, key, value))
            fail_msg("\"%s\" cannot be set", key);
    }
}

static void row_case_seen(struct arena *arena, struct json_object *seen)
{
    const char *why = expect_differs(arena, "seen", seen, json_at(row_case, "seen", NULL));

    if (why)
        fail_msg("%s", why);
}

#endif
