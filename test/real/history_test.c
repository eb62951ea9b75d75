#include "real/history.h"
#include "test/rows.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

static void note(void *arg, const char *rule, const char *sentence)
{
    char *broken = arg;
    size_t len = strlen(broken);
    assert_true(sentence[0] != 0);
    snprintf(broken + len, 100 - len, "%s%s", len ? " " : "", rule);
}

/* [revision, kind, ms, object] as the recorder writes it. */
static struct json_object *line_of(struct arena *arena, struct json_object *row)
{
    struct json_object *line = json_own(arena, json_object_new_object());

    json_set(line, "revision", json_elem(row, 0));
    json_set(line, "kind", json_elem(row, 1));
    json_set_bool(line, "gone", false);
    json_set(line, "time", json_elem(row, 2));
    json_set(line, "object", json_elem(row, 3));
    return line;
}

CASE(every_rule_is_found_broken_and_kept)
{
    struct json_object *rows = json_elem(rows_read(arena, "test/real/histories.yaml"), 0);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *given = json_at(json_elem(rows, i), "lines", NULL);
        const char *wanted = json_str_at(json_elem(rows, i), "broken", NULL);
        struct json_object *lines = json_own(arena, json_object_new_array());
        char broken[100] = "";
        for (size_t k = 0; k < json_len(given); k++)
            json_object_array_add(lines, json_object_get(line_of(arena, json_elem(given, k))));
        history_sort(lines);
        size_t count = history_check(lines, note, broken);
        if (strcmp(broken, wanted) != 0)
            fail_msg("row %zu: broke \"%s\", not \"%s\"", i, broken, wanted);
        size_t rules = wanted[0] != 0;
        for (const char *at = wanted; *at; at++)
            rules += *at == ' ';
        assert_int_equal(count, rules);
    }
}
