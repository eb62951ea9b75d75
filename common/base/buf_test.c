#include "base/buf.h"
#include "test/unit.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

CASE(is_a_string_at_any_time)
{
    struct buf buf;
    buf_init(&buf, 1000);
    assert_string_equal(buf.data, "");
    assert_true(buf_puts(&buf, ""));
    assert_true(buf_puts(&buf, "ab"));
    assert_true(buf_add(&buf, "cd", 1));
    assert_true(buf_printf(&buf, "%d", 42));
    assert_string_equal(buf.data, "abc42");
    assert_int_equal(buf.len, 5);
    buf_clear(&buf);
    assert_string_equal(buf.data, "");
    buf_fini(&buf);
    assert_string_equal(buf.data, "");
    buf_fini(&buf);
}

CASE(the_maximum_holds)
{
    struct buf buf;
    buf_init(&buf, 5);
    assert_true(buf_puts(&buf, "abc"));
    assert_false(buf.truncated);
    assert_false(buf_puts(&buf, "defg"));
    assert_string_equal(buf.data, "abcde");
    assert_true(buf.truncated);
    assert_false(buf_printf(&buf, "%s", "x"));
    assert_true(buf_puts(&buf, ""));
    assert_int_equal(buf.len, 5);
    buf_clear(&buf);
    assert_false(buf.truncated);
    assert_true(buf_puts(&buf, "12345"));
    buf_fini(&buf);

    buf_init(&buf, 0);
    assert_false(buf_puts(&buf, "x"));
    assert_string_equal(buf.data, "");
    buf_fini(&buf);
}

CASE(long_formats_fit)
{
    struct buf buf;
    buf_init(&buf, SIZE_MAX);
    for (int width = 505; width < 520; width++) {
        size_t before = buf.len;
        assert_true(buf_printf(&buf, "%*s", width, "x"));
        assert_int_equal(buf.len - before, width);
    }
    buf_fini(&buf);
}

CASE(grows_from_byte_to_byte)
{
    struct buf buf;
    buf_init(&buf, 100000);
    for (int i = 0; i < 100000; i++)
        assert_true(buf_add(&buf, &"abcdefghij"[i % 10], 1));
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(buf.data[i], 'a' + (int)(i % 10));
    assert_false(buf_add(&buf, "x", 1));
    assert_int_equal(buf.cap, 100001);
    buf_fini(&buf);
}

CASE(consume_takes_from_the_front)
{
    struct buf buf;
    buf_init(&buf, 100);
    buf_consume(&buf, 3);
    buf_puts(&buf, "hello world");
    buf_consume(&buf, 6);
    assert_string_equal(buf.data, "world");
    buf_consume(&buf, 0);
    assert_string_equal(buf.data, "world");
    buf_consume(&buf, 99);
    assert_string_equal(buf.data, "");
    buf_fini(&buf);
}

CASE(give_hands_the_string_over)
{
    struct buf buf;
    buf_init(&buf, 100);
    char *none = buf_give(&buf);
    assert_string_equal(none, "");
    free(none);
    buf_puts(&buf, "text");
    char *text = buf_give(&buf);
    assert_string_equal(text, "text");
    assert_int_equal(buf.len, 0);
    assert_true(buf_puts(&buf, "next"));
    assert_string_equal(text, "text");
    free(text);
    buf_fini(&buf);
}

CASE(reals_read_back)
{
    static const struct {
        double real;
        const char *text;
    } cases[] = {
        {0, "0"},         {-0.0, "0"},
        {1, "1"},         {-17, "-17"},
        {0.1, "0.1"},     {1.5, "1.5"},
        {99.99, "99.99"}, {1e21, "1e+21"},
        {1e-7, "1e-07"},  {123456789012, "123456789012"},
    };
    struct buf buf;
    buf_init(&buf, 100);
    EACH_ROW (row, cases) {
        buf_clear(&buf);
        buf_real(&buf, row->real);
        assert_string_equal(buf.data, row->text);
    }
    static const double others[] = {1.0 / 3,  2.0 / 3, DBL_MAX,   DBL_MIN, DBL_EPSILON,
                                    4.9e-324, -1e300,  0.1 + 0.2, 0x1p53,  0x1p63};
    EACH_ROW (row, others) {
        buf_clear(&buf);
        buf_real(&buf, *row);
        assert_true(strtod(buf.data, NULL) == *row);
    }
    buf_fini(&buf);
}
