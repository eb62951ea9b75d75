/* Key files: those that are read, and paths that lead out of the folder. */

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/remote_run.h"
#include "test/unit.h"

static int set_up(void **state)
{
    if (mkdir(unit_path("keys"), 0700) != 0 || mkdir(unit_path("keys/..1"), 0700) != 0)
        return -1;
    unit_put("keys/..1/a", "key-a\n");
    unit_put("outside", "secret\n");
    return symlink("..1", unit_path("keys/..data")) || symlink("..data/a", unit_path("keys/a")) ||
           symlink("../outside", unit_path("keys/up")) ||
           symlink("/etc/passwd", unit_path("keys/absolute")) ||
           symlink("..", unit_path("keys/parent")) ||
           symlink("/proc/self/root", unit_path("keys/magic")) ||
           mkfifo(unit_path("keys/fifo"), 0600);
}

UNIT_FIXTURE(.set_up_all = set_up);

CASE(only_what_is_below_is_read)
{
    static const struct {
        const char *path;
        enum err err;
    } cases[] = {
        {"..1/a", ERR_OK},
        {"a", ERR_OK}, /* as in a Secret's volume */
        {"up", ERR_DENIED},
        {"absolute", ERR_DENIED},
        {"parent/outside", ERR_DENIED},
        {"../outside", ERR_DENIED},
        {"magic/etc/passwd", ERR_DENIED},
        {"/etc/passwd", ERR_DENIED},
        {"fifo", ERR_INVALID},
        {"..1", ERR_INVALID},
        {"missing", ERR_NOT_FOUND},
    };
    EACH_ROW (row, cases) {
        struct errinfo info = {0};
        char *key;
        enum err err = key_file_read(arena, unit_path("keys"), row->path, &key, &info);
        if (err != row->err)
            fail_msg("%s: %s %s", row->path, err_name(err), info.text);
        if (err == ERR_OK)
            assert_string_equal(key, "key-a\n");
    }
}
