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
static int is_named(const char *path, const char *name)
{
    size_t len = strlen(path), end = strlen(name);
    return end < len && path[len - end - 1] == '/' && strcmp(path + len - end, name) == 0;
}

static int run(struct unit_file *file)
{
    return _cmocka_run_group_tests(file->path, file->cases, file->len, file->set_up_all,
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
