#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cluster/context.h"
#include "test/unit.h"

CASE(in_place)
{
    static const char *const contents[] = {"first, a long line\n", "second\n",
                                           "third, longer still, so it grows\n"};
    const char *path = unit_put("hosts", "");
    struct stat before, after;
    struct errinfo ei;
    struct buf text;
    char *got;
    buf_init(&text, HOSTS_MAX);
    assert_int_equal(stat(path, &before), 0);
    EACH_ROW (row, contents) {
        buf_clear(&text);
        buf_puts(&text, *row);
        assert_int_equal(hosts_write(path, &text, &ei), ERR_OK);
        assert_int_equal(file_read(arena, path, HOSTS_MAX, &got, NULL, &ei), ERR_OK);
        assert_string_equal(got, *row);
    }
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* a bind mount still shows it */
    assert_int_equal(hosts_write("/nonexistent/hosts", &text, &ei), ERR_DENIED);
    buf_fini(&text);
}
