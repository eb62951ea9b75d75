/* Cells of built-in tables as one line of text, for the tests of the table_*.c files. */
#ifndef OBJECT_TABLE_TRY_H
#define OBJECT_TABLE_TRY_H

#include "base/clock.h"
#include "object/table.h"
#include "object/try.h"

#define TRY_CREATED "'creationTimestamp':'2026-01-01T00:00:00Z'"
#define TRY_NOW     "2026-01-01T00:05:00Z"

struct try_table {
    const char *group, *kind, *obj, *cells; /* cells as JSON, without the brackets */
};

static inline void try_tables(const struct try_table *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct table_request request = {.version = "v1", .include = TABLE_NONE};
        assert_int_equal(clock_parse(TRY_NOW, &request.now_ms, NULL), ERR_OK);
        struct json_object *items = json_own(arena, json_object_new_array());
        json_object_array_add(items, json_object_get(try_json(arena, cases[i].obj)));
        const struct table *table = table_builtin(cases[i].group, cases[i].kind);
        struct json_object *out = table_render(arena, table, &request, items, NULL);
        struct json_object *row = json_elem(json_at(out, "rows", NULL), 0);
        const char *found = json_text(arena, json_at(row, "cells", NULL));
        const char *wanted = try_quoted(arena, arena_printf(arena, "[%s]", cases[i].cells));
        if (strcmp(found, wanted) != 0)
            fail_msg("%s:\nfound  %s\nwanted %s", cases[i].obj, found, wanted);
        assert_int_equal(json_len(json_at(row, "cells", NULL)),
                         json_len(json_at(out, "columnDefinitions", NULL)));
    }
}

#endif
