/* db_source: contents of the file that are accepted, and contents that are not. */

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "gate/db/db_internal.h"
#include "test/unit.h"

static const char *path;

static void write_file(const char *text, size_t len)
{
    struct errinfo info = {0};
    assert_int_equal(file_write(path, text, len, 0600, &info), ERR_OK);
}

static int set_up(void **state)
{
    log_set_level("error");
    path = unit_path("source");
    write_file("", 0);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up);

CASE(the_file_is_followed)
{
    static char long_one[20000];
    static const struct {
        const char *text;
        size_t len;
        unsigned generation; /* after this content */
        const char *dsn;
    } steps[] = {
        {"host=b\n", 7, 2, "host=b"},
        {"  host=b \r\n\n", 12, 2, "host=b"}, /* the same */
        {"postgresql://u:p@c/d", 20, 3, "postgresql://u:p@c/d"},
        {"", 0, 3, "postgresql://u:p@c/d"}, /* an empty file is a mistake */
        {"no connection string", 20, 3, "postgresql://u:p@c/d"},
        {long_one, sizeof(long_one), 3, "postgresql://u:p@c/d"},
        {"host=e\0 password=f", 18, 3, "postgresql://u:p@c/d"},
        {"host=e", 6, 4, "host=e"},
    };
    struct db_source *source = NULL;
    struct errinfo info = {0};
    memset(long_one, 'x', sizeof(long_one));
    write_file("host=a", 6);
    assert_int_equal(db_source_new("host=other", path, &source, &info), ERR_OK);
    assert_string_equal(db_source_dsn(source), "host=a");
    assert_int_equal(db_source_generation(source), 1);
    EACH_ROW (row, steps) {
        write_file(row->text, row->len);
        assert_int_equal(db_source_poll(source), row->generation);
        assert_string_equal(db_source_dsn(source), row->dsn);
    }
    unlink(path);
    assert_int_equal(db_source_poll(source), 4);
    assert_string_equal(db_source_dsn(source), "host=e");
    db_source_free(source);
}

CASE(without_a_file_nothing_changes)
{
    struct db_source *source = NULL;
    struct errinfo info = {0};
    assert_int_equal(db_source_new("host=a", "", &source, &info), ERR_OK);
    assert_int_equal(db_source_poll(source), 1);
    assert_string_equal(db_source_dsn(source), "host=a");
    db_source_free(source);
    assert_int_equal(db_source_new(NULL, NULL, &source, &info), ERR_OK); /* PGHOST and the like */
    assert_string_equal(db_source_dsn(source), "");
    db_source_free(source);
}

CASE(what_cannot_be_read_is_told_without_its_secret)
{
    struct db_source *source = NULL;
    struct errinfo info = {0};
    write_file("u:hush@h/d", 10);
    assert_int_equal(db_source_new(NULL, path, &source, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, path));
    assert_null(strstr(info.text, "hush"));
    write_file(" \n", 2);
    assert_int_equal(db_source_new(NULL, path, &source, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "empty"));
    unlink(path);
    assert_int_equal(db_source_new(NULL, path, &source, &info), ERR_NOT_FOUND);
    assert_int_equal(db_source_new("u:hush@h/d", NULL, &source, &info), ERR_INVALID);
    assert_null(strstr(info.text, "hush"));
    assert_null(source);
}

CASE(a_password_in_the_arguments_is_seen)
{
    static const struct {
        const char *dsn;
        const char *arguments[3];
        bool shown;
    } cases[] = {
        {"postgresql://gate:hush@db/gates",
         {"--database", "postgresql://gate:hush@db/gates"},
         true},
        {"postgresql://gate:hush@db/gates", {"--database=postgresql://gate:hush@db/gates"}, true},
        {"host=db password=hush", {"--port", "1", "--database=host=db password=hush"}, true},
        {"host=db password=hush", {"--port", "1"}, false}, /* from the environment */
        {"host=db password=''", {"--database", "host=db password=''"}, false},
        {"postgresql://gate@db/gates", {"--database=postgresql://gate@db/gates"}, false},
        {"no connection string", {"--database", "no connection string"}, false},
        {"", {"--database", ""}, false},
        {NULL, {"--port", "1"}, false},
    };
    EACH_ROW (row, cases) {
        char *argv[4] = {(char *)(uintptr_t) "flagger-gate"};
        int argc = 1;
        for (size_t n = 0; n < 3 && row->arguments[n]; n++)
            argv[argc++] = (char *)(uintptr_t)row->arguments[n];
        print_message("%s\n", row->dsn ? row->dsn : "(none)");
        assert_int_equal(db_source_shows_password(row->dsn, argc, argv), row->shown);
    }
}
