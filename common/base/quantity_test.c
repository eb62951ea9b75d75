#include "base/quantity.h"
#include "test/unit.h"

#include <string.h>

static struct quantity read(const char *text)
{
    struct quantity q;
    assert_int_equal(quantity_parse(text, &q, NULL), ERR_OK);
    return q;
}

/* The texts were compared with apimachinery 0.36.2, together with 200,000 random ones. */
CASE(text_is_apimachinerys)
{
    static const struct {
        const char *text, *back;
        enum quantity_format format;
    } cases[] = {
        {"0", "0", QUANTITY_DECIMAL_SI},
        {"00", "0", QUANTITY_DECIMAL_SI},
        {"-0", "0", QUANTITY_DECIMAL_SI},
        {"0Ki", "0", QUANTITY_BINARY_SI},
        {"1", "1", QUANTITY_DECIMAL_SI},
        {"+1", "+1", QUANTITY_DECIMAL_SI}, /* it keeps the text */
        {"-1", "-1", QUANTITY_DECIMAL_SI},
        {"100m", "100m", QUANTITY_DECIMAL_SI},
        {"1000m", "1", QUANTITY_DECIMAL_SI},
        {"0.1", "100m", QUANTITY_DECIMAL_SI},
        {"1.5", "1500m", QUANTITY_DECIMAL_SI},
        {"1.500", "1.500", QUANTITY_DECIMAL_SI},
        {".5", "500m", QUANTITY_DECIMAL_SI},
        {"5.", "5.", QUANTITY_DECIMAL_SI},
        {"1k", "1k", QUANTITY_DECIMAL_SI},
        {"1000", "1k", QUANTITY_DECIMAL_SI},
        {"1000000", "1M", QUANTITY_DECIMAL_SI},
        {"10000k", "10M", QUANTITY_DECIMAL_SI},
        {"1.1E", "1100P", QUANTITY_DECIMAL_SI},
        {"1u", "1u", QUANTITY_DECIMAL_SI},
        {"1n", "1n", QUANTITY_DECIMAL_SI},
        {"0.5n", "1n", QUANTITY_DECIMAL_SI}, /* below nano it rounds up */
        {"-0.1n", "-1n", QUANTITY_DECIMAL_SI},
        {"1.1n", "2n", QUANTITY_DECIMAL_SI},
        {"128Mi", "128Mi", QUANTITY_BINARY_SI},
        {"1.5Gi", "1536Mi", QUANTITY_BINARY_SI},
        {"1024Mi", "1Gi", QUANTITY_BINARY_SI},
        {"1Ki", "1Ki", QUANTITY_BINARY_SI},
        {"0.5Ki", "512", QUANTITY_BINARY_SI},
        {"0.0001Ki", "102400u", QUANTITY_DECIMAL_SI},
        {"0.1Mi", "104857600m", QUANTITY_BINARY_SI},
        {"2047Ki", "2047Ki", QUANTITY_BINARY_SI},
        {"2048Ki", "2Mi", QUANTITY_BINARY_SI},
        {"1Pi", "1Pi", QUANTITY_BINARY_SI},
        {"7Ei", "7Ei", QUANTITY_BINARY_SI},
        {"8Ei", "9223372036854775807", QUANTITY_BINARY_SI}, /* capped */
        {"99999999999999999999Ei", "9223372036854775807", QUANTITY_BINARY_SI},
        {"-8Ei", "-9223372036854775807", QUANTITY_BINARY_SI},
        {"1e3", "1e3", QUANTITY_DECIMAL_EXPONENT},
        {"1E3", "1E3", QUANTITY_DECIMAL_EXPONENT},
        {"1e4", "10e3", QUANTITY_DECIMAL_EXPONENT},
        {"1e-3", "1e-3", QUANTITY_DECIMAL_EXPONENT},
        {"1e-10", "1e-9", QUANTITY_DECIMAL_EXPONENT},
        {"1e+6", "1e+6", QUANTITY_DECIMAL_EXPONENT},
        {"1000e0", "1e3", QUANTITY_DECIMAL_EXPONENT},
        {"9223372036854775807", "9223372036854775807", QUANTITY_DECIMAL_SI},
        {"18446744073709551616", "18446744073709551616", QUANTITY_DECIMAL_SI},
        {"12345678901234567890123456789012345678", "12345678901234567890123456789012345678",
         QUANTITY_DECIMAL_SI},
        {"1000000000000000000000000", "1e24",
         QUANTITY_DECIMAL_SI}, /* older ones lost the exponent */
        {"1000E", "1e21", QUANTITY_DECIMAL_SI},
        {"12345678901234567890123456789012345678e4", "123456789012345678901234567890123456780e3",
         QUANTITY_DECIMAL_EXPONENT},
    };
    EACH_ROW (row, cases) {
        char text[QUANTITY_TEXT];
        struct quantity q = read(row->text);
        assert_string_equal(quantity_format(&q, text), row->back);
        assert_int_equal(q.format, row->format);
        struct quantity back = read(text);
        assert_int_equal(quantity_compare(&q, &back), 0);
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

CASE(order_is_exact)
{
    /* Each is less than the next. */
    static const char *const rising[] = {
        "-1e1000000",
        "-9223372036854775809",
        "-8Ei",
        "-1",
        "-1m",
        "-1n",
        "0",
        "1n",
        "999u",
        "1m",
        "0.9999",
        "1",
        "1.1",
        "1023",
        "1Ki",
        "1025",
        "1M",
        "1Mi",
        "1Gi",
        "1100M",
        "9223372036854775807",
        "9223372036854775808",
        "1e20",
        "12345678901234567890123456789012345678",
        "1e38",
        "1e1000000",
    };
    static const char *const equal[][2] = {
        {"1", "1000m"},      {"1Ki", "1024"}, {"1e3", "1k"},      {"0", "0n"},
        {"-1.50", "-1500m"}, {"1E", "1e18"},  {"0", "0e1000000"}, {"100000000000000000000", "1e20"},
        {"1.5Gi", "1536Mi"},
    };
    size_t count = sizeof(rising) / sizeof(rising[0]);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            struct quantity a = read(rising[i]), b = read(rising[j]);
            int order = quantity_compare(&a, &b);
            assert_int_equal(order < 0, i < j);
            assert_int_equal(order > 0, i > j);
        }
    }
    EACH_ROW (row, equal) {
        struct quantity a = read((*row)[0]), b = read((*row)[1]);
        assert_int_equal(quantity_compare(&a, &b), 0);
        assert_int_equal(quantity_compare(&b, &a), 0);
    }
}

CASE(made_by_hand)
{
    static const struct {
        struct quantity q;
        const char *text;
    } cases[] = {
        {{.value = 1500, .scale = -3}, "1500m"},
        {{.value = 2000, .scale = -3}, "2"},
        {{.value = 2048, .format = QUANTITY_BINARY_SI}, "2Ki"},
        {{.value = 1000, .format = QUANTITY_BINARY_SI}, "1k"},
        {{.value = 12, .scale = 5, .format = QUANTITY_DECIMAL_EXPONENT}, "1200e3"},
        {{.value = 1, .scale = 30, .format = QUANTITY_BINARY_SI}, "931322574615478515625Gi"},
        {{.value = INT64_MIN, .format = QUANTITY_DECIMAL_SI}, "-9223372036854775808"},
        {{.value = 1, .scale = -12}, "1e-12"},
    };
    EACH_ROW (row, cases) {
        char text[QUANTITY_TEXT];
        assert_string_equal(quantity_format(&row->q, text), row->text);
    }
}
