/* key_file: what is read, and what leads out of the folder. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/key_file.h"
#include "test/unit.h"

static char root[] = "/tmp/key_file_test.XXXXXX";

static const char *below(const char *name)
{
    static char path[4][256];
    static int next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof(path[0]), "%s/%s", root, name);
    return at;
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(root) && mkdir(below("keys"), 0700) == 0 &&
                   mkdir(below("keys/..1"), 0700) == 0 &&
                   file_write(below("keys/..1/a"), "key-a\n", 6, 0600, NULL) == ERR_OK &&
                   file_write(below("outside"), "secret\n", 7, 0600, NULL) == ERR_OK &&
                   symlink("..1", below("keys/..data")) == 0 &&
                   symlink("..data/a", below("keys/a")) == 0 &&
                   symlink("../outside", below("keys/up")) == 0 &&
                   symlink("/etc/passwd", below("keys/absolute")) == 0 &&
                   symlink("..", below("keys/parent")) == 0 &&
                   symlink("/proc/self/root", below("keys/magic")) == 0 &&
                   mkfifo(below("keys/fifo"), 0600) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"keys/..1/a", "keys/..1",      "keys/..data", "keys/a",
                                        "keys/up",    "keys/absolute", "keys/parent", "keys/magic",
                                        "keys/fifo",  "keys",          "outside",     NULL};
    (void)state;
    for (int i = 0; names[i]; i++)
        remove(below(names[i]));
    return remove(root);
}

UNIT_FIXTURE(.set_up_all = set_up, .tear_down_all = tear_down);

CASE(only_what_is_below_is_read)
{
    static const struct {
        const char *path;
        enum err err;
    } cases[] = {
        {"..1/a", ERR_OK},
        {"a", ERR_OK}, /* as a Secret's volume has it */
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
        enum err err = key_file_read(arena, below("keys"), row->path, &key, &info);
        if (err != row->err)
            fail_msg("%s: %s %s", row->path, err_name(err), info.text);
        if (err == ERR_OK)
            assert_string_equal(key, "key-a\n");
    }
}
