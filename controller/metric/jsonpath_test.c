/* Paths, as rows of jsonpath.yaml: what they select, and each mistake with its position. */
#include "metric/jsonpath.h"

#include <string.h>

#include "test/rows.h"
#include "test/unit.h"

static const char *found_text(struct arena *arena, const struct jsonpath_found *found)
{
    if (found->missing)
        return arena_printf(arena, "missing %s", found->missing);
    return found->value ? json_text(arena, found->value) : "null";
}

static void try_path(struct arena *arena, struct json_object *of, struct json_object *row)
{
    const char *mistake = json_str_at(row, "mistake", NULL);
    struct jsonpath path;
    struct errinfo ei;

    if (jsonpath_parse(arena, json_str_at(row, "path", NULL), &path, &ei) != ERR_OK) {
        assert_string_equal(ei.text, mistake ? mistake : "no mistake");
        return;
    }
    assert_null(mistake);
    const struct jsonpath_found found = jsonpath_find(arena, &path, of);
    assert_string_equal(found_text(arena, &found), json_str_at(row, "found", NULL));
    int64_t matches = json_int_at(row, 0, "matches", NULL);
    assert_int_equal(found.matches > 1 ? (int64_t)found.matches : 0, matches);
}

CASE(each_path_selects_what_its_row_says)
{
    struct json_object *documents =
        json_elem(rows_read(arena, "controller/metric/jsonpath.yaml"), 0);

    for (size_t i = 0; i < json_len(documents); i++) {
        struct json_object *document = json_elem(documents, i);
        struct json_object *paths = json_at(document, "paths", NULL);
        for (size_t k = 0; unit_row("jsonpath.yaml", k, json_len(paths)); k++)
            try_path(arena, json_at(document, "of", NULL), json_elem(paths, k));
    }
}

CASE(a_path_has_an_end)
{
    struct jsonpath path;
    struct errinfo ei;
    const char *deep = "$", *most;

    for (int i = 0; i < JSONPATH_MAX_STEPS; i++)
        deep = arena_printf(arena, "%s[0]", deep);
    assert_int_equal(jsonpath_parse(arena, deep, &path, &ei), ERR_OK);
    assert_int_equal(jsonpath_parse(arena, arena_printf(arena, "%s.a", deep), &path, &ei),
                     ERR_INVALID);
    assert_string_equal(ei.text, "at character 98: expected at most 32 steps");
    most = memset(arena_alloc(arena, JSONPATH_MAX_BYTES + 2), ' ', JSONPATH_MAX_BYTES + 1);
    ((char *)most)[JSONPATH_MAX_BYTES + 1] = '\0';
    assert_int_equal(jsonpath_parse(arena, most, &path, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "expected a path of at most 4096 bytes, found 4097");
}
