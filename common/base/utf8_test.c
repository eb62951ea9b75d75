#include "base/utf8.h"
#include "test/unit.h"

#include <string.h>

CASE(sequences_follow_the_standard)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},             /* a continuation alone */
        {"\xc0\x80", 0},         /* overlong NUL */
        {"\xc1\xbf", 0},         /* overlong */
        {"\xe0\x9f\xbf", 0},     /* overlong */
        {"\xf0\x8f\xbf\xbf", 0}, /* overlong */
        {"\xed\xa0\x80", 0},     /* surrogate */
        {"\xf4\x90\x80\x80", 0}, /* beyond U+10FFFF */
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
        {"\xe2\x82", 0},     /* cut */
        {"\xe2\x28\xa1", 0}, /* bad second byte */
        {"\xf0\x9f\x98", 0},
    };
    EACH_ROW (row, cases) {
        size_t len = strlen(row->text);
        assert_int_equal(utf8_sequence(row->text, len), row->len);
        assert_int_equal(utf8_valid(row->text, len), row->len == len);
    }
    assert_int_equal(utf8_sequence("a", 0), 0);
    assert_true(utf8_valid("", 0));
    assert_false(utf8_valid("ok \xc3", 4));
}

CASE(every_character_survives_encoding)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char text[4];
        if (code == 0xd800)
            code = 0xe000;
        size_t len = utf8_encode(code, text);
        assert_int_equal(utf8_sequence(text, len), len);
    }
}

CASE(cut_ends_at_a_boundary)
{
    static const struct {
        const char *text;
        size_t len, cut;
    } cases[] = {
        {"abc", 2, 2},
        {"a\xc3\xa9", 3, 3},
        {"a\xc3\xa9", 2, 1},
        {"\xe2\x82\xac", 2, 0},
        {"\xe2\x82\xac", 1, 0},
        {"\xf0\x9f\x98\x80", 3, 0},
        {"\xf0\x9f\x98\x80x", 5, 5},
        {"\x80\x80\x80\x80", 4, 4}, /* no character at all: nothing to keep */
        {"", 0, 0},
    };
    EACH_ROW (row, cases)
        assert_int_equal(utf8_cut(row->text, row->len), row->cut);
}

CASE(characters_are_counted)
{
    assert_int_equal(utf8_count("a\xc3\xa9\xe2\x82\xac", 6), 3);
    assert_int_equal(utf8_count("\xff\xff", 2), 2);
    assert_int_equal(utf8_count("", 0), 0);
}
