/* The program that a folder's unit tests are linked with: program FILE.. */
#define _GNU_SOURCE /* nftw */
#include "test/unit.h"

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

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

/* "" while there is none. */
static char folder[32];
static bool folder_is_of_case;
static struct arena *paths;

const char *unit_folder(void)
{
    if (!*folder) {
        folder_is_of_case = running != NULL;
        snprintf(folder, sizeof(folder), "/tmp/flagger-unit.XXXXXX");
        if (!mkdtemp(folder))
            fail_msg("cannot make %s", folder);
    }
    return folder;
}

const char *unit_path(const char *name)
{
    return arena_printf(paths, "%s/%s", unit_folder(), name);
}

const char *unit_put(const char *name, const char *text)
{
    const char *path = unit_path(name);
    struct errinfo info;

    if (file_write(path, text, strlen(text), 0600, &info) != ERR_OK)
        fail_msg("%s", info.text);
    return path;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    if (*folder && nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        fail_msg("cannot remove %s", folder);
    *folder = '\0';
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
    running = NULL;
    if (folder_is_of_case)
        remove_folder();
    return result;
}

static int run(struct unit_file *file)
{
    struct CMUnitTest cases[UNIT_MAX_CASES];

    for (size_t i = 0; i < file->len; i++)
        cases[i] = (struct CMUnitTest){file->cases[i].name, file->cases[i].test_func, before, after,
                                       &file->cases[i]};
    int failed = _cmocka_run_group_tests(file->path, cases, file->len, file->set_up_all,
                                         file->tear_down_all);
    remove_folder();
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    for (size_t i = 0; i < first_len; i++)
        first[i](argc, argv);
    paths = arena_new();
    for (int arg = 1; arg < argc; arg++) {
        size_t i = 0;
        while (i < files_len && !is_named(files[i]->path, argv[arg]))
            i++;
        if (i == files_len)
            fprintf(stderr, "no cases in %s\n", argv[arg]);
        failed += i < files_len ? run(files[i]) : 1;
    }
    arena_free(paths);
    return failed != 0;
}
