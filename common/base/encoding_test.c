#include "base/encoding.h"
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
    /* Rejected: padding, the other alphabet, white space, and unused bits. */
    static const char *const wrong[] = {"Zg==", "+//+Pg", "Zm 9v", "Zm9v\n",
                                        "Z",    "Zh",     "Zm9",   "Zm9vA"};
    EACH_ROW (row, wrong) {
        struct errinfo ei = {0};
        assert_int_equal(base64url_decode(arena, *row, strlen(*row), &out, &len, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, "not base64url"));
    }
}

CASE(test_fnv)
{
    assert_int_equal(hash_text(HASH_START, ""), HASH_START);
    assert_true(hash_text(HASH_START, "a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_text(HASH_START, "foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(hash_text(hash_text(HASH_START, "foo"), "bar") == hash_text(HASH_START, "foobar"));
}

CASE(test_sha256)
{
    char hex[SHA256_TEXT];

    assert_string_equal(sha256_hex("", 0, hex),
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(sha256_hex("abc", 3, hex),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

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
        {"\x80", 0},             /* a continuation byte alone */
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
        {"\x80\x80\x80\x80", 4, 4}, /* not a single character: nothing to keep */
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
