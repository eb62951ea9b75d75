/* Every golden case that rows.yaml names is there. */
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "test/rows.h"
#include "test/unit.h"

enum { FILE_MAX = 1 << 20 };

/* The line by which a case of this name begins. */
static const char *begins(struct arena *arena, const char *name, bool data)
{
    return data ? arena_printf(arena, "\ncase: %s\n", name)
                : arena_printf(arena, "\nCASE(%s)\n", name);
}

static void check_row(struct arena *arena, struct json_object *row)
{
    const char *name = json_str_at(row, "row", NULL), *in = json_str_at(row, "in", NULL);
    const char *path = arena_printf(arena, "test/golden/cases/%s.yaml", in);
    struct json_object *cases = json_at(row, "cases", NULL);
    char *text;
    size_t len;
    struct errinfo ei;
    bool data = file_check(path, &ei) == ERR_OK;

    if (!data)
        path = arena_printf(arena, "test/golden/%s_test.c", in);
    if (file_read(arena, path, FILE_MAX, &text, &len, &ei) != ERR_OK)
        fail_msg("%s: %s", name, ei.text);
    assert_true(json_len(cases) > 0);
    for (size_t i = 0; i < json_len(cases); i++) {
        const char *one = json_object_get_string(json_elem(cases, i));
        if (!strstr(text, begins(arena, one, data)))
            fail_msg("%s (%s): %s has no case %s", name, json_str_at(row, "says", NULL), path, one);
    }
}

CASE(test_every_row_has_its_case)
{
    struct json_object *rows = json_elem(rows_read(arena, "test/golden/rows.yaml"), 0);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++)
        check_row(arena, json_elem(rows, i));
}
