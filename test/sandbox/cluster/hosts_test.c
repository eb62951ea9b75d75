
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/hosts.h"
#include "test/unit.h"

CASE(in_place)
{
    char path[] = "/tmp/hosts-test-XXXXXX", got[256];
    struct stat before, after;
    struct errinfo ei;
    struct buf text;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    buf_init(&text, HOSTS_MAX);
    static const char *const contents[] = {"first, a long line\n", "second\n",
                                           "third, longer still, so it grows\n"};
    assert_int_equal(fstat(fd, &before), 0);
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&text);
        buf_puts(&text, contents[i]);
        assert_int_equal(hosts_write(path, &text, &ei), ERR_OK);
        ssize_t len = pread(fd, got, sizeof(got) - 1, 0);
        assert_true(len >= 0);
        got[len] = '\0';
        assert_string_equal(got, contents[i]);
    }
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* a bind mount still shows it */
    assert_int_equal(hosts_write("/nonexistent/hosts", &text, &ei), ERR_DENIED);
    buf_fini(&text);
    close(fd);
    unlink(path);
}
