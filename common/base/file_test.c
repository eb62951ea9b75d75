#include "base/file.h"
#include "test/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    struct arena *arena;
    char *dir;
};

static int setup(void **state)
{
    struct fixture *f = heap_alloc(sizeof(*f));
    f->arena = arena_new();
    f->dir = arena_strdup(f->arena, "/tmp/file_test.XXXXXX");
    *state = f;
    return mkdtemp(f->dir) ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    DIR *dir = opendir(f->dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove(arena_printf(f->arena, "%s/%s", f->dir, entry->d_name));
    }
    closedir(dir);
    int rc = rmdir(f->dir);
    arena_free(f->arena);
    free(f);
    return rc;
}

UNIT_FIXTURE(.set_up = setup, .tear_down = teardown);

static const char *at(struct fixture *f, const char *name)
{
    return arena_printf(f->arena, "%s/%s", f->dir, name);
}

static int count_files(struct fixture *f)
{
    int count = -2;
    DIR *dir = opendir(f->dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

FIXTURE_CASE(what_is_written_is_read)
{
    char *text;
    size_t len;
    const char *path = at(f, "a");
    assert_int_equal(file_write(path, "one\0two", 7, 0640, NULL), ERR_OK);
    assert_int_equal(file_read(f->arena, path, 7, &text, &len, NULL), ERR_OK);
    assert_int_equal(len, 7);
    assert_memory_equal(text, "one\0two", 8);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);

    assert_int_equal(file_write(path, "", 0, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(f->arena, path, 0, &text, NULL, NULL), ERR_OK);
    assert_string_equal(text, "");
    assert_int_equal(count_files(f), 1);
}

FIXTURE_CASE(large_files_are_whole)
{
    size_t size = 300000, len;
    char *data = heap_alloc(size), *text;
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 7);
    assert_int_equal(file_write(at(f, "a"), data, size, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(f->arena, at(f, "a"), SIZE_MAX, &text, &len, NULL), ERR_OK);
    assert_int_equal(len, size);
    assert_memory_equal(text, data, size);
    free(data);
}

FIXTURE_CASE(the_maximum_holds)
{
    struct errinfo ei;
    char *text;
    assert_int_equal(file_write(at(f, "a"), "12345", 5, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(f->arena, at(f, "a"), 4, &text, NULL, &ei), ERR_INVALID);
    assert_null(text);
    assert_non_null(strstr(ei.text, "/a is larger than the limit of 4 bytes"));
}

FIXTURE_CASE(errors_are_told_apart)
{
    struct errinfo ei;
    char *text;
    assert_int_equal(file_read(f->arena, at(f, "none"), 10, &text, NULL, &ei), ERR_NOT_FOUND);
    assert_non_null(strstr(ei.text, "cannot open "));
    assert_non_null(strstr(ei.text, "/none: No such file or directory"));
    assert_int_equal(file_read(f->arena, f->dir, 10, &text, NULL, &ei), ERR_INVALID);
    assert_int_equal(file_write(at(f, "none/x"), "", 0, 0600, &ei), ERR_NOT_FOUND);
    assert_int_equal(mkdir(at(f, "dir"), 0700), 0);
    assert_int_equal(file_write(at(f, "dir"), "", 0, 0600, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "cannot write "));
    assert_int_equal(count_files(f), 1); /* no temporary file is left */
    if (geteuid() != 0) {
        assert_int_equal(file_write(at(f, "secret"), "x", 1, 0, NULL), ERR_OK);
        assert_int_equal(file_read(f->arena, at(f, "secret"), 10, &text, NULL, &ei), ERR_DENIED);
    }
}

/* None of these is waited for. */
FIXTURE_CASE(only_regular_files_are_read)
{
    const char *pipe = at(f, "pipe"), *link = at(f, "link");
    struct errinfo ei;
    char *text;

    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink(pipe, link), 0);
    const char *const paths[] = {pipe, link, "/dev/null", "/dev/zero", f->dir};
    EACH_ROW (row, paths) {
        assert_int_equal(file_read(f->arena, *row, 10, &text, NULL, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, ": it is no regular file"));
        assert_int_equal(file_check(*row, &ei), ERR_INVALID);
    }
    assert_int_equal(file_write(at(f, "a"), "1", 1, 0600, NULL), ERR_OK);
    assert_int_equal(file_check(at(f, "a"), &ei), ERR_OK);
    assert_int_equal(file_check(at(f, "none"), &ei), ERR_NOT_FOUND);
}
