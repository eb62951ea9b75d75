#include "kube/watch_line.h"
#include "test/unit.h"

#include <string.h>

#define META                                                                                       \
    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}"

CASE(events)
{
    static const struct {
        const char *line;
        enum err err;
        enum line_type type;
        int code;
    } cases[] = {
        {"{\"type\":\"ADDED\",\"object\":" META "}", ERR_OK, LINE_PUT, 0},
        {"{\"type\":\"MODIFIED\",\"object\":" META "}", ERR_OK, LINE_PUT, 0},
        {"{\"type\":\"DELETED\",\"object\":" META "}", ERR_OK, LINE_GONE, 0},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}", ERR_OK,
         LINE_BOOKMARK, 0},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}", ERR_INVALID, 0, 0},
        {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"x\"}}",
         ERR_OK, LINE_ERROR, 410},
        {"{\"type\":\"ERROR\",\"object\":{}}", ERR_OK, LINE_ERROR, 0},
        {"{\"type\":\"ERROR\"}", ERR_INVALID, 0, 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}", ERR_INVALID, 0, 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}", ERR_INVALID,
         0, 0},
        {"{\"type\":\"ADDED\",\"object\":[]}", ERR_INVALID, 0, 0},
        {"{\"type\":\"CHANGED\",\"object\":" META "}", ERR_INVALID, 0, 0},
        {"{\"object\":" META "}", ERR_INVALID, 0, 0},
        {"[]", ERR_INVALID, 0, 0},
        {"{\"type\":\"ADDED\",\"obj", ERR_INVALID, 0, 0},
        {"<html>", ERR_INVALID, 0, 0},
    };
    EACH_ROW (row, cases) {
        struct line_event event;
        struct errinfo ei = {0};
        assert_int_equal(watch_line_parse(arena, row->line, strlen(row->line), &event, &ei),
                         row->err);
        if (row->err != ERR_OK) {
            assert_true(ei.text[0] != '\0');
        } else {
            assert_int_equal(event.type, row->type);
            assert_int_equal(event.code, row->code);
            if (event.type == LINE_PUT) {
                assert_string_equal(event.namespace_, "n");
                assert_string_equal(event.name, "a");
                assert_string_equal(event.uid, "u");
                assert_string_equal(event.resource_version, "7");
            }
        }
    }
}

struct seen {
    char text[256];
    int stop_after;
};

static bool collect(void *arg, const char *line, size_t len)
{
    struct seen *seen = arg;
    assert_int_equal(strlen(line), len);
    strncat(seen->text, line, sizeof(seen->text) - strlen(seen->text) - 1);
    strncat(seen->text, "|", sizeof(seen->text) - strlen(seen->text) - 1);
    return seen->stop_after == 0 || --seen->stop_after > 0;
}

/* However the stream is cut, the lines are the same. */
CASE(lines_are_whole_whatever_the_pieces)
{
    static const char text[] = "one\ntwo\n\nthree\r\nlast";
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        struct buf rest;
        struct seen seen = {0};
        buf_init(&rest, 64);
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t len = sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece;
            assert_true(watch_lines_feed(&rest, text + at, len, collect, &seen));
        }
        assert_string_equal(seen.text, "one|two|three\r|");
        assert_string_equal(rest.data, "last");
        buf_fini(&rest);
    }
}

CASE(a_line_has_a_maximum_and_a_reader_may_stop)
{
    struct buf rest;
    struct seen seen = {0};
    buf_init(&rest, 8);
    assert_true(watch_lines_feed(&rest, "12345678\n", 9, collect, &seen));
    assert_false(watch_lines_feed(&rest, "123456789\n", 10, collect, &seen));
    assert_true(rest.truncated);
    assert_string_equal(seen.text, "12345678|");
    buf_clear(&rest);
    assert_true(watch_lines_feed(&rest, "12345", 5, collect, &seen));
    assert_false(watch_lines_feed(&rest, "6789", 4, collect, &seen));
    buf_clear(&rest);
    seen = (struct seen){.stop_after = 2};
    assert_false(watch_lines_feed(&rest, "a\nb\nc\n", 6, collect, &seen));
    assert_string_equal(seen.text, "a|b|");
    buf_fini(&rest);
}
