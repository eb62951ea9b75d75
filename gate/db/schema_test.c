/* schema: missing versions, a database that is too new, and the upgrade script. */

#include <stdlib.h>
#include <string.h>

#include "gate/db/db_internal.h"
#include "test/unit.h"

static const char script[] = "-- What it is.\n"
                             "-- version 1\n"
                             "one;\n"
                             "-- version 2: the second\n"
                             "two\n"
                             "-- version 3\n"
                             "three;\n";

/* version, oldest ("" is null), version, oldest, ... */
static PGresult *rows_of(const char *const *values)
{
    static PGresAttDesc columns[] = {{.name = (char *)(uintptr_t) "version"},
                                     {.name = (char *)(uintptr_t) "oldest"}};
    PGresult *rows = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    assert_true(PQsetResultAttrs(rows, 2, columns));
    for (int i = 0; values[i]; i++) {
        char *value = *values[i] ? (char *)(uintptr_t)values[i] : NULL;
        assert_true(PQsetvalue(rows, i / 2, i % 2, value, value ? (int)strlen(value) : -1));
    }
    return rows;
}

static const struct {
    const char *name;
    const char *rows[12];
    enum err err;
    bool missing;
    const char *sql; /* the expected parts, in order; NULL: not checked */
} cases[] = {
    {"nothing is there", {NULL}, ERR_OK, true, "123"},
    {"of an older program", {"1", "", NULL}, ERR_OK, true, "23"},
    {"all is there", {"3", "1", "1", "", "2", "1", NULL}, ERR_OK, false, ""},
    {"a hole", {"1", "", "3", "1", NULL}, ERR_OK, true, "2"},
    {"newer, and serves us", {"1", "", "2", "1", "3", "2", "4", "3", NULL}, ERR_OK, false, ""},
    {"newer, and serves us no more",
     {"1", "", "2", "1", "3", "2", "4", "4", NULL},
     ERR_INVALID,
     false,
     NULL},
    {"two newer, one of them a break",
     {"1", "", "2", "1", "3", "2", "4", "4", "5", "3", NULL},
     ERR_INVALID,
     false,
     NULL},
    {"newer, and does not say",
     {"1", "", "2", "", "3", "", "4", "", NULL},
     ERR_INVALID,
     false,
     NULL},
};

CASE(versions_are_judged)
{
    struct schema *schema = schema_new(arena, script);
    assert_int_equal(schema_version(schema), 3);
    EACH_ROW (row, cases) {
        PGresult *rows = rows_of(row->rows);
        struct errinfo info = {0};
        bool missing = false;
        print_message("%s\n", row->name);
        assert_int_equal(schema_judge(schema, rows, &missing, &info), row->err);
        if (row->err != ERR_OK)
            assert_non_null(strstr(info.text, "use a newer flagger-gate"));
        assert_int_equal(missing, row->missing);
        if (row->sql) {
            static const char *const words[] = {"one;", "two\n", "three;"};
            char *sql = schema_upgrade_sql(schema, rows), found[4] = "";
            for (size_t word = 0; word < 3; word++)
                if (strstr(sql, words[word]))
                    found[strlen(found)] = (char)('1' + word);
            assert_string_equal(found, row->sql);
            assert_string_equal(sql + strlen(sql) - 6, "COMMIT");
            free(sql);
        }
        PQclear(rows);
    }
}
