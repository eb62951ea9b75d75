#include <string.h>

#include "proto/spechash_quantity.h"
#include "test/unit.h"

#define SHORT(value, scale, text, format)                                                          \
    "{i:(resource.int64Amount){value:(int64)" value " scale:(resource.Scale)" scale "} "           \
    "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)" text                               \
    " Format:(resource.Format)" format "}"
#define LONG(negative, words, scale, format)                                                       \
    "{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} "                           \
    "d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)" negative              \
    " abs:(big.nat)" words "} scale:(inf.Scale)" scale "}} s:(string) "                            \
    "Format:(resource.Format)" format "}"

CASE(test_dumps)
{
    static const struct {
        const char *text, *dump;
    } cases[] = {
        {NULL, SHORT("0", "0", "", "")},
        {"0", SHORT("0", "0", "0", "DecimalSI")},
        {"500m", SHORT("500", "-3", "500m", "DecimalSI")},
        {"0.1", SHORT("1", "-1", "", "DecimalSI")},
        {"2000", SHORT("2000", "0", "", "DecimalSI")},
        {"1e3", SHORT("1", "3", "1e3", "DecimalExponent")},
        {"-1", SHORT("-1", "0", "-1", "DecimalSI")},
        {"512Mi", SHORT("536870912", "0", "", "BinarySI")},
        {"3Mi", SHORT("3145728", "0", "3Mi", "BinarySI")},
        {"1.5Gi", LONG("false", "[1610612736000000000]", "9", "BinarySI")},
        {"-1.5Gi", LONG("true", "[1610612736000000000]", "9", "BinarySI")},
        {"1Pi", LONG("false", "[2882303761517117440 61035]", "9", "BinarySI")},
        {"9Ei", LONG("false", "[9223372036854775807]", "0", "BinarySI")},
        {"0.0001Ki", LONG("false", "[102400000]", "9", "DecimalSI")},
        {"0.1n", LONG("false", "[1]", "9", "DecimalSI")},
    };
    EACH_ROW (row, cases) {
        struct buf out;
        buf_init(&out, 1024);
        assert_int_equal(spechash_quantity(&out, row->text, NULL), ERR_OK);
        assert_string_equal(out.data, row->dump);
        buf_fini(&out);
    }
}

CASE(test_what_is_no_quantity)
{
    static const char *const cases[] = {
        "",    "x",    "m",     "-",
        "1x",  "1Kii", "1K",    "1e",
        "1e+",

        "--1", "1 Gi", "1.2.3", "1234567890123456789012345678901234567890",
    };
    EACH_ROW (row, cases) {
        struct buf out;
        buf_init(&out, 1024);
        struct errinfo ei = {0};
        if (spechash_quantity(&out, *row, &ei) != ERR_INVALID)
            fail_msg("\"%s\" gave %s", *row, out.data);
        assert_non_null(strstr(ei.text, "expected a quantity"));
        buf_fini(&out);
    }
}
