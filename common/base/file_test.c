#include "base/file.h"
#include "test/unit.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int count_files(void)
{
    int count = -2;
    DIR *dir = opendir(unit_folder());
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

CASE(what_is_written_is_read)
{
    char *text;
    size_t len;
    const char *path = unit_path("a");
    assert_int_equal(file_write(path, "one\0two", 7, 0640, NULL), ERR_OK);
    assert_int_equal(file_read(arena, path, 7, &text, &len, NULL), ERR_OK);
    assert_int_equal(len, 7);
    assert_memory_equal(text, "one\0two", 8);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);

    assert_int_equal(file_write(path, "", 0, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(arena, path, 0, &text, NULL, NULL), ERR_OK);
    assert_string_equal(text, "");
    assert_int_equal(count_files(), 1);
}

CASE(large_files_are_whole)
{
    size_t size = 300000, len;
    char *data = heap_alloc(size), *text;
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 7);
    assert_int_equal(file_write(unit_path("a"), data, size, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(arena, unit_path("a"), SIZE_MAX, &text, &len, NULL), ERR_OK);
    assert_int_equal(len, size);
    assert_memory_equal(text, data, size);
    free(data);
}

CASE(the_maximum_holds)
{
    struct errinfo ei;
    char *text;
    assert_int_equal(file_write(unit_path("a"), "12345", 5, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(arena, unit_path("a"), 4, &text, NULL, &ei), ERR_INVALID);
    assert_null(text);
    assert_non_null(strstr(ei.text, "/a is larger than the limit of 4 bytes"));
}

CASE(errors_are_told_apart)
{
    struct errinfo ei;
    char *text;
    assert_int_equal(file_read(arena, unit_path("none"), 10, &text, NULL, &ei), ERR_NOT_FOUND);
    assert_non_null(strstr(ei.text, "cannot open "));
    assert_non_null(strstr(ei.text, "/none: No such file or directory"));
    assert_int_equal(file_read(arena, unit_folder(), 10, &text, NULL, &ei), ERR_INVALID);
    assert_int_equal(file_write(unit_path("none/x"), "", 0, 0600, &ei), ERR_NOT_FOUND);
    assert_int_equal(mkdir(unit_path("dir"), 0700), 0);
    assert_int_equal(file_write(unit_path("dir"), "", 0, 0600, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "cannot write "));
    assert_int_equal(count_files(), 1); /* no temporary file is left */
    if (geteuid() != 0) {
        assert_int_equal(file_write(unit_path("secret"), "x", 1, 0, NULL), ERR_OK);
        assert_int_equal(file_read(arena, unit_path("secret"), 10, &text, NULL, &ei), ERR_DENIED);
    }
}

/* None of these blocks. */
CASE(only_regular_files_are_read)
{
    const char *pipe = unit_path("pipe"), *link = unit_path("link");
    struct errinfo ei;
    char *text;

    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink(pipe, link), 0);
    const char *const paths[] = {pipe, link, "/dev/null", "/dev/zero", unit_folder()};
    EACH_ROW (row, paths) {
        assert_int_equal(file_read(arena, *row, 10, &text, NULL, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, ": it is no regular file"));
        assert_int_equal(file_check(*row, &ei), ERR_INVALID);
    }
    assert_int_equal(file_write(unit_path("a"), "1", 1, 0600, NULL), ERR_OK);
    assert_int_equal(file_check(unit_path("a"), &ei), ERR_OK);
    assert_int_equal(file_check(unit_path("none"), &ei), ERR_NOT_FOUND);
}
