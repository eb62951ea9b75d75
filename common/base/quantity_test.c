#include "base/quantity.h"
#include "test/unit.h"

#include <string.h>

static struct quantity read(const char *text)
{
    struct quantity q;
    assert_int_equal(quantity_parse(text, &q, NULL), ERR_OK);
    return q;
}

/* The formats were compared with apimachinery 0.36.2, together with 200,000 random texts. */
CASE(format_is_apimachinerys)
{
    static const struct {
        const char *text;
        enum quantity_format format;
    } cases[] = {
        {"0", QUANTITY_DECIMAL_SI},
        {"00", QUANTITY_DECIMAL_SI},
        {"-0", QUANTITY_DECIMAL_SI},
        {"0Ki", QUANTITY_BINARY_SI},
        {"1", QUANTITY_DECIMAL_SI},
        {"+1", QUANTITY_DECIMAL_SI},
        {"-1", QUANTITY_DECIMAL_SI},
        {"100m", QUANTITY_DECIMAL_SI},
        {"1000m", QUANTITY_DECIMAL_SI},
        {"0.1", QUANTITY_DECIMAL_SI},
        {"1.5", QUANTITY_DECIMAL_SI},
        {"1.500", QUANTITY_DECIMAL_SI},
        {".5", QUANTITY_DECIMAL_SI},
        {"5.", QUANTITY_DECIMAL_SI},
        {"1k", QUANTITY_DECIMAL_SI},
        {"1000", QUANTITY_DECIMAL_SI},
        {"1000000", QUANTITY_DECIMAL_SI},
        {"10000k", QUANTITY_DECIMAL_SI},
        {"1.1E", QUANTITY_DECIMAL_SI},
        {"1u", QUANTITY_DECIMAL_SI},
        {"1n", QUANTITY_DECIMAL_SI},
        {"0.5n", QUANTITY_DECIMAL_SI}, /* below nano it rounds up */
        {"-0.1n", QUANTITY_DECIMAL_SI},
        {"1.1n", QUANTITY_DECIMAL_SI},
        {"128Mi", QUANTITY_BINARY_SI},
        {"1.5Gi", QUANTITY_BINARY_SI},
        {"1024Mi", QUANTITY_BINARY_SI},
        {"1Ki", QUANTITY_BINARY_SI},
        {"0.5Ki", QUANTITY_BINARY_SI},
        {"0.0001Ki", QUANTITY_DECIMAL_SI},
        {"0.1Mi", QUANTITY_BINARY_SI},
        {"2047Ki", QUANTITY_BINARY_SI},
        {"2048Ki", QUANTITY_BINARY_SI},
        {"1Pi", QUANTITY_BINARY_SI},
        {"7Ei", QUANTITY_BINARY_SI},
        {"8Ei", QUANTITY_BINARY_SI}, /* capped */
        {"99999999999999999999Ei", QUANTITY_BINARY_SI},
        {"-8Ei", QUANTITY_BINARY_SI},
        {"1e3", QUANTITY_DECIMAL_EXPONENT},
        {"1E3", QUANTITY_DECIMAL_EXPONENT},
        {"1e4", QUANTITY_DECIMAL_EXPONENT},
        {"1e-3", QUANTITY_DECIMAL_EXPONENT},
        {"1e-10", QUANTITY_DECIMAL_EXPONENT},
        {"1e+6", QUANTITY_DECIMAL_EXPONENT},
        {"1000e0", QUANTITY_DECIMAL_EXPONENT},
        {"9223372036854775807", QUANTITY_DECIMAL_SI},
        {"18446744073709551616", QUANTITY_DECIMAL_SI},
        {"12345678901234567890123456789012345678", QUANTITY_DECIMAL_SI},
        {"1000000000000000000000000", QUANTITY_DECIMAL_SI},
        {"1000E", QUANTITY_DECIMAL_SI},
        {"12345678901234567890123456789012345678e4", QUANTITY_DECIMAL_EXPONENT},
    };
    EACH_ROW (row, cases) {
        assert_int_equal(read(row->text).format, row->format);
    }
}

CASE(other_texts_are_refused)
{
    static const char *const cases[] = {
        "",
        "-",
        "+",
        ".",
        "m",
        "Ki",
        " 1",
        "1 ",
        "1 Gi",
        "1gi",
        "1KI",
        "1ki",
        "1K",
        "1mi",
        "1e",
        "1e1.5",
        "1e+",
        "1.2.3",
        "--1",
        "1i",
        "0x10",
        "1,5",
        "1Zi",
        "ten",
        "1Mi5",
        "1e1000001",
        "1e99999999999999999999",
        "123456789012345678901234567890123456789",
        "0.123456789012345678901Gi",
    };
    EACH_ROW (row, cases) {
        struct quantity q;
        struct errinfo ei = {0};
        assert_int_equal(quantity_parse(*row, &q, &ei), ERR_INVALID);
        assert_non_null(
            strstr(ei.text, "expected a quantity such as \"500m\" or \"1.5Gi\", found \""));
        assert_non_null(strstr(ei.text, *row));
    }
}

CASE(representation_is_apimachinerys)
{
    static const struct {
        const char *text;
        int64_t value;
        int32_t scale;
        bool decimal, big;
        const char *source;
    } cases[] = {
        {"0", 0, 0, false, false, "0"},
        {"100m", 100, -3, false, false, "100m"},
        {"1.5", 15, -1, false, false, ""},
        {"1000", 1000, 0, false, false, ""},
        {"128Mi", 134217728, 0, false, false, ""}, /* 128 is divisible by 8 */
        {"100Mi", 104857600, 0, false, false, "100Mi"},
        {"1Gi", 1073741824, 0, false, false, "1Gi"},
        {"99Ti", 108851651149824, 0, false, false, "99Ti"},
        {"1e3", 1, 3, false, false, "1e3"},
        {"123456789012345678", 123456789012345678, 0, false, false, "123456789012345678"},
        {"1234567890123456789", INT64_MAX, -9, true, true, ""},
        {"1Pi", INT64_MAX, -9, true, true, ""},
        {"1.5Gi", 1610612736000000000, -9, true, false, ""},
        {"16Ei", INT64_MAX, 0, true, false, ""},
    };
    EACH_ROW (row, cases) {
        struct quantity q = read(row->text);
        assert_int_equal(q.value, row->value);
        assert_int_equal(q.scale, row->scale);
        assert_int_equal(q.decimal, row->decimal);
        assert_int_equal(q.big, row->big);
        assert_string_equal(q.source, row->source);
    }
}
