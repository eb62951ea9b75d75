/*
 * What every unit test begins with: cmocka, the headers it needs, and cases that are written once:
 *
 *     CASE(what_it_proves)
 *     {
 *         ...
 *     }
 *
 * A case has an arena, `arena`, which is freed after it. The cases of a folder are one program (test/unit.c), which runs
 * those of the files it is given.
 */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"

/* Of a header for tests, whose files do not call all of it. */
#define UNIT_HELPER __attribute__((unused)) static

/* Most cases need no state, and many no arena. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { UNIT_MAX_CASES = 80 };

/* One file of cases, in the order in which they stand there. */
struct unit_file {
    CMFixtureFunction set_up, tear_down;         /* of each case */
    CMFixtureFunction set_up_all, tear_down_all; /* before the first case and after the last */
    const char *path;
    struct CMUnitTest cases[UNIT_MAX_CASES];
    size_t len;
};

/* The file that is being compiled; UNIT_FIXTURE() gives it more. */
static struct unit_file unit_file __attribute__((unused));

/* UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down); */
#define UNIT_FIXTURE(...) static struct unit_file unit_file = {__VA_ARGS__}

/* That of the case that runs. */
extern struct arena *unit_arena;

/*
 * A folder for files, made when it is first asked for and removed with all that is in it: behind the case, or behind the
 * file's last one if set_up_all() asked. Paths last as long as the program.
 */
const char *unit_folder(void);
const char *unit_path(const char *name);

/* Writes the file, with mode 0600, and returns its path. */
const char *unit_put(const char *name, const char *text);

/* Notes at which row the case is; false behind the last. */
bool unit_row(const char *rows, size_t row, size_t len);

/* The case has come to its end, and did not fail. */
void unit_passed(void);

void unit_add(struct unit_file *file, const char *path, struct CMUnitTest test);

/* The program calls what is given here before all else, even if none of the file's cases is to run. */
void unit_add_first(void (*function)(int argc, char **argv));

#define UNIT_FIRST(function)                                                                       \
    __attribute__((constructor)) static void unit_adds_first(void)                                 \
    {                                                                                              \
        unit_add_first(function);                                                                  \
    }

/* PARAMETER and ARGUMENT: what the case is handed before its arena */
#define UNIT_CASE(name, parameter, argument, set_up, tear_down)                                    \
    static void name(parameter, struct arena *arena);                                              \
    static void unit_runs_##name(void **state)                                                     \
    {                                                                                              \
        name(argument, unit_arena);                                                                \
        unit_passed();                                                                             \
    }                                                                                              \
    __attribute__((constructor)) static void unit_adds_##name(void)                                \
    {                                                                                              \
        unit_add(&unit_file, __BASE_FILE__,                                                        \
                 (struct CMUnitTest){#name, unit_runs_##name, set_up, tear_down, NULL});           \
    }                                                                                              \
    static void name(parameter, struct arena *arena)

#define CASE(name) UNIT_CASE(name, void **state, state, unit_file.set_up, unit_file.tear_down)

/* A case with set-up and tear-down of its own. */
#define CASE_WITH(name, set_up, tear_down) UNIT_CASE(name, void **state, state, set_up, tear_down)

/* A case that is handed what the file's set_up() left as the state: struct fixture *f. */
#define FIXTURE_CASE(name)                                                                         \
    UNIT_CASE(name, struct fixture *f, *state, unit_file.set_up, unit_file.tear_down)

/* Each row of a table of cases. A case that fails tells in which row. */
#define EACH_ROW(row, rows)                                                                        \
    for (typeof(&(rows)[0]) row = (rows);                                                          \
         unit_row(#rows, (size_t)(row - (rows)), sizeof(rows) / sizeof((rows)[0])); row++)

#endif
