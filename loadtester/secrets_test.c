/* Files with secrets, and the users that can read them. */

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/task_user.h"
#include "test/unit.h"

static const struct child_limits ours, nobody = {.uid = 65534};
static const char *root, *file, *folder, *inner;

static int set_up(void **state)
{
    root = unit_folder();
    folder = unit_path("folder");
    file = unit_put("file", "x");
    if (chmod(root, 0755) != 0 || mkdir(folder, 0755) != 0)
        return -1;
    inner = unit_put("folder/inner", "x");
    return 0;
}

UNIT_FIXTURE(.set_up_all = set_up);

CASE(we_read_what_is_ours)
{
    assert_true(secrets_readable(file, &ours));
    assert_true(secrets_readable(folder, &ours));
    assert_false(secrets_readable("/no/such/file", &ours));
}

CASE(others_read_what_is_open)
{
    static const struct {
        mode_t file, root;
        bool readable;
    } cases[] = {{0600, 0755, false},
                 {0644, 0755, true},
                 {0644, 0700, false},
                 {0604, 0711, true},
                 {0640, 0755, false}};

    if (geteuid() != 0)
        skip();
    EACH_ROW (row, cases) {
        assert_int_equal(chmod(file, row->file), 0);
        assert_int_equal(chmod(inner, row->file), 0);
        assert_int_equal(chmod(root, row->root), 0);
        assert_int_equal(secrets_readable(file, &nobody), row->readable);
        if (row->root == 0755)
            assert_int_equal(secrets_readable(folder, &nobody), row->readable);
    }
    /* readable through their group */
    assert_int_equal(chown(file, 0, 4242), 0);
    assert_int_equal(chmod(root, 0755), 0);
    assert_false(secrets_readable(file, &nobody));
    assert_true(secrets_readable(file, &(struct child_limits){.uid = 65534, .gid = 4242}));
    assert_true(
        secrets_readable(file, &(struct child_limits){.uid = 65534, .gid = 65534, .group = 4242}));
}

CASE(the_first_that_is_open_is_told)
{
    struct errinfo info = {0};
    const struct secret_file files[] = {{"tls-key", NULL}, {"token-file", file}, {NULL, NULL}};

    assert_int_equal(secrets_check(files, &ours, &info), ERR_DENIED);
    assert_non_null(strstr(info.text, "--token-file: tasks could read "));
    assert_int_equal(secrets_check(files + 2, &ours, &info), ERR_OK);
}
