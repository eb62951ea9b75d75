/* trace_headers: a list from a file that is watched, or from a text. */
#include "engine/traces.h"

#include <string.h>

#include "base/file.h"
#include "test/unit.h"

static const char *path;
static struct loop *loop;

static int set_up(void **state)
{
    path = unit_path("headers");
    loop = loop_new(10000);
    return 0;
}

static int tear_down(void **state)
{
    loop_free(loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void put(const char *text, size_t len)
{
    struct errinfo info;

    assert_int_equal(file_write(path, text, len, 0600, &info), ERR_OK);
}

static const char *value(const struct trace_headers *headers)
{
    return trace_headers_list(headers)->list[0].value;
}

CASE(a_file_is_followed_and_the_last_good_list_is_kept)
{
    static const char *const bad[] = {"no header", "", "# none\n", "a=%"};
    struct trace_headers *headers = NULL;
    struct errinfo info;

    put("a=one\n", 6);
    assert_int_equal(trace_headers_new(loop, path, NULL, &headers, &info), ERR_OK);
    assert_string_equal(value(headers), "one");
    EACH_ROW (row, bad) {
        put(*row, strlen(*row));
        trace_headers_reload(headers);
        assert_string_equal(value(headers), "one");
    }
    put("a=two,b=three\n", 14);
    trace_headers_reload(headers);
    assert_string_equal(value(headers), "two");
    assert_int_equal(trace_headers_list(headers)->count, 2);
    trace_headers_stop(headers);
    trace_headers_free(headers);
}

CASE(a_bad_file_is_reported_without_its_text)
{
    static const struct {
        const char *text, *told;
        size_t len;
    } cases[] = {
        {"hidden", ": header 1: expected NAME=VALUE", 6},
        {"\n\n", ": there is no header in it", 2},
        {"a=hid\0den", ": expected text, found a byte 0", 9},
    };

    EACH_ROW (row, cases) {
        struct trace_headers *headers = NULL;
        struct errinfo info = {0};
        put(row->text, row->len);
        assert_int_equal(trace_headers_new(loop, path, NULL, &headers, &info), ERR_INVALID);
        assert_string_equal(info.text, arena_printf(arena, "%s%s", path, row->told));
    }
}

CASE(a_text_is_a_list_as_well)
{
    struct trace_headers *headers = NULL;
    struct errinfo info = {0};

    assert_int_equal(trace_headers_new(loop, NULL, "a=%41", &headers, &info), ERR_OK);
    assert_string_equal(value(headers), "A");
    trace_headers_free(headers);
    assert_int_equal(trace_headers_new(loop, NULL, "a", &headers, &info), ERR_INVALID);
    assert_string_equal(info.text, "header 1: expected NAME=VALUE");
    assert_int_equal(trace_headers_list(NULL)->count, 0);
}
