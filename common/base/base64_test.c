#include "base/base64.h"
#include "test/unit.h"

#include <string.h>

CASE(vectors_of_rfc_4648)
{
    static const struct {
        const char *plain, *coded;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xfe\x3e", "+//+Pg=="},
    };
    EACH_ROW (row, cases) {
        char *out = NULL;
        size_t len = 99;
        assert_string_equal(base64_encode(arena, row->plain, strlen(row->plain)), row->coded);
        assert_int_equal(base64_decode(arena, row->coded, &out, &len, NULL), ERR_OK);
        assert_int_equal(len, strlen(row->plain));
        assert_string_equal(out, row->plain);
    }
}

CASE(every_byte_survives)
{
    unsigned char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    char *out = NULL;
    size_t len = 0;
    assert_int_equal(base64_decode(arena, base64_encode(arena, all, 256), &out, &len, NULL),
                     ERR_OK);
    assert_int_equal(len, 256);
    assert_memory_equal(out, all, 256);
}

CASE(white_space_is_allowed_and_rubbish_is_not)
{
    static const struct {
        const char *text;
        enum err err;
    } cases[] = {
        {"Zm9v\nYmFy\n", ERR_OK}, {"Zm9v YmE=", ERR_OK},     {"Zm9", ERR_INVALID},
        {"Zm9v!", ERR_INVALID},   {"Zg==Zg==", ERR_INVALID}, {"Z===", ERR_INVALID},
        {"====", ERR_INVALID},    {"Zm9\xff", ERR_INVALID},
    };
    EACH_ROW (row, cases) {
        char *out = NULL;
        struct errinfo ei = {0};
        assert_int_equal(base64_decode(arena, row->text, &out, NULL, &ei), row->err);
        if (row->err != ERR_OK)
            assert_non_null(strstr(ei.text, "not base64"));
    }
}

CASE(url_alphabet_has_one_spelling)
{
    static const struct {
        const char *plain, *coded;
        size_t len;
    } cases[] = {
        {"", "", 0},
        {"f", "Zg", 1},
        {"fo", "Zm8", 2},
        {"foo", "Zm9v", 3},
        {"\xfb\xff\xfe\x3e", "-__-Pg", 4},
    };
    char *out = NULL;
    size_t len = 99;
    EACH_ROW (row, cases) {
        const char *coded = row->coded;
        assert_string_equal(base64url_encode(arena, row->plain, row->len), coded);
        assert_int_equal(base64url_decode(arena, coded, strlen(coded), &out, &len, NULL), ERR_OK);
        assert_int_equal(len, row->len);
        assert_memory_equal(out, row->plain, len);
    }
    /* Padding, the other alphabet, white space, and unused bits. */
    static const char *const wrong[] = {"Zg==", "+//+Pg", "Zm 9v", "Zm9v\n",
                                        "Z",    "Zh",     "Zm9",   "Zm9vA"};
    EACH_ROW (row, wrong) {
        struct errinfo ei = {0};
        assert_int_equal(base64url_decode(arena, *row, strlen(*row), &out, &len, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, "not base64url"));
    }
}
