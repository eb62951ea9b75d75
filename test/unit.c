/* The program that a folder's unit tests are linked with: program [FILE..], without files all of the folder. */
#include "test/unit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FILES = 80, MAX_FIRST = 8 };

static struct unit_file *files[MAX_FILES];
static size_t files_len;
static void (*first[MAX_FIRST])(int argc, char **argv);
static size_t first_len;
static struct CMUnitTest *running;
struct arena *unit_arena;

/* Where the case is in a table; NULL: in none. */
static const char *rows_now;
static size_t row_now;

bool unit_row(const char *rows, size_t row, size_t len)
{
    rows_now = row < len ? rows : NULL;
    row_now = row;
    return row < len;
}

void unit_passed(void)
{
    rows_now = NULL;
}

void unit_add(struct unit_file *file, const char *path, struct CMUnitTest test)
{
    if (file->len == 0) {
        assert(files_len < MAX_FILES);
        files[files_len++] = file;
        file->path = path;
    }
    assert(file->len < UNIT_MAX_CASES);
    file->cases[file->len++] = test;
}

void unit_add_first(void (*function)(int argc, char **argv))
{
    assert(first_len < MAX_FIRST);
    first[first_len++] = function;
}

/* Whether the path ends with the name, which begins a part of it. */
static bool is_named(const char *path, const char *name)
{
    size_t len = strlen(path), end = strlen(name);
    return end < len && path[len - end - 1] == '/' && strcmp(path + len - end, name) == 0;
}

static int before(void **state)
{
    running = *state;
    *state = running->initial_state;
    unit_arena = arena_new();
    return running->setup_func ? running->setup_func(state) : 0;
}

static int after(void **state)
{
    if (rows_now)
        print_error("%s failed at %s[%zu]\n", running->name, rows_now, row_now);
    rows_now = NULL;
    int result = running->teardown_func ? running->teardown_func(state) : 0;
    arena_free(unit_arena);
    return result;
}

static int run(struct unit_file *file)
{
    struct CMUnitTest cases[UNIT_MAX_CASES];

    for (size_t i = 0; i < file->len; i++)
        cases[i] = (struct CMUnitTest){file->cases[i].name, file->cases[i].test_func, before, after,
                                       &file->cases[i]};
    return _cmocka_run_group_tests(file->path, cases, file->len, file->set_up_all,
                                   file->tear_down_all);
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (size_t i = 0; i < first_len; i++)
        first[i](argc, argv);
    for (size_t i = 0; argc < 2 && i < files_len; i++)
        failed += run(files[i]);
    for (int arg = 1; arg < argc; arg++) {
        size_t i = 0;
        while (i < files_len && !is_named(files[i]->path, argv[arg]))
            i++;
        if (i == files_len)
            fprintf(stderr, "no cases in %s\n", argv[arg]);
        failed += i < files_len ? run(files[i]) : 1;
    }
    return failed != 0;
}
