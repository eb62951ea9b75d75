/* link_keys: files that can be read, and that a new file is noticed. */
#include "gate/links/link.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "test/unit.h"

#define OLD "the old key of thirty-two letters"
#define NEW "the new key of thirty-two letters"

static const char *path;
static struct loop *loop;

static int set_up(void **state)
{
    path = unit_path("keys");
    loop = loop_new(10000);
    return 0;
}

static int tear_down(void **state)
{
    loop_free(loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void put(const void *text, size_t len)
{
    struct errinfo info;
    assert_int_equal(file_write(path, text, len, 0600, &info), ERR_OK);
}

static void assert_keys(const struct link_keys *keys, int wanted, const char *first,
                        const char *last)
{
    int count = 0;
    const struct link_key *list = link_keys_list(keys, &count);
    assert_int_equal(count, wanted);
    assert_int_equal(list[0].len, strlen(first));
    assert_memory_equal(list[0].text, first, strlen(first));
    assert_int_equal(list[count - 1].len, strlen(last));
    assert_memory_equal(list[count - 1].text, last, strlen(last));
}

CASE(keys_are_lines)
{
    static const char *const files[] = {
        OLD,
        OLD "\n",
        "# a comment as long as a key would be\n\n\t " OLD " \r\n",
    };
    EACH_ROW (row, files) {
        struct link_keys *keys = NULL;
        struct errinfo info;
        put(*row, strlen(*row));
        assert_int_equal(link_keys_new(loop, path, &keys, &info), ERR_OK);
        assert_keys(keys, 1, OLD, OLD);
        link_keys_free(keys);
    }
}

CASE(bad_files_are_told_without_their_keys)
{
    char many[17 * sizeof(OLD) + 1] = "";
    char huge[LINK_KEY_MAX_LENGTH + 2];
    for (int i = 0; i < 17; i++)
        memcpy(many + (size_t)i * sizeof(OLD), OLD "\n", sizeof(OLD));
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    const struct {
        const char *text;
        size_t len;
        const char *told;
    } cases[] = {
        {"", 0, "there is no key in it"},
        {"# nothing\n", 10, "there is no key in it"},
        {OLD "\nhush\n", sizeof(OLD) + 5, ":2: a key has 4 characters, expected at least 32"},
        {"0123456789012345678901234567890", 31, "expected at least 32"},
        {many, 17 * sizeof(OLD), "more than 16 keys"},
        {huge, sizeof(huge) - 1, "expected at most 1024"},
        {OLD "\0" OLD, 2 * sizeof(OLD), "found a byte 0"},
    };
    EACH_ROW (row, cases) {
        struct link_keys *keys = NULL;
        struct errinfo info = {0};
        put(row->text, row->len);
        assert_int_equal(link_keys_new(loop, path, &keys, &info), ERR_INVALID);
        assert_null(keys);
        assert_non_null(strstr(info.text, row->told));
        assert_non_null(strstr(info.text, path));
        assert_null(strstr(info.text, "hush"));
    }
    struct link_keys *keys = NULL;
    struct errinfo info;
    assert_int_not_equal(link_keys_new(loop, "/no/such/file", &keys, &info), ERR_OK);
    assert_non_null(strstr(info.text, "/no/such/file"));
}

CASE(a_new_file_is_read_and_a_bad_one_is_not)
{
    struct link_keys *keys = NULL;
    struct errinfo info;
    int null = open("/dev/null", O_WRONLY);
    log_set_fd(null);
    put(OLD, strlen(OLD));
    assert_int_equal(link_keys_new(loop, path, &keys, &info), ERR_OK);
    put(NEW "\n" OLD, 2 * sizeof(OLD) - 1);
    assert_keys(keys, 1, OLD, OLD);
    link_keys_poll(keys);
    assert_keys(keys, 2, NEW, OLD);
    put("short", 5);
    link_keys_poll(keys);
    assert_keys(keys, 2, NEW, OLD);
    put(NEW, strlen(NEW));
    link_keys_poll(keys);
    assert_keys(keys, 1, NEW, NEW);
    link_keys_stop(keys);
    assert_keys(keys, 1, NEW, NEW);
    link_keys_free(keys);
    log_set_fd(2);
    close(null);
}
