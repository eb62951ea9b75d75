/*
 * What every unit test begins with: cmocka, the headers it needs, and cases that are written once:
 *
 *     CASE(what_it_proves)
 *     {
 *         ...
 *     }
 *
 * The cases of a folder are one program (test/unit.c), which runs those of the files it is given.
 */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka hands each case a state, which most of ours do not need. */
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

void unit_add(struct unit_file *file, const char *path, struct CMUnitTest test);

/* The program calls what is given here before all else, even if none of the file's cases is to run. */
void unit_add_first(void (*function)(int argc, char **argv));

#define UNIT_FIRST(function)                                                                       \
    __attribute__((constructor)) static void unit_adds_first(void)                                 \
    {                                                                                              \
        unit_add_first(function);                                                                  \
    }

#define UNIT_ADD(name, run, set_up, tear_down)                                                     \
    __attribute__((constructor)) static void unit_adds_##name(void)                                \
    {                                                                                              \
        unit_add(&unit_file, __BASE_FILE__,                                                        \
                 (struct CMUnitTest){#name, run, set_up, tear_down, NULL});                        \
    }

/* A case with a fixture of its own. */
#define CASE_WITH(name, set_up, tear_down)                                                         \
    static void name(void **state);                                                                \
    UNIT_ADD(name, name, set_up, tear_down)                                                        \
    static void name(void **state)

#define CASE(name) CASE_WITH(name, unit_file.set_up, unit_file.tear_down)

/* A case that is handed what the file's set_up() left as the state: struct fixture *f. */
#define FIXTURE_CASE(name)                                                                         \
    static void name(struct fixture *f);                                                           \
    static void unit_runs_##name(void **state)                                                     \
    {                                                                                              \
        name(*state);                                                                              \
    }                                                                                              \
    UNIT_ADD(name, unit_runs_##name, unit_file.set_up, unit_file.tear_down)                        \
    static void name(struct fixture *f)

/* As CASE(), of a file that lists its cases: UNIT_MAIN(cmocka_unit_test(one), ...) */
#define UNIT_MAIN(...)                                                                             \
    __attribute__((constructor)) static void unit_adds_all(void)                                   \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)                              \
            unit_add(&unit_file, __BASE_FILE__, tests[i]);                                         \
    }

#endif
